//! The tools of the specification's first generation.

use std::collections::BTreeSet;

use callstack_core::dialect::Dialect;
use callstack_engine::operation::Answer;
use callstack_engine::{EngineError, Kind, Profile, Settings, operations, tools};
use serde_json::{Value, json};

use crate::schemas::assert_plain;
use crate::support::{Project, caller};

/// Every name in the specification's reference, in its order.
pub(crate) const NAMES: [&str; 27] = [
    "flame_push",
    "flame_pop",
    "flame_status",
    "flame_set_goal",
    "flame_add_artifact",
    "flame_add_decision",
    "flame_context_info",
    "flame_context_preview",
    "flame_cache_clear",
    "flame_summarize",
    "flame_compaction_info",
    "flame_get_summary",
    "flame_subagent_config",
    "flame_subagent_stats",
    "flame_subagent_complete",
    "flame_subagent_list",
    "flame_plan",
    "flame_plan_children",
    "flame_activate",
    "flame_invalidate",
    "flame_tree",
    "flame_autonomy_config",
    "flame_should_push",
    "flame_should_pop",
    "flame_auto_suggest",
    "flame_autonomy_stats",
    "flame_get_state",
];

/// Those whose operations are not there yet.
const AWAITED: [&str; 4] = [
    "flame_subagent_config",
    "flame_subagent_stats",
    "flame_subagent_complete",
    "flame_subagent_list",
];

fn project() -> Project {
    let project = Project::with(Settings { profile: Profile::Flame, ..Settings::default() });
    project.user("ses_a", "Write the parser for the new format, please");
    project
}

fn call(project: &Project, name: &str, arguments: Value) -> Result<Answer, EngineError> {
    let tool = tools::find(project.engine.dialect(), name).unwrap_or_else(|| panic!("no {name}"));
    tool.run(&project.engine, &caller("ses_a"), arguments)
}

fn did(project: &Project, name: &str, arguments: Value) -> Answer {
    call(project, name, arguments).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

#[test]
fn every_name_of_the_specification_is_a_tool_and_one_reaches_the_rest() {
    let listed: Vec<_> = tools::listed(Profile::Flame).map(|tool| tool.name()).collect();
    let missing: Vec<_> = NAMES
        .iter()
        .filter(|name| !AWAITED.contains(name) && !listed.iter().any(|it| it == *name))
        .collect();
    assert_eq!(missing, [&""; 0], "these are no tools");
    assert_eq!(listed.last().unwrap(), "flame");
    assert!(listed.len() <= NAMES.len() + 1, "{listed:?}");
}

#[test]
fn no_two_operations_have_one_name() {
    let names: BTreeSet<_> =
        operations::TABLE.iter().map(|it| Dialect::Flame.tool(it.name)).collect();
    assert_eq!(names.len(), operations::TABLE.len());
    assert!(names.iter().all(|name| name.starts_with("flame")), "{names:?}");
}

#[test]
fn their_schemas_are_plain_and_speak_of_flame_alone() {
    for tool in tools::listed(Profile::Flame) {
        let schema = tool.parameters();
        assert_plain(&tool.name(), &schema);
        for text in [schema.to_string(), tool.summary().into_owned()] {
            assert!(!text.contains("stack_"), "{}: {text}", tool.name());
        }
        for gone in ["title", "successCriteria", "results", "frame", "parent"] {
            assert!(schema["properties"].get(gone).is_none(), "{}: {gone}", tool.name());
        }
    }
}

#[test]
fn a_goal_becomes_title_and_criteria() {
    let project = project();
    let goal = "All tests of the lexer pass, fuzzing included";
    let answer = did(&project, "flame_push", json!({"goal": goal}));
    assert!(answer.text.contains(&format!("Goal: {goal}")), "{}", answer.text);
    assert!(answer.text.contains("<flame-context"), "{}", answer.text);
    let frame = project.engine.resolve("f2").unwrap();
    assert_eq!(frame.identity.title, "All tests of the lexer…");
    assert_eq!(frame.identity.success_criteria, goal);
    did(&project, "flame_set_goal", json!({"goal": "The lexer is fast"}));
    assert_eq!(
        project.engine.resolve("f2").unwrap().identity.success_criteria,
        "The lexer is fast"
    );
    let children = json!([{"goal": "one part"}, {"goal": "another part"}]);
    did(&project, "flame_plan_children", json!({"children": children, "parentSessionID": "f1"}));
    did(&project, "flame_plan", json!({"goal": "a third part of it"}));
    let parent = |frame: &str| project.engine.resolve(frame).unwrap().parent.unwrap().0;
    assert_eq!([parent("f3"), parent("f4"), parent("f5")], [1, 1, 2]);
}

#[test]
fn a_summary_is_what_a_frame_returns_and_may_be_left_out() {
    let project = project();
    for (arguments, status, results) in [
        (json!({"status": "completed", "summary": "31 tests pass"}), "completed", "31 tests pass"),
        (json!({"status": "failed"}), "failed", "No summary was given."),
        (json!({}), "completed", "No summary was given."),
    ] {
        let pushed = did(&project, "flame_push", json!({"goal": "The lexer works"}));
        let handle = pushed.opened.unwrap().to_string();
        let answer = did(&project, "flame_pop", arguments);
        assert!(answer.text.contains(results), "{}", answer.text);
        assert_eq!(project.status(&handle), status);
        assert_eq!(project.engine.resolve(&handle).unwrap().results.as_deref(), Some(results));
    }
}

#[test]
fn wrong_arguments_get_a_sentence_in_the_tools_own_words() {
    let project = project();
    let before = project.engine.state().unwrap();
    for (name, arguments, told) in [
        ("flame_push", json!({}), "`goal` is missing. It takes: goal."),
        ("flame_push", json!({"title": "a", "successCriteria": "b"}), "there is no `"),
        ("flame_push", json!({"goal": 7}), "`goal`: 7 is no string"),
        ("flame_push", json!({"goal": " "}), "the goal is empty"),
        ("flame_push", json!("the lexer"), "is no object"),
        ("flame_pop", json!({"status": "done"}), "none of completed, failed, blocked"),
        ("flame_pop", json!({"summary": ["x"]}), "`summary`: [\"x\"] is no string"),
        ("flame_plan_children", json!({"children": []}), "nothing to plan"),
        ("flame_plan_children", json!({"children": [{}]}), "`children`: `goal` is missing"),
        ("flame_plan_children", json!({"children": ["one"]}), "is no object"),
        ("flame_activate", json!({}), "`sessionID` is missing. It takes: sessionID, [in]."),
        ("flame_activate", json!({"sessionID": "f1"}), "f1"),
        ("flame_activate", json!({"sessionID": "f9"}), "See all frames with `flame_tree`."),
        ("flame_status", json!({"of": 1}), "It takes: no arguments."),
        ("flame", json!({"op": "fly"}), "Call `flame` without op for the list."),
    ] {
        let error = call(&project, name, arguments.clone()).expect_err(name);
        let sentence = error.sentence();
        assert!(sentence.contains(told), "{name} {arguments}: {sentence}");
        assert!(!sentence.contains("stack"), "{name} {arguments}: {sentence}");
        assert_ne!(error.kind, Kind::Internal, "{sentence}");
    }
    let long = "x".repeat(300 * 1024);
    let error = call(&project, "flame_push", json!({"goal": long})).unwrap_err();
    assert_eq!(error.kind, Kind::Limit);
    assert!(error.sentence().contains("`flame_add_artifact`"), "{}", error.sentence());
    assert_eq!(project.engine.state().unwrap(), before);
}

#[test]
fn the_one_tool_reaches_what_is_not_listed() {
    let project = project();
    did(&project, "flame", json!({"op": "flame_pin", "args": {"text": "no network"}}));
    did(&project, "flame", json!({"op": "pin", "args": {"text": "no tables"}}));
    assert_eq!(project.engine.resolve("f1").unwrap().pins.len(), 2);
    let list = did(&project, "flame", json!({})).text;
    assert!(list.contains("- flame_push(goal): "), "{list}");
    assert!(list.contains("- flame_log([sessionID], "), "{list}");
    assert!(!list.contains("stack_"), "{list}");
    // A session that began before the profile was changed knows the other names.
    did(&project, "stack_add_decision", json!({"decision": "as before"}));
}
