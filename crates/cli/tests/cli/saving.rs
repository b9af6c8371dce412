//! The size of requests, and estimates of it without callstack.

use serde_json::{Value, json};

use super::host::serve;
use super::test_env::TestEnv;

const LATER: i64 = 4_000_000_000_000;

fn message(id: &str, role: &str, parts: &[Value], request: Option<(u64, u64)>) -> Value {
    let mut info = json!({"id": id, "role": role, "sessionID": "ses_a",
        "time": {"created": 1_700_000_000_000_i64, "completed": LATER}});
    if let Some((new, cached)) = request {
        info["tokens"] = json!({"input": new, "output": 9, "reasoning": 0,
            "cache": {"read": cached, "write": 0}});
    }
    json!({"info": info, "parts": parts})
}

fn text(text: &str) -> Value {
    json!({"id": format!("prt_{}", text.len()), "type": "text", "text": text})
}

fn call(id: &str, tool: &str, output: &str) -> Value {
    json!({"id": format!("prt_{id}"), "type": "tool", "tool": tool, "callID": id, "state": {
        "status": "completed", "input": {}, "output": output, "time": {"start": 1, "end": 2}}})
}

fn sync(keep: usize, messages: &[Value]) -> Value {
    json!({"id": 1, "method": "sync", "params": {"session": "ses_a", "purpose": "turn", "keep": keep,
        "ops": 0, "applied": 0, "messages": messages}})
}

fn tool(name: &str, id: &str, args: &Value) -> Value {
    json!({"id": 2, "method": "tool", "params": {"name": name, "args": args, "session": "ses_a",
        "message": format!("msg_{id}"), "call": id}})
}

/// A session with a frame in which much was read, carried on by two processes.
fn worked() -> TestEnv {
    let desk = TestEnv::new();
    let user = message("msg_c0", "user", &[text("Find out what parses dates")], None);
    let said =
        json!({"session": "ses_a", "message": "msg_c0", "text": "Find out what parses dates"});
    let pushed = serve(
        &desk,
        &[
            json!({"id": 3, "method": "message", "params": said}),
            sync(0, std::slice::from_ref(&user)),
            tool("stack_frame_push", "c1", &json!({"title": "Look", "successCriteria": "known"})),
        ],
    );
    let pushed: Value = serde_json::from_str(pushed.stdout.lines().last().unwrap()).unwrap();
    let mut push = call("c1", "stack_frame_push", pushed["result"]["output"].as_str().unwrap());
    push["state"]["metadata"] = pushed["result"]["metadata"].clone();
    let push = message("msg_c1", "assistant", &[push], Some((9_000, 0)));
    let content = "let day = parse(date);\n".repeat(800);
    let read = message("msg_c2", "assistant", &[call("c2", "read", &content)], Some((100, 9_000)));
    let pop = call("c3", "stack_frame_pop", "popped");
    let pop = message("msg_c3", "assistant", &[pop], Some((6_000, 9_100)));
    let after = message("msg_c4", "assistant", &[text("date.rs does.")], Some((300, 9_000)));
    let said = serve(
        &desk,
        &[
            sync(0, &[user, push, read]),
            tool("stack_frame_pop", "c3", &json!({"results": "date.rs parses dates"})),
            sync(3, &[pop]),
            json!({"method": "record", "params": {"session": "ses_a", "messages": [after]}}),
        ],
    );
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("\"op\""), "nothing was folded: {}", said.stdout);
    desk
}

#[test]
fn a_session_shows_what_its_requests_took_and_would_have_taken() {
    let desk = worked();
    let requests = desk.json(&["status", "--session", "ses_a"])["requests"].take();
    let session = &requests["session"];
    assert_eq!((&session["requests"], &session["sent"]), (&json!(4), &json!(42_500)));
    // 27,100 of them came from the cache.
    assert_eq!(session["billed"], json!(15_400.0 * 1.25 + 27_100.0 * 0.1));
    let shown = desk.ok(&["status", "--session", "ses_a"]);
    let without = session["estimatedWithout"]["sent"].as_u64().unwrap();
    // The output of 17,600 characters is in one request more, callstack's tools and guidance in none.
    assert!((39_000..43_000).contains(&without), "{requests:#}");
    assert_eq!((&requests["subagents"], &requests["total"]), (&json!(0), session));
    assert!(shown.contains("this session: 4 requests, 42,500 tokens sent"), "{shown}");
    assert!(shown.contains("the same without callstack, estimated: "), "{shown}");
    assert!(shown.contains("Frames have cost "), "it was too short for them: {shown}");
}

#[test]
fn the_end_of_a_process_logs_what_its_sessions_took() {
    let desk = worked();
    let log = std::fs::read_to_string(desk.project().join(".callstack/callstack.log")).unwrap();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("Session summed up")).collect();
    let [line] = lines[..] else { panic!("{log}") };
    for field in ["sessionID: \"ses_a\"", "requests: 4", "sent: 42500", "estimatedSentWithout: "] {
        assert!(line.contains(field), "{field} in {line}");
    }
}

#[test]
fn copies_of_what_another_session_was_answered_are_no_requests_of_a_fork() {
    let desk = TestEnv::new();
    let mut copied = message("msg_1", "assistant", &[text("It does.")], Some((9_000, 0)));
    copied["info"]["time"]["completed"] = json!(1_700_000_000_000_i64);
    let messages = [
        message("msg_0", "user", &[text("Find out what parses dates")], None),
        copied,
        message("msg_2", "user", &[text("Go on")], None),
        message("msg_3", "assistant", &[text("I do.")], Some((100, 9_000))),
    ];
    let said = serve(&desk, &[sync(0, &messages)]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let status = desk.json(&["status", "--session", "ses_a"]);
    assert_eq!(status["requests"]["session"]["requests"], 1, "{status:#}");
    assert_eq!(status["requests"]["session"]["sent"], 9_100);
}
