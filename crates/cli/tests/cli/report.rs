//! The page in one file.

use std::fs;

use callstack_engine::operations;
use serde_json::{Value, json};

use super::test_env::{TestEnv, says};

/// The document in a page.
pub(crate) fn document(page: &str) -> Value {
    let (_, after) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = after.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

fn written(desk: &TestEnv) -> String {
    fs::read_to_string(desk.project().join(".callstack/callstack.html")).unwrap()
}

fn handles(document: &Value) -> Vec<&str> {
    let frames = document["frames"]["frames"].as_array().unwrap().iter();
    frames.map(|frame| frame["handle"].as_str().unwrap()).collect()
}

#[test]
fn a_report_holds_what_the_page_asks_a_server_for() {
    let desk = TestEnv::with_frames();
    says!(desk, ["report"], @r"
    exit 0
    5 frames written to $ROOT/project/.callstack/callstack.html
    ");
    let document = document(&written(&desk));
    assert_eq!(document["kind"], "callstack-report");
    assert_eq!(document["leftOut"], json!([]));
    assert_eq!(handles(&document), ["f1", "f2", "f3", "f4", "f5"]);
    for part in ["details", "folds", "diffs", "logs"] {
        let frames: Vec<&String> = document[part].as_object().unwrap().keys().collect();
        assert_eq!(frames, ["f1", "f2", "f3", "f4", "f5"], "{part}");
    }
    assert_eq!(document["details"]["f2"]["results"], "23 rules, none left-recursive.");
    let session = &document["sessions"]["cli"];
    assert_eq!(session["window"]["parts"].as_array().unwrap().len(), 7, "{session:#}");
    assert_eq!(session["calls"]["total"], 0);
    is_whole(&document);
}

/// Fails where a part of a document differs from the answer of the operation.
#[track_caller]
pub(crate) fn is_answer_of(operation: &str, part: &Value) {
    let schema = (operations::find(operation).unwrap().output)();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = schema.iter_errors(part).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{operation}: {errors:?} in {part:#}");
}

/// Fails where a part of a document differs from the answers to the page's requests.
#[track_caller]
fn is_whole(document: &Value) {
    is_answer_of("stack_frames", &document["frames"]);
    for (part, operation) in [
        ("details", "stack_frame_details"),
        ("folds", "stack_folded"),
        ("diffs", "stack_diff"),
        ("logs", "stack_read_frame"),
    ] {
        for it in document[part].as_object().unwrap().values() {
            is_answer_of(operation, it);
        }
    }
    for session in document["sessions"].as_object().unwrap().values() {
        for (part, operation) in
            [("window", "stack_window"), ("calls", "stack_calls"), ("sent", "stack_sent")]
        {
            if let Some(part) = session.get(part) {
                is_answer_of(operation, part);
            }
        }
    }
}

#[test]
fn a_report_of_a_frame_holds_it_and_what_is_below_it() {
    let desk = TestEnv::with_frames();
    desk.ok(&["push", "Inner", "-c", "done"]);
    desk.ok(&["report", "f5"]);
    let document = document(&written(&desk));
    assert_eq!(document["start"], "f5");
    assert_eq!(handles(&document), ["f5", "f6"]);
}

#[test]
fn words_that_look_like_a_page_stay_words() {
    let scripts = |desk: &TestEnv| {
        desk.ok(&["report"]);
        written(desk).to_lowercase().matches("<script").count()
    };
    let before = scripts(&TestEnv::with_frames());
    let desk = TestEnv::with_frames();
    let title = "</script><script>alert(1)</script>\u{2028}<!--";
    desk.ok(&["push", title, "-c", "<img src=x onerror=alert(1)>"]);
    assert_eq!(scripts(&desk), before);
    assert_eq!(document(&written(&desk))["details"]["f6"]["title"], title);
}

#[test]
fn secrets_are_masked_unless_they_are_wanted() {
    let desk = TestEnv::with_frames();
    let key = format!("sk-ant-api03-{}", "aB3".repeat(32));
    desk.ok(&["decision", &format!("use {key}")]);
    desk.ok(&["report"]);
    assert!(!written(&desk).contains(&key));
    desk.ok(&["report", "--reveal"]);
    assert!(written(&desk).contains(&key));
}

#[test]
fn a_file_that_is_no_page_is_kept() {
    let desk = TestEnv::with_frames();
    fs::write(desk.project().join("notes.html"), "<title>mine</title>").unwrap();
    says!(desk, ["report", "-o", "notes.html"], @r"
    exit 4
    --- stderr
    error: $ROOT/project/notes.html is there already, and is no page of callstack
    hint: Name another file with --output, or remove that one first.
    ");
    let kept = fs::read_to_string(desk.project().join("notes.html")).unwrap();
    assert_eq!(kept, "<title>mine</title>");
}
