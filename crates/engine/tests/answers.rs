//! Answers of operations that show frames.

use callstack_engine::FrameMetadata;
use serde_json::json;

use crate::support::Project;

const A: &str = "ses_a";

fn child(title: &str) -> serde_json::Value {
    json!({"title": title, "successCriteria": format!("{title} is done"),
        "successCriteriaCompacted": format!("dense {title}")})
}

/// A root `f1` with five finished children `f2` to `f6`, a planned one `f7` and the open `f8`, in which `f9` is
/// planned.
fn project() -> Project {
    let project = Project::new();
    project.user(A, "Write the parser for the new format, please");
    for title in ["one", "two", "three", "four", "five"] {
        project.did(A, "stack_frame_push", child(title));
        project.did(A, "stack_frame_pop", json!({"results": format!("{title} works")}));
    }
    project.did(A, "stack_frame_plan", json!({"children": [child("docs")]}));
    project.did(A, "stack_frame_push", child("lexer"));
    project.did(A, "stack_frame_plan", json!({"children": [child("tables")]}));
    project
}

/// Returns an answer without its times, after checking that they are times.
fn timeless(text: &str) -> String {
    let row = |line: &str| match line.split_once(": ") {
        Some((name @ ("created" | "begun" | "updated" | "ended"), time)) => {
            assert!(time.starts_with("2023-11-14T22:13:") && time.ends_with('Z'), "{line}");
            format!("{name}: TIME\n")
        }
        Some((name @ ("took" | "open for"), span)) => {
            assert!(span.ends_with('s'), "{line}");
            format!("{name}: SPAN\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(row).collect()
}

#[test]
fn the_status_is_a_tree_of_what_is_open_and_right_below() {
    let project = project();
    let answer = project.did(A, "stack_status", json!({}));
    insta::assert_snapshot!(answer.text, @r#"
    ▶ f1 Write the parser for the new format, please [in_progress]
    ├─ ✓ f4 three [completed]
    ├─ ✓ f5 four [completed]
    ├─ ✓ f6 five [completed]
    ├─ ▶ f8 lexer [in_progress]: dense lexer  ← active
    │  └─ ○ f9 tables [planned]: dense tables
    └─ ○ f7 docs [planned]: dense docs
    2 more right below f1: stack_tree shows all.
    In all: 2 planned, 2 in_progress, 5 completed.
    "#);
    let handles: Vec<_> = answer.data["tree"].as_array().unwrap().iter().collect();
    assert_eq!(handles[0]["handle"], "f1");
    assert_eq!(handles.iter().filter(|frame| frame["active"] == true).count(), 1);
    project.did(A, "stack_frame_pop", json!({"results": "it lexes"}));
    project.did(A, "stack_frame_pop", json!({"results": "all done"}));
    let ended = project.did(A, "stack_status", json!({})).text;
    assert!(ended.starts_with("No frame is open in this session.\n✓ f1 "), "{ended}");
    assert!(ended.contains("─ ✓ f8 lexer [completed]\n"), "{ended}");
}

#[test]
fn the_tree_has_criteria_of_what_is_not_finished_a_legend_and_statistics() {
    let project = project();
    project.did(A, "stack_frame_invalidate", json!({"frame": "f7", "reason": "nobody reads"}));
    insta::assert_snapshot!(project.did(A, "stack_tree", json!({})).text, @r#"
    ▶ f1 Write the parser for the new format, please [in_progress]
    ├─ ✓ f2 one [completed]
    ├─ ✓ f3 two [completed]
    ├─ ✓ f4 three [completed]
    ├─ ✓ f5 four [completed]
    ├─ ✓ f6 five [completed]
    ├─ ⊘ f7 docs [invalidated]
    └─ ▶ f8 lexer [in_progress]: dense lexer  ← active
       └─ ○ f9 tables [planned]: dense tables

    ○ planned  ▶ in progress  ✓ completed  ✗ failed  ‖ blocked  ⊘ invalidated
    In all: 1 planned, 2 in_progress, 5 completed, 1 invalidated. Levels: 3.
    "#);
}

#[test]
fn details_and_summaries_have_times_dense_criteria_logs_and_handles() {
    let project = project();
    let open = project.did(A, "stack_frame_details", json!({}));
    insta::assert_snapshot!(timeless(&open.text), @r#"
    f8 "lexer" [in_progress]
    success criteria: lexer is done
    success criteria, dense: dense lexer
    parent: f1 "Write the parser for the new format, please"
    worked in session: ses_a
    planned children: f9 "tables"
    created: TIME
    begun: TIME
    updated: TIME
    open for: SPAN
    "#);
    assert_eq!((&open.data["parent"], &open.data["planned"]), (&json!("f1"), &json!(["f9"])));
    let metadata: FrameMetadata = serde_json::from_value(open.data).unwrap();
    assert_eq!(metadata, project.engine.metadata(&project.engine.resolve("f8").unwrap()).unwrap());
    let ended = project.did(A, "stack_frame_details", json!({"frame": "f2"}));
    insta::assert_snapshot!(timeless(&ended.text), @r#"
    f2 "one" [completed]
    success criteria: one is done
    success criteria, dense: dense one
    parent: f1 "Write the parser for the new format, please"
    worked in session: ses_a
    results: one works
    results, dense: one works
    results are: by the agent
    created: TIME
    begun: TIME
    updated: TIME
    ended: TIME
    log: .callstack/logs/f2.md
    took: SPAN
    "#);
    let summary = project.did(A, "stack_get_summary", json!({"frame": "f2"}));
    insta::assert_snapshot!(timeless(&summary.text), @r#"
    f2 "one" [completed]
    success criteria: one is done
    success criteria, dense: dense one
    parent: f1 "Write the parser for the new format, please"
    results: one works
    results, dense: one works
    results are: by the agent
    last compaction: none: this frame has no generated summary
    created: TIME
    begun: TIME
    updated: TIME
    ended: TIME
    log: .callstack/logs/f2.md
    "#);
    assert_eq!(summary.data["logPath"], ".callstack/logs/f2.md");
    assert_eq!(summary.data["parent"], "f1");
    for text in [open.text, summary.text] {
        assert!(!text.contains("frm-") && !text.contains("plan-"), "an id: {text}");
    }
}

#[test]
fn what_a_context_costs_is_shown_by_section_with_what_was_chosen() {
    let project = project();
    let answer = project.did(A, "stack_context_info", json!({}));
    let (text, cache) = answer.text.rsplit_once('\n').unwrap();
    assert!(
        cache.starts_with("Cache: ") && cache.ends_with(" of 50 entries; each is good for 30s.")
    );
    insta::assert_snapshot!(text, @r#"
    Context of f8 "lexer": 567 of 4000 tokens, estimated.
    - ancestors: 45 of 1500; 1 shown (f1), 0 left out
    - siblings: 0 of 1500; 0 shown, 5 left out
    - current frame 43 and planned children 28 of 800; 1 shown (f9), 0 left out
    - pins: 0, outside of every budget
    - guidance: 393; tags and budgets: 58
    "#);
    let chosen = &answer.data["context"];
    assert_eq!(chosen["ancestors"], json!(["f1"]));
    assert_eq!(answer.data["cacheLifetimeMs"], 30_000);
}

#[test]
fn a_title_of_many_words_is_taken_as_it_is() {
    let project = Project::new();
    project.user(A, "Build it");
    let title = "word ".repeat(100);
    project.did(A, "stack_frame_push", json!({"title": title, "successCriteria": "it is done"}));
    let frame = project.engine.resolve("f2").unwrap();
    assert_eq!(frame.identity.title, title.trim());
}
