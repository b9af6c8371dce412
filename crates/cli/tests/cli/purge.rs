//! A purge leaves no copy that callstack itself made.

use std::fs;

use serde_json::{Value, json};

use super::secrets::holding;
use super::test_env::{TestEnv, says};

const SESSION: &str = "33333333-2222-4333-8444-555555555555";
/// A word in the user's first message and in the agent's last one.
const SECRET: &str = "quartz-lampoon";

/// A recorded session of two requests, each with its calls and the agent's last words.
fn recording() -> String {
    let mut lines = Vec::new();
    let mut add = |kind: &str, message: Value| {
        let n = lines.len();
        let parent = n.checked_sub(1).map(|n| format!("u{n}"));
        let line = json!({"type": kind, "uuid": format!("u{n}"), "parentUuid": parent,
            "sessionId": SESSION, "isSidechain": false, "cwd": "/shop", "version": "2.0.0",
            "timestamp": format!("2025-01-01T10:00:{n:02}.000Z"), "message": message});
        lines.push(line.to_string());
    };
    let requests = [
        (
            format!("Deploy with the pass phrase {SECRET}, please"),
            format!("With {SECRET} it went."),
        ),
        ("Now look at the marmalade".to_owned(), "The marmalade is fine.".to_owned()),
    ];
    for (request, (asked, reply)) in requests.into_iter().enumerate() {
        add("user", json!({"role": "user", "content": asked}));
        for step in 0..4 {
            let call = format!("toolu_{request}_{step}");
            let command = json!({"command": format!("deploy --step {step}")});
            let content =
                json!([{"type": "tool_use", "id": call, "name": "Bash", "input": command}]);
            add(
                "assistant",
                json!({"id": format!("m{call}"), "role": "assistant", "model": "m",
                "content": content}),
            );
            let content = json!([{"type": "tool_result", "tool_use_id": call,
                "content": "all is done ".repeat(200)}]);
            add("user", json!({"role": "user", "content": content}));
        }
        let content = json!([{"type": "text", "text": reply}]);
        add(
            "assistant",
            json!({"id": format!("last{request}"), "role": "assistant", "model": "m",
            "content": content}),
        );
    }
    lines.join("\n")
}

fn imported() -> TestEnv {
    let desk = TestEnv::new();
    fs::write(desk.project().join("past.jsonl"), recording()).unwrap();
    desk.ok(&["import", "past.jsonl"]);
    assert!(desk.ok(&["search", SECRET]).contains("f1"));
    let text = desk.ok(&["show", "f1"]) + &desk.ok(&["export"]);
    assert!(text.contains(SECRET), "{text}");
    assert!(holding(&desk, SECRET).iter().any(|file| file.ends_with("callstack.log")));
    desk
}

#[track_caller]
fn nothing_is_left(desk: &TestEnv) {
    assert_eq!(holding(desk, SECRET), Vec::<String>::new());
    for word in SECRET.split('-') {
        assert_eq!(holding(desk, word), Vec::<String>::new(), "{word}");
    }
    let export = ["export", "--reveal"];
    let log = ["log", "f1", "--reveal"];
    for args in [&export[..], &["show", "f1"], &["show", "f2"], &["tree"], &log] {
        let shown = desk.ok(args);
        assert!(!shown.contains(SECRET) && !shown.contains("pass phrase"), "{args:?}: {shown}");
    }
    assert!(desk.run(&["search", SECRET]).stdout.starts_with("no text that is kept"));
}

#[test]
fn names_and_results_of_a_past_session_go_with_its_messages() {
    let desk = imported();
    says!(desk, ["purge", SESSION, "--dry-run"], @r"
    exit 0
    would remove 12 messages (49649 bytes) of session 33333333-2222-4333-8444-555555555555 and 2 log files
      .callstack/logs/f1.md
      .callstack/logs/f2.md
      with them, as taken from messages: titles and criteria of f1, f2, results of f1, f2
    ");
    let plan = desk.json(&["purge", SESSION, "--dry-run"]);
    assert_eq!(plan["removed"]["titles"], plan["frames"], "{plan}");
    assert_eq!(
        plan["kept"],
        json!({"titles": [], "results": [], "notes": [], "files": []}),
        "{plan}"
    );
    let done = desk.json(&["purge", SESSION, "--yes"]);
    assert_eq!(done["removed"], plan["removed"]);
    nothing_is_left(&desk);
    assert!(holding(&desk, "marmalade").is_empty());
    desk.is_whole(&["f1", "f2"]);
    desk.ok(&["doctor", "--rebuild"]);
    // Another import of the file does not bring it back either.
    desk.ok(&["import", "past.jsonl"]);
    nothing_is_left(&desk);
    let again = desk.json(&["purge", SESSION, "--dry-run"]);
    assert_eq!(
        again["removed"],
        json!({"titles": [], "results": [], "notes": [], "files": []}),
        "{again}"
    );
}

#[test]
fn those_of_one_frame_go_and_those_of_others_stay() {
    let desk = imported();
    desk.ok(&["decision", "no xylophones", "--frame", "f2"]);
    let done = desk.json(&["purge", "f2", "--yes"]);
    assert_eq!(done["removed"]["titles"], json!(["f2"]), "{done}");
    assert_eq!(done["removed"]["results"], json!(["f2"]), "{done}");
    assert_eq!(done["kept"]["notes"], json!(["f2"]), "{done}");
    let shown = desk.ok(&["show", "f2"]);
    assert!(shown.contains("[purged]") && shown.contains("no xylophones"), "{shown}");
    assert!(!desk.ok(&["log", "f1"]).contains("The marmalade is fine."));
    // The root, to which the first turn belongs, is purged by itself.
    assert!(desk.ok(&["search", SECRET]).contains("f1"));
    assert!(desk.ok(&["show", "f1"]).contains(SECRET));
}

#[test]
fn what_an_agent_gave_is_listed_and_stays() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Deploy", "-c", "It is deployed"]);
    desk.ok(&["pin", "never on Fridays"]);
    desk.ok(&["artifact", "deploy.sh"]);
    desk.ok(&["pop", "-r", "Deployed"]);
    says!(desk, ["purge", "f1", "--dry-run"], @r#"
    exit 0
    would remove 0 messages (0 bytes) of f1 "Deploy" and 1 log file
      .callstack/logs/f1.md
      stays: titles and criteria of f1, results of f1, decisions and pins of f1, names of files of f1
    "#);
    desk.ok(&["purge", "f1", "--yes"]);
    let shown = desk.ok(&["show", "f1"]);
    assert!(shown.contains("It is deployed") && shown.contains("never on Fridays"), "{shown}");
}
