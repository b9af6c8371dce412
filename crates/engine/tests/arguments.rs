//! Every tool accepts the arguments of the specification, under their names there.

use std::collections::BTreeSet;

use callstack_engine::{ChildSession, operations};
use serde_json::{Value, json};

use crate::support::Project;

const A: &str = "ses_a";
const CHILD: &str = "ses_child";

/// The tools of the specification in an order in which all of them can be called, with all that each
/// takes. `PLAN` stands for the id of a planned frame.
fn calls() -> Vec<(&'static str, Value)> {
    let child = |title: &str| json!({"title": title, "successCriteria": "it works", "successCriteriaCompacted": "works"});
    let session = json!({"sessionID": A});
    let planned = json!({"title": "later", "successCriteria": "it works",
        "successCriteriaCompacted": "works", "parentSessionID": A});
    let push = json!({"errorCount": 2, "potentialRetry": true, "newGoal": "write the docs",
        "messageCount": 30, "fileChanges": 4, "tokenCount": 9_000});
    let pop = json!({"successSignals": ["green"], "failureSignals": ["red"],
        "artifacts": ["a.rs"], "noProgressTurns": 3, "tokenUsage": 80});
    vec![
        ("stack_frame_plan", planned),
        (
            "stack_frame_plan_children",
            json!({"parentSessionID": A, "children": [child("first"), child("second")]}),
        ),
        ("stack_frame_activate", json!({"sessionID": "PLAN"})),
        ("stack_frame_push", child("inner")),
        ("stack_add_artifact", json!({"artifact": "src/a.rs", "sessionID": A})),
        ("stack_add_decision", json!({"decision": "no tables", "sessionID": A})),
        ("stack_status", json!({})),
        ("stack_tree", json!({})),
        ("stack_frame_details", session.clone()),
        ("stack_context_info", session.clone()),
        ("stack_context_preview", session.clone()),
        ("stack_cache_clear", session.clone()),
        ("stack_compaction_info", json!({})),
        ("stack_get_summary", session),
        (
            "stack_config",
            json!({"enabled": true, "minDuration": 1_000, "minMessages": 2, "autoComplete": true,
                "idleDelay": 2_000, "patterns": ["helper"]}),
        ),
        ("stack_stats", json!({})),
        (
            "stack_subagent_list",
            json!({"filter": "active", "subagentsOnly": false, "parentSessionID": A}),
        ),
        (
            "stack_subagent_complete",
            json!({"sessionID": CHILD, "status": "completed", "results": "two bugs",
                "resultsCompacted": "2 bugs"}),
        ),
        (
            "stack_autonomy",
            json!({"level": "suggest", "pushThreshold": 60, "popThreshold": 80,
                "suggestInContext": true, "enabledHeuristics": ["duration"]}),
        ),
        ("stack_should_push", push),
        ("stack_should_pop", pop),
        ("stack_auto_suggest", json!({"enabled": true, "clear": true})),
        ("stack_autonomy_stats", json!({})),
        ("stack_get_state", json!({})),
        (
            "stack_frame_pop",
            json!({"status": "completed", "results": "12 tokens", "resultsCompacted": "12"}),
        ),
        ("stack_frame_invalidate", json!({"sessionID": "PLAN", "reason": "no longer"})),
        ("stack_frame_summarize", json!({"note": "keep the figures"})),
    ]
}

fn with_plan(arguments: &Value, plan: &str) -> Value {
    serde_json::from_str(&arguments.to_string().replace("PLAN", plan)).unwrap()
}

#[test]
fn every_tool_takes_what_the_specification_says() {
    let project = Project::new();
    project.user(A, "Write the parser");
    let child = ChildSession {
        session: CHILD.to_owned(),
        host: "test".to_owned(),
        parent: A.to_owned(),
        title: "look (@general subagent)".to_owned(),
    };
    project.engine.child_seen(&child).unwrap();
    project.user(CHILD, "Look for bugs");
    let planned = || {
        let state = project.engine.state().unwrap();
        let mut ids = state.frames.keys().filter(|id| id.starts_with("plan-")).cloned();
        ids.next().unwrap_or_default()
    };
    for (name, arguments) in calls() {
        project.did(A, name, with_plan(&arguments, &planned()));
    }
    let first = project.engine.resolve("f3").unwrap();
    assert_eq!(first.parent.map(|it| it.0), Some(1), "below the frame that was named");
    assert_eq!(first.identity.success_criteria_compacted, "works");
    let state = project.engine.state().unwrap();
    let root = &state.frames[A];
    assert_eq!(
        (&root.artifacts[..], &root.decisions[..]),
        (&["src/a.rs".to_owned()][..], &["no tables".to_owned()][..])
    );
    let bugs = project.engine.resolve(CHILD).unwrap();
    assert_eq!(bugs.results_compacted.as_deref(), Some("2 bugs"));
}

/// Each tool is called with an argument that none has.
#[test]
fn every_tool_says_what_is_right_where_an_argument_is_wrong() {
    let project = Project::new();
    project.user(A, "Write the parser");
    for (name, arguments) in calls() {
        let mut arguments = with_plan(&arguments, "f1");
        arguments["mood"] = "good".into();
        let error = project.call(A, name, arguments).expect_err(name);
        let sentence = error.sentence();
        assert!(sentence.contains("mood") && sentence.contains("It takes"), "{name}: {sentence}");
    }
}

#[test]
fn no_tool_of_the_specification_is_left_out() {
    let called: BTreeSet<_> = calls().into_iter().map(|(name, _)| name).collect();
    assert_eq!(called.len(), 27);
    for name in called {
        assert!(operations::find(name).is_some(), "{name}");
    }
}
