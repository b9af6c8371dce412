//! Calls that are made again because their process ended before it had answered.

use callstack_core::dialect::Dialect;
use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{Profile, Settings, tools};
use serde_json::{Value, json};

use crate::support::{Project, caller};

/// Plans with a tool, and calls it again; how many frames are planned then.
fn planned_twice(profile: Profile, tool: &str, arguments: &Value) -> usize {
    let project = Project::with(Settings { profile, ..Settings::default() });
    project.user("ses_a", "Build the parser");
    let tool = tools::find(profile.dialect(), tool).unwrap();
    let caller = caller("ses_a");
    tool.run(&project.engine, &caller, arguments.clone()).unwrap();
    let again = project.engine.done_before(&caller, &tool, arguments).unwrap();
    assert!(again.is_some(), "{arguments} is not known again");
    project.engine.state().unwrap().frames.len() - 1
}

#[test]
fn a_plan_is_known_again_however_it_was_called() {
    let plan = json!({"title": " Lexer ", "successCriteria": "tokens"});
    let children = json!({"children": [plan, {"title": "Tables", "successCriteria": "rows"}]});
    assert_eq!(planned_twice(Profile::Default, "stack_frame_plan", &plan), 1);
    assert_eq!(planned_twice(Profile::Default, "stack_frame_plan_children", &children), 2);
    for op in ["stack_frame_plan", "frame_plan"] {
        let reached = json!({"op": op, "args": plan});
        assert_eq!(planned_twice(Profile::Default, "stack", &reached), 1, "{op}");
    }
    let goal = json!({"goal": "the lexer gives tokens"});
    assert_eq!(planned_twice(Profile::Flame, "flame_plan", &goal), 1);
}

/// What a call answered, and what it answers when it is made again, of another process.
fn twice(project: &Project, tool: &str, arguments: &Value) -> [Answer; 2] {
    let tool = tools::find(Dialect::Stack, tool).unwrap();
    let caller = caller("ses_a");
    let first = tool.run(&project.engine, &caller, arguments.clone()).unwrap();
    let again = project.another().done_before(&caller, &tool, arguments).unwrap();
    [first, again.unwrap_or_else(|| panic!("{arguments} is not known again"))]
}

#[test]
fn a_preset_is_known_again_with_what_it_planned_below() {
    let project = Project::new();
    project.user("ses_a", "Build the parser");
    let known = |name: &str, arguments: &Value| {
        let [first, again] = twice(&project, name, arguments);
        assert_eq!((again.text, again.data), (first.text, first.data));
        project.engine.state().unwrap().frames.len() - 1
    };
    let feature = json!({"name": "feature", "values": {"feature": "imports"}});
    assert_eq!(known("stack_preset", &feature), 5);
    let below = json!({"name": "bugfix", "values": {"bug": "it"}, "parent": "f2"});
    assert_eq!(known("stack", &json!({"op": "stack_preset", "args": below})), 9);
    // With other values it is another plan, and a list plans nothing.
    let tool = tools::find(Dialect::Stack, "stack_preset").unwrap();
    for other in [json!({"name": "feature", "values": {"feature": "exports"}}), json!({})] {
        let before = project.engine.done_before(&caller("ses_a"), &tool, &other).unwrap();
        assert!(before.is_none(), "{other}");
    }
}

#[test]
fn another_try_is_known_again_with_what_was_learnt() {
    let project = Project::new();
    project.user("ses_a", "Build the parser");
    let push = json!({"title": "Lexer", "successCriteria": "tokens"});
    let at = |call: &str| {
        let anchor = Anchor { message: Some(format!("msg-{call}")), call: Some(call.to_owned()) };
        Caller { anchor, ..caller("ses_a") }
    };
    let run = |call: &str, tool: &str, arguments: &Value| {
        tools::find(Dialect::Stack, tool).unwrap().run(
            &project.engine,
            &at(call),
            arguments.clone(),
        )
    };
    run("c1", "stack_frame_push", &push).unwrap();
    let failed = json!({"results": "It knows no comments.", "status": "failed"});
    run("c2", "stack_frame_pop", &failed).unwrap();
    for (call, tool, arguments) in [
        ("c3", "stack_frame_retry", json!({"frame": "f2"})),
        ("c5", "stack", json!({"op": "frame_retry", "args": {"frame": "f2"}})),
    ] {
        let first = run(call, tool, &arguments).unwrap();
        let found = tools::find(Dialect::Stack, tool).unwrap();
        let again = project.another().done_before(&at(call), &found, &arguments).unwrap().unwrap();
        assert_eq!((&again.text, &again.data), (&first.text, &first.data));
        assert!(again.text.contains("It knows no comments."), "{}", again.text);
        let other = project.engine.done_before(&at("c9"), &found, &arguments).unwrap();
        assert!(other.is_none(), "another call is another try");
        run(&format!("{call}-end"), "stack_frame_pop", &json!({"results": "done"})).unwrap();
    }
    assert_eq!(project.engine.state().unwrap().frames.len(), 4);
}

#[test]
fn what_was_never_done_is_not_known() {
    let project = Project::new();
    project.user("ses_a", "Build the parser");
    let tool = tools::find(Dialect::Stack, "stack_frame_plan").unwrap();
    let plan = |title: &str| json!({"title": title, "successCriteria": "tokens"});
    tool.run(&project.engine, &caller("ses_a"), plan("Lexer")).unwrap();
    let other = project.engine.done_before(&caller("ses_a"), &tool, &plan("Tables"));
    assert!(other.unwrap().is_none());
}
