use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::trial::folder::{About, Answer};

/// Writes a trial of one session: the texts of each request's messages, and the calls in its answer.
fn trial(folder: &Path, level: Option<&str>, requests: &[(&[&str], &[&str])]) {
    let about = About { level: level.map(str::to_owned), turns: vec!["the task".to_owned()] };
    let folder = Folder::begin(folder, &about).unwrap();
    for (at, (texts, commands)) in requests.iter().enumerate() {
        let messages: Vec<Value> =
            texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        let body = json!({"model": "m", "messages": messages, "tools": [1]}).to_string();
        let headers = vec![("x-session-id".to_owned(), "ses_a".to_owned())];
        let request = RecordedRequest::parse(headers, &body).unwrap();
        folder.record(at + 1, &request, &body).unwrap();
        let calls: Vec<Value> =
            commands.iter().map(|c| json!({"name": "bash", "input": {"command": c}})).collect();
        let answer: Answer = serde_json::from_value(json!({"text": "x", "calls": calls})).unwrap();
        folder.put_answer(at + 1, &answer).unwrap();
    }
}

const TOOLS: f64 = 3.0;

#[test]
fn what_was_cached_costs_a_tenth_and_a_call_made_again_is_counted() {
    let temporary = TempDir::new().unwrap();
    let folder = temporary.path().join("a");
    // A message's JSON is 28 characters without its text.
    let (a, b, c) = ("a".repeat(72), "b".repeat(172), "c".repeat(22));
    trial(
        &folder,
        Some("auto"),
        &[(&[&a], &["ls", "pwd"]), (&[&a, &b], &["ls"]), (&[&a, &c], &[]), (&[&a, &c], &["ls"])],
    );
    let took = of(&folder).unwrap();
    let [a, b, c] = [100.0, 200.0, 50.0];
    assert_eq!((took.requests, took.calls, took.again, took.changes), (4, 4, 2, 1));
    assert_near(took.sent, 4.0 * TOOLS + 4.0 * a + b + 2.0 * c);
    assert_near(took.largest, TOOLS + a + b);
    let cached = TOOLS + a;
    let new = NEW * (TOOLS + a + b + c);
    assert_near(took.billed, new + CACHED * (3.0 * cached + c));
    assert_near(took.sent_linear, 4.0 * TOOLS + a + (a + b) + 2.0 * (a + b + c));
}

#[track_caller]
fn assert_near(a: f64, b: f64) {
    assert!((a - b).abs() < 0.001, "{a} is not {b}");
}

#[test]
fn a_trial_is_compared_with_the_control_of_its_task() {
    let temporary = TempDir::new().unwrap();
    let folder = |name: &str| temporary.path().join(name);
    let long = "l".repeat(1_000);
    trial(&folder("control"), None, &[(&["a"], &["ls"]), (&["a", &long], &["ls"])]);
    trial(&folder("folded"), Some("suggest"), &[(&["a"], &["ls"]), (&["a", "short"], &[])]);
    trial(
        &folder("longer"),
        Some("auto"),
        &[(&["a"], &[]), (&["a", &long], &[]), (&["a", &long], &[])],
    );
    let table = table(&[folder("control"), folder("folded"), folder("longer")]).unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1][..6], ["control", "control", "2", "2", "1", "0"], "{table}");
    assert_eq!(rows[2][..6], ["folded", "suggest", "2", "1", "0", "0"], "{table}");
    assert_eq!(rows[3][..3], ["of", "control", "1.00"], "{table}");
    assert_eq!(rows[5][..3], ["of", "control", "1.50"], "{table}");
    assert_eq!(rows[6][..5], ["median", "of", "the", "pairs", "1.25"], "{table}");
    let none = super::table(&[temporary.path().to_path_buf()]).unwrap_err().to_string();
    assert!(none.ends_with("holds no trial"), "{none}");
}
