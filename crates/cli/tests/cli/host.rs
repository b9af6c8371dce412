//! The process that serves the plugin, and the sessions of agents that it brings into the store.

use serde_json::{Value, json};

use super::test_env::{Said, TestEnv, says};

pub(crate) fn serve(desk: &TestEnv, requests: &[Value]) -> Said {
    let lines: Vec<_> = requests.iter().map(|request| format!("{request}\n")).collect();
    desk.run_with(&["host", "opencode"], lines.concat().as_bytes())
}

fn message(id: u64, session: &str, text: &str) -> Value {
    let params = json!({"session": session, "message": format!("msg_{id}"), "text": text});
    json!({"id": id, "method": "message", "params": params})
}

/// Two sessions of an agent; the second one worked last.
fn with_sessions() -> TestEnv {
    let desk = TestEnv::new();
    let said = serve(
        &desk,
        &[
            message(1, "ses_one_a", "Write the tests"),
            message(2, "ses_two_b", "Write the docs"),
            message(3, "ses_two_c", "Fix the build"),
        ],
    );
    assert_eq!(said.code, 0, "{}", said.stderr);
    desk
}

#[test]
fn it_answers_on_standard_output_and_logs_on_standard_error() {
    let desk = TestEnv::new();
    let hello = json!({"id": 1, "method": "hello", "params": {"protocol": 1}});
    let said = desk.run_with(&["host", "opencode"], format!("{hello}\nnot json\n").as_bytes());
    assert_eq!(said.code, 0);
    let answer: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(answer["result"]["protocol"], 1);
    assert!(said.stderr.starts_with("callstack: a request can't be read"), "{}", said.stderr);
}

#[test]
fn the_first_session_of_a_project_is_shown_where_its_store_was_made() {
    let desk = TestEnv::without_store();
    let sync = |id: u64| {
        let info = json!({"id": "msg_1", "role": "user", "sessionID": "ses_a"});
        let messages =
            json!([{"info": info, "parts": [{"type": "text", "text": "Hello", "id": "prt_1"}]}]);
        let params = json!({"session": "ses_a", "purpose": "turn", "keep": 0, "messages": messages, "ops": 0,
            "applied": 0});
        json!({"id": id, "method": "sync", "params": params})
    };
    let made = format!(
        "frames of this project are kept in {}",
        desk.project().join(".callstack").display()
    );
    for expected in [[made.as_str(), ""], ["", ""]] {
        let said = serve(&desk, &[sync(1), sync(2)]);
        let answers = said.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let troubles: Vec<_> = answers.map(|it| it["result"]["trouble"].clone()).collect();
        assert_eq!(troubles, expected, "once, and by no other process: {}", said.stdout);
    }
}

#[test]
fn a_store_that_cannot_be_used_is_reported_with_each_request() {
    let desk = TestEnv::new();
    desk.sealed.write(".callstack/callstack.db", &"no database ".repeat(600)).unwrap();
    desk.ok(&["trust", "--yes"]);
    let said = serve(&desk, &[message(1, "ses_x", "hello")]);
    assert_eq!(said.code, 0);
    let answer: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(answer["error"]["kind"], "unavailable");
}

#[test]
fn the_home_folder_is_no_project_for_an_agent_either() {
    let desk = TestEnv::new();
    let home = desk.sealed.home();
    let said = desk.run_with(
        &["-C", home.to_str().unwrap(), "host", "opencode"],
        format!("{}\n", message(1, "ses_x", "hello")).as_bytes(),
    );
    let answer: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(answer["error"]["kind"], "invalid");
    assert!(!home.join(".callstack").exists());
}

#[test]
fn verbs_act_on_the_session_that_worked_last_unless_one_is_named() {
    let desk = with_sessions();
    says!(desk, ["status"], @r#"
    exit 0
    session ses_two_c
    ▶ f3 Fix the build
        Fix the build
    in all: 3 in progress
    "#);
    desk.ok(&["push", "From a terminal", "-c", "x"]);
    assert_eq!(desk.json(&["show", "f4"])["workedIn"], "ses_two_c");
    says!(desk, ["--session", "ses_one", "push", "Elsewhere", "-c", "x"], @r#"
    exit 0
    ▶ f5 "Elsewhere"  in session ses_one_a
    "#);
    assert_eq!(desk.json(&["show", "f5"])["workedIn"], "ses_one_a");
    says!(desk, ["tree", "--session", "ses_two_c"], @"
    exit 0
    OpenCode · ses_two_c · DATE
    ▶ f3 Fix the build  TIME
    └ ▶ f4 From a terminal  TIME  ← open
    ");
}

#[test]
fn sessions_that_are_unknown_or_ambiguous() {
    let desk = with_sessions();
    says!(desk, ["status", "--session", "ses_two"], @r#"
    exit 3
    --- stderr
    error: session `ses_two` could be ses_two_c, ses_two_b
    hint: Give more of the id.
    "#);
    says!(desk, ["status", "--session", "nobody"], @r#"
    exit 3
    --- stderr
    error: there is no session `nobody`
    hint: Leave it out for the session that worked last.
    "#);
    says!(desk, ["status", "--session", ""], @r#"
    exit 3
    --- stderr
    error: there is no session ``
    hint: Leave it out for the session that worked last.
    "#);
}

/// A session with a log, in frame f3.
pub(crate) fn with_a_log() -> TestEnv {
    let desk = with_sessions();
    let part = |id: &str, text: &str| json!({"id": id, "type": "text", "text": text});
    let messages = json!([
        {"info": {"id": "msg_3", "role": "user", "sessionID": "ses_two_c",
            "time": {"created": 1_700_000_000_000_i64}},
         "parts": [part("prt_1", "Fix the build")]},
        {"info": {"id": "msg_4", "role": "assistant", "sessionID": "ses_two_c",
            "time": {"created": 1_700_000_001_000_i64}},
         "parts": [part("prt_2", "Done: \u{1b}[31mgreen\u{1b}[0m again")]},
    ]);
    let params = json!({"session": "ses_two_c", "purpose": "turn", "keep": 0, "ops": 0,
        "applied": 0, "messages": messages});
    let said = serve(&desk, &[json!({"id": 1, "method": "sync", "params": params})]);
    assert!(said.stdout.contains("\"result\""), "{}{}", said.stdout, said.stderr);
    desk
}

#[test]
fn a_log_shows_what_was_said() {
    let desk = with_a_log();
    says!(desk, ["log", "f3"], @r#"
    exit 0
    f3 "Fix the build": 2 messages

    ## 1 · user · 2023-11-14T22:13:20.000Z

    Fix the build

    ## 2 · assistant · 2023-11-14T22:13:21.000Z

    Done: \u{1b}[31mgreen\u{1b}[0m again
    "#);
    let log = desk.json(&["log", "f3", "--from", "2", "--count", "1"]);
    assert_eq!(log["total"], 2);
    assert_eq!(log["positions"], json!([2]));
    assert_eq!(log["messages"][0]["info"]["id"], "msg_4");
}
