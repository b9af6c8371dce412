//! Exports of OpenCode in a store.

use callstack_engine::{Engine, Settings, SystemWorld};
use callstack_hosts::import::{activities, import};
use serde_json::{Value, json};

use crate::of_text;

fn message(id: &str, role: &str, text: &str) -> Value {
    let info = json!({"id": id, "role": role, "sessionID": "ses_7",
        "time": {"created": 1000, "completed": 1010}});
    json!({"info": info, "parts": [{"type": "text", "text": text}]})
}

/// Old versions record when an answer was finished, not how.
#[test]
fn a_summary_that_does_not_say_how_it_ended_is_kept_as_one() {
    let mut summary = message("msg_3", "assistant", "The basket is read.");
    summary["info"]["summary"] = true.into();
    let messages = [
        message("msg_1", "user", "Read the basket"),
        message("msg_2", "assistant", "It is read."),
        summary,
        message("msg_4", "user", "Sort it"),
    ];
    let info = json!({"id": "ses_7", "directory": "/home/ada/shop", "title": "Basket"});
    let recording = of_text(&json!({"info": info, "messages": messages}).to_string());
    let folder = tempfile::tempdir().unwrap();
    let world = Box::new(SystemWorld);
    let engine = Engine::open_unchecked(folder.path(), Settings::default(), world).unwrap();
    engine.read_messages_with(activities);
    import(&engine, &[recording], &mut |_, _| {}).unwrap();
    let stored = engine.messages("ses_7").unwrap();
    let kept = stored.iter().find(|message| message.id == "msg_3").unwrap();
    assert!(kept.json.contains("\"finish\":\"stop\""), "{}", kept.json);
}
