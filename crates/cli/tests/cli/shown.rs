//! The views of the tree.

use std::collections::BTreeSet;

use super::test_env::{TestEnv, says};

#[test]
fn a_tree_and_where_the_work_stands() {
    let desk = TestEnv::with_frames();
    says!(desk, ["tree"], @"
    exit 0
    ▶ f1 Build the parser  TIME
    ├ ✓ f2 Read the grammar  TIME  23 rules, none left-recursive.
    ├ ✗ f3 Try a generator  TIME  Errors have no positions.
    ├ ○ f4 Document the errors
    └ ▶ f5 Write the parser  TIME  ← open
    ");
    says!(desk, ["status"], @r#"
    exit 0
    session cli
    ▶ f1 Build the parser
      ▶ f5 Write the parser
          cargo test is green
    in all: 1 completed, 1 failed, 2 in progress, 1 planned
    "#);
    says!(desk, ["show", "f2"], @"
    exit 0
    ✓ f2 Read the grammar
      completed · took TIME · ended TIME · session cli
      below f1 Build the parser

    Result, by the user
      23 rules, none left-recursive.

    Decisions
      - Recursive descent, no generator

    Done when
      Every rule is known

    `callstack log f2` for what was said
    ");
    says!(desk, ["log", "f2"], @r#"
    exit 0
    f2 "Read the grammar": no messages are kept
    "#);
}

#[test]
fn the_context_is_the_agents_xml() {
    let desk = TestEnv::with_frames();
    desk.ok(&["pop", "-r", "It parses fixture 1."]);
    desk.ok(&["push", "Test the grammar", "-c", "Every rule has a test"]);
    let open = desk.ok(&["context"]);
    assert!(open.starts_with("<stack-context "), "{open}");
    assert!(open.contains("Test the grammar") && open.contains("23 rules"), "{open}");
    assert!(!open.contains("Errors have no positions."), "it shares nothing: {open}");
    let root = desk.ok(&["context", "f1"]);
    assert!(root.contains("Document the errors"), "{root}");
    assert_eq!(desk.json(&["context", "f1"])["xml"].as_str().unwrap().trim_end(), root.trim_end());
}

/// The fields of `StackState` and `FrameMetadata` in the specification, and fields of our own.
#[test]
fn the_state_has_the_shape_of_the_specification() {
    let desk = TestEnv::with_frames();
    desk.ok(&["invalidate", "f4", "-r", "no longer"]);
    desk.ok(&["plan", "Later"]);
    desk.ok(&["pin", "always"]);
    let state = desk.json(&["tree"]);
    let fields: Vec<_> = state.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["version", "frames", "activeFrameID", "rootFrameIDs", "updatedAt"]);
    assert_eq!(state["version"], 1);
    assert_eq!(state["activeFrameID"], desk.id("f5"));
    assert_eq!(state["rootFrameIDs"], serde_json::json!([desk.id("f1")]));
    assert!(state["updatedAt"].as_i64().unwrap() > 1_700_000_000_000);

    let always = [
        "sessionID",
        "status",
        "title",
        "successCriteria",
        "successCriteriaCompacted",
        "createdAt",
        "updatedAt",
        "artifacts",
        "decisions",
    ];
    let sometimes = [
        "parentSessionID",
        "results",
        "resultsCompacted",
        "logPath",
        "invalidationReason",
        "invalidatedAt",
        "plannedChildren",
    ];
    let ours = [
        "resultsSource",
        "handle",
        "workedIn",
        "pins",
        "begunAt",
        "endedAt",
        "formerIDs",
        "derived",
        "artifactHashes",
    ];
    let mut seen = BTreeSet::new();
    for (id, frame) in state["frames"].as_object().unwrap() {
        assert_eq!(frame["sessionID"], id.as_str());
        for field in always {
            assert!(frame.get(field).is_some(), "{field} is not in {frame}");
        }
        seen.extend(frame.as_object().unwrap().keys().cloned());
    }
    for field in &seen {
        let known = [&always[..], &sometimes[..], &ours[..]].concat();
        assert!(known.contains(&field.as_str()), "{field}");
    }
    for field in ["parentSessionID", "results", "invalidationReason", "plannedChildren"] {
        assert!(seen.contains(field), "{field}");
    }
    let statuses: BTreeSet<_> = state["frames"]
        .as_object()
        .unwrap()
        .values()
        .map(|it| it["status"].as_str().unwrap())
        .collect();
    let expected = ["completed", "failed", "in_progress", "invalidated", "planned"];
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_status_for_programs() {
    let desk = TestEnv::with_frames();
    let status = desk.json(&["status"]);
    assert_eq!(status["session"], "cli");
    assert_eq!(status["counts"]["in_progress"], 2);
    let stack: Vec<_> = status["stack"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["handle"].as_str().unwrap())
        .collect();
    assert_eq!(stack, ["f1", "f5"]);
    assert_eq!(desk.json(&["log", "f2"])["total"], 0);
}

#[test]
fn no_title_breaks_the_drawing() {
    let desk = TestEnv::new();
    let mut title = "a very long title that goes on and on ".repeat(8);
    title.push('日');
    for _ in 0..4 {
        desk.ok(&["push", &title, "-c", "x"]);
        desk.ok(&["push", &"日本語".repeat(40), "-c", "x"]);
    }
    for columns in ["30", "60", "100"] {
        let mut command = desk.command(&desk.project(), &["tree"]);
        command.env("COLUMNS", columns);
        let said = desk.finish(command);
        assert_eq!(said.stdout.lines().count(), 8);
        for line in said.stdout.lines() {
            let wide = line.chars().filter(|char| *char > '\u{2fff}').count();
            let width = line.chars().count() + wide;
            assert!(width <= columns.parse().unwrap(), "{width} columns: {line}");
        }
        assert!(said.stdout.contains('←') && said.stdout.contains('…'));
    }
}

#[test]
fn an_empty_store_says_that_it_is_empty() {
    let desk = TestEnv::new();
    desk.ok(&["init", "opencode"]);
    says!(desk, ["tree"], @r#"
    exit 0
    there are no frames yet
    "#);
    says!(desk, ["status"], @r#"
    exit 0
    session cli
    no frame is open
    in all: none
    "#);
    says!(desk, ["context"], @"
    exit 2
    --- stderr
    error: no frame is open in this session
    hint: Name a frame, or begin one with `callstack push`.
    ");
}
