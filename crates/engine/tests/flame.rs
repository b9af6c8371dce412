//! The tools of the specification's first generation.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use callstack_core::dialect::Dialect;
use callstack_engine::operation::Answer;
use callstack_engine::{EngineError, Kind, Profile, Settings, operations, tools};
use serde_json::{Value, json};
use tempfile::TempDir;

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

/// A project in which the first generation's plugin has left a tree.
fn with_files() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join(".opencode/flame");
    fs::create_dir_all(&files).unwrap();
    let frame = json!({"sessionID": "ses_old", "goal": "As before", "status": "completed",
        "createdAt": 1, "updatedAt": 2, "artifacts": [], "decisions": []});
    let state = json!({"version": 1, "frames": {"ses_old": frame}, "rootFrameIDs": ["ses_old"],
        "updatedAt": 2});
    fs::write(files.join("state.json"), state.to_string()).unwrap();
    folder
}

fn read(folder: &Path, file: &str) -> Value {
    let text = fs::read_to_string(folder.join(".opencode").join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
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
    let count = answer.text.matches(goal).count();
    assert_eq!(count, 1, "only as what is open now, for the call says it: {}", answer.text);
    assert!(answer.text.contains("<flame-context"), "{}", answer.text);
    let frame = project.engine.resolve("f2").unwrap();
    assert_eq!(frame.identity.title, "All tests of the lexer pass, fuzzing included");
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
    for (name, arguments, expected) in [
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
        ("flame_activate", json!({}), "no frame is planned here. Plan frames with `flame_plan`"),
        ("flame_activate", json!({"sessionID": 7}), "`sessionID`: 7 is no string"),
        ("flame_activate", json!({"sessionID": "f1"}), "f1"),
        ("flame_activate", json!({"sessionID": "f9"}), "See all frames with `flame_tree`."),
        ("flame_status", json!({"of": 1}), "It takes: no arguments."),
        ("flame", json!({"op": "fly"}), "Call `flame` with op `all` for the list."),
    ] {
        let error = call(&project, name, arguments.clone()).expect_err(name);
        let sentence = error.sentence();
        assert!(sentence.contains(expected), "{name} {arguments}: {sentence}");
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
    assert!(list.contains("- flame_pin(text, ") && !list.contains("stack_"), "{list}");
    assert!(list.ends_with(" more: flame {\"op\": \"all\"}.\n"), "{list}");
    let list = did(&project, "flame", json!({"op": "all"})).text;
    assert!(list.contains("- flame_push(goal): "), "{list}");
    assert!(list.contains("- flame_log([sessionID], "), "{list}");
    assert!(!list.contains("stack_"), "{list}");
    // A session that began before the profile was changed uses the other names.
    did(&project, "stack_add_decision", json!({"decision": "as before"}));
}

#[test]
fn settings_and_the_log_have_their_names_of_the_first_generation() {
    let project = project();
    let text = did(&project, "flame_autonomy_config", json!({"popThreshold": 80})).text;
    assert!(text.contains("FLAME_POP_THRESHOLD: 80 (set here)"), "{text}");
    assert!(!text.contains("STACK_"), "{text}");
    let error = call(&project, "flame_autonomy_config", json!({"popThreshold": 101})).unwrap_err();
    assert!(error.message.starts_with("FLAME_POP_THRESHOLD is `101`"), "{}", error.message);
    let path = project.engine.project().join(".callstack/callstack.log");
    let log = std::fs::read_to_string(path).unwrap();
    assert!(log.lines().all(|line| line.contains("Z] [flame] ")), "{log}");
    assert!(log.contains("[flame] Frame created"), "{log}");
}

#[test]
fn the_state_says_goal_and_compaction_summary() {
    let project = project();
    did(&project, "flame_push", json!({"goal": "The lexer works"}));
    did(&project, "flame_pop", json!({"summary": "31 tests pass"}));
    let answer = did(&project, "flame_get_state", json!({}));
    let state: Value = serde_json::from_str(&answer.text).unwrap();
    let frames = state["frames"].as_object().unwrap();
    let lexer = frames.values().find(|frame| frame["handle"] == "f2").unwrap();
    assert_eq!(lexer["goal"], "The lexer works");
    assert_eq!(lexer["compactionSummary"], "31 tests pass");
    assert_eq!(state, answer.data);
    let details = did(&project, "flame_details", json!({"sessionID": "f2"})).text;
    assert!(details.contains("goal: The lexer works\nparent: f1 \""), "{details}");
    assert!(details.contains("summary: 31 tests pass\n"), "{details}");
    // The other dialect has only what it always had.
    let plain = Project::new();
    plain.user("ses_a", "Build it");
    assert!(!plain.did("ses_a", "stack_get_state", json!({})).text.contains("\"goal\""));
}

#[test]
fn files_are_written_where_a_project_had_them_and_what_was_there_is_kept() {
    let folder = with_files();
    let settings = || Settings { profile: Profile::Flame, ..Settings::default() };
    let project = Project::at(folder.path(), settings());
    project.user("ses_a", "Write the parser");
    did(&project, "flame_push", json!({"goal": "The lexer works, password=hunter2hunter2"}));
    drop(project);
    let state = read(folder.path(), "flame/state.json");
    let goals: Vec<_> =
        state["frames"].as_object().unwrap().values().map(|it| &it["goal"]).collect();
    assert!(goals.contains(&&json!("Write the parser")), "{state}");
    assert!(!state.to_string().contains("hunter2"), "{state}");
    let kept = read(folder.path(), "flame.before-1/state.json");
    assert_eq!(kept["frames"]["ses_old"]["goal"], "As before");
    assert!(!read(folder.path(), "stack/state.json").to_string().contains("\"goal\""));
    // A process with the other dialect keeps them up to date.
    let project = Project::at(folder.path(), Settings::default());
    project.user("ses_b", "Write the manual");
    assert_eq!(
        project.engine.import(&[]).unwrap().counts.imported,
        1,
        "what was set aside is found"
    );
    drop(project);
    let state = read(folder.path(), "flame/state.json").to_string();
    assert!(state.contains("Write the manual") && state.contains("As before"), "{state}");
    let project = Project::at(folder.path(), Settings::default());
    assert_eq!(project.engine.remove_files().unwrap(), Some(true));
    assert!(!folder.path().join(".opencode/flame/state.json").exists());
    assert!(folder.path().join(".opencode/flame.before-1").exists(), "it was not ours");
}

#[test]
fn files_of_the_first_generation_are_left_where_nobody_speaks_of_them_so() {
    let folder = with_files();
    let before = read(folder.path(), "flame/state.json");
    let project = Project::at(folder.path(), Settings::default());
    project.user("ses_a", "Write the parser");
    drop(project);
    assert_eq!(read(folder.path(), "flame/state.json"), before);
    assert!(!folder.path().join(".opencode/flame/frames").exists());
    let without = tempfile::tempdir().unwrap();
    fs::create_dir(without.path().join(".opencode")).unwrap();
    let settings = Settings { profile: Profile::Flame, ..Settings::default() };
    let project = Project::at(without.path(), settings);
    project.user("ses_a", "Write the parser");
    drop(project);
    assert!(!without.path().join(".opencode/flame").exists());
}
