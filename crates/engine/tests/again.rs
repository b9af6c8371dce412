//! Calls that are made again because their process ended before it had answered.

use callstack_core::dialect::Dialect;
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
