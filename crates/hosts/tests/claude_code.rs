//! What Claude Code writes beside what the fixtures hold.

use callstack_hosts::recording::Recorded;
use serde_json::{Value, json};

use crate::of_lines;

fn line(kind: &str, uuid: &str, parent: Option<&str>) -> Value {
    json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "5e55-0007",
        "isSidechain": false, "cwd": "/home/ada/shop", "timestamp": "2026-03-01T10:00:01.000Z"})
}

fn user(uuid: &str, parent: Option<&str>, content: impl Into<Value>) -> Value {
    let mut line = line("user", uuid, parent);
    line["message"] = json!({"role": "user", "content": content.into()});
    line
}

#[test]
fn content_of_an_unknown_kind_is_counted() {
    let content = json!([{"type": "text", "text": "Look"}, {"type": "search_result", "title": "x"}]);
    let recording = of_lines(&[user("u1", None, content), user("u2", Some("u1"), 7)]);
    assert_eq!(recording.skipped.kinds["user: part search_result"], 1);
    assert_eq!(recording.skipped.kinds["user: part"], 1);
    assert!(Recorded::is_of_user(&recording.messages[0]));
}
