use super::*;

#[test]
fn tools_have_their_names_of_the_first_generation() {
    for (operation, name) in [
        ("stack_frame_push", "flame_push"),
        ("stack_frame_plan_children", "flame_plan_children"),
        ("stack_add_artifact", "flame_add_artifact"),
        ("stack_get_state", "flame_get_state"),
        ("stack_config", "flame_subagent_config"),
        ("stack_stats", "flame_subagent_stats"),
        ("stack_autonomy", "flame_autonomy_config"),
        ("stack_autonomy_stats", "flame_autonomy_stats"),
        ("stack", "flame"),
        ("write", "write"),
    ] {
        assert_eq!(Dialect::Flame.tool(operation), name);
        assert_eq!(Dialect::Stack.tool(operation), operation);
    }
}

#[test]
fn a_text_of_ours_names_the_tools_of_its_dialect() {
    let text =
        "Call `stack` (stack_frame_pop, `stack_config`); a stack_frame_push. my_stack_x stack";
    assert_eq!(
        Dialect::Flame.words(text),
        "Call `flame` (flame_pop, `flame_subagent_config`); a flame_push. my_stack_x stack"
    );
    assert_eq!(Dialect::Stack.words(text), text);
    assert_eq!(Dialect::Flame.words("No tool."), "No tool.");
}

#[test]
fn only_what_stands_as_code_is_renamed_where_foreign_words_may_stand() {
    let text = "`stack_tree` of \"stack_tree\" and `stack`, not `my stack_tree`";
    assert_eq!(
        Dialect::Flame.code(text),
        "`flame_tree` of \"stack_tree\" and `flame`, not `my stack_tree`"
    );
    assert_eq!(Dialect::Stack.code(text), text);
}

#[test]
fn variables_have_their_names_of_the_first_generation() {
    assert_eq!(Dialect::Flame.variable("STACK_POP_THRESHOLD"), "FLAME_POP_THRESHOLD");
    assert_eq!(Dialect::Flame.variable("STACK_TOOLS"), "STACK_TOOLS", "it chooses the dialect");
    assert_eq!(Dialect::Stack.variable("STACK_POP_THRESHOLD"), "STACK_POP_THRESHOLD");
    let sentence = "STACK_POP_THRESHOLD is `STACK_X`";
    assert_eq!(Dialect::Flame.of_variable(sentence), "FLAME_POP_THRESHOLD is `STACK_X`");
    assert_eq!(Dialect::Stack.of_variable(sentence), sentence);
    assert_eq!(Dialect::Flame.of_variable("of STACK_X"), "of STACK_X");
}
