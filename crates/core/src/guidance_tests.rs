use super::*;
use crate::text::estimate_tokens;

/// The count of o200k (tiktoken) for the present text; count again when it changes.
const COUNTED: usize = 499;
const COUNTED_BYTES: usize = 2121;

#[test]
fn short_enough_for_every_request() {
    assert_eq!(GUIDANCE.len(), COUNTED_BYTES, "changed: count its tokens again");
    const { assert!(COUNTED <= 500) };
    assert!(estimate_tokens(GUIDANCE).abs_diff(COUNTED) * 100 <= COUNTED * 5);
}

#[test]
fn names_the_tools_that_are_listed() {
    for tool in [
        "stack_frame_push",
        "stack_frame_pop",
        "stack_frame_plan",
        "stack_frame_activate",
        "stack_add_decision",
        "`stack`",
        "stack_log",
        "\"stack_pin\"",
    ] {
        assert!(GUIDANCE.contains(tool), "{tool}");
    }
}

#[test]
fn the_flame_dialect_names_its_own_tools() {
    assert_eq!(guidance(Dialect::Stack), GUIDANCE);
    let text = guidance(Dialect::Flame);
    assert!(!text.contains("stack_") && text.contains("flame_push") && text.contains("summary"));
    assert!(estimate_tokens(text) <= 500, "{}", estimate_tokens(text));
}

#[test]
fn both_say_what_no_tool_can_show() {
    for text in [GUIDANCE, guidance(Dialect::Flame)] {
        for what in [
            "calls before a pop to the frame it ends",
            "long output that you need once",
            "edit or quote it there",
            "Files read there count as read for later edits",
            "before the first starts",
            "some 2,000 characters",
            "what was run and what only read",
            "ends with your answer, nobody pops it",
            "the call waits for a session that is given",
            "outlives its frame, for all below the parent",
        ] {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(what), "{what} is not in\n{text}");
        }
    }
}
