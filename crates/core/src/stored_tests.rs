use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::transcript::CallState;

fn read(message: &Value) -> Message {
    let read = Message::read(&message.to_string()).unwrap();
    assert_eq!(read, Message::of(message.clone()), "parsed before or not");
    read
}

fn whole() -> Value {
    json!({
        "info": {
            "id": "msg_1", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_0",
            "time": {"created": 10, "completed": 20}, "modelID": "large", "providerID": "acme",
            "mode": "plan", "cost": 0.25, "finish": "stop", "summary": true,
            "error": {"name": "APIError", "data": {}},
            "tokens": {"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}},
        },
        "parts": [
            {"id": "p1", "messageID": "msg_1", "type": "step-start"},
            {"id": "p2", "type": "text", "text": "Hi", "synthetic": true, "ignored": true},
            {"id": "p3", "type": "reasoning", "text": "so", "metadata": {"acme": {"signature": "c2"}}},
            {"id": "p4", "type": "tool", "callID": "c", "tool": "bash", "state": {
                "status": "completed", "input": {"command": "make"}, "output": "built", "title": "make",
                "metadata": {"exit": 2}, "attachments": [{"url": "data:"}],
                "time": {"start": 11, "end": 12, "compacted": 13}}},
            {"id": "p5", "type": "file", "filename": "a.png", "mime": "image/png"},
            {"id": "p6", "type": "compaction", "tail_start_id": "msg_9", "auto": true},
            {"type": "subtask", "prompt": "look"},
            {"id": "p8", "type": "unreadable", "text": "{"},
            {"id": "p9", "type": "patch", "files": ["a"], "text": "new"},
            ["no part"],
        ],
    })
}

#[test]
fn all_that_readers_need_is_taken_from_a_message() {
    let message = read(&whole());
    let Message { id, author, created, completed, model, provider, agent, cost, .. } = &message;
    assert_eq!((id.as_str(), author.as_ref()), ("msg_1", Some(&Author::Assistant)));
    assert_eq!((*created, *completed, *cost), (Some(10), Some(20), Some(0.25)));
    let names = [model, provider, agent, &message.finish].map(|name| name.as_deref());
    assert_eq!(names, [Some("large"), Some("acme"), Some("plan"), Some("stop")]);
    assert_eq!((message.tokens.sent(), message.tokens.cache_read), (10, Some(4)));
    assert_eq!((message.tokens.output, message.tokens.reasoning), (Some(2), Some(3)));
    assert_eq!(message.error, Some(json!({"name": "APIError", "data": {}})));
    assert_eq!((message.is_summary, message.kind()), (true, MessageKind::Normal), "it failed");
    let [start, text, reasoning, tool, file, compaction, subtask, unreadable, patch, odd] =
        message.parts()
    else {
        panic!("{message:?}")
    };
    assert_eq!(start.body, PartBody::Mark);
    assert_eq!((text.id.as_str(), text.text(), text.own_text()), ("p2", Some("Hi"), None));
    assert!(matches!(&reasoning.body, PartBody::Reasoning { text, sealed: true } if text == "so"));
    let call = tool.call().unwrap();
    assert_eq!((call.made.id.as_str(), call.made.tool.as_str()), ("c", "bash"));
    assert_eq!((call.made.began, call.made.ended, call.made.exit), (Some(11), Some(12), Some(2)));
    assert_eq!((call.output(), call.result()), (Some("built"), Some("built")));
    assert_eq!(
        (&call.made.input["command"], call.status.as_deref()),
        (&json!("make"), Some("completed"))
    );
    assert!(call.is_cleared && call.has_attachments && call.metadata["exit"] == 2);
    let is_file = |part: &Part| matches!(&part.body, PartBody::File { name: Some(name), .. } if name == "a.png");
    assert!(is_file(file));
    assert_eq!(message.kept_from(), Some("msg_9"));
    assert!(matches!(&compaction.body, PartBody::Asked(Asked::Compaction { .. }, _)));
    assert!(
        matches!(&subtask.body, PartBody::Asked(Asked::Subagent, fields) if fields["prompt"] == "look")
    );
    assert_eq!(unreadable.body, PartBody::Unreadable("{".to_owned()));
    assert_eq!(
        patch.body,
        PartBody::Other(whole()["parts"][8].clone()),
        "with its fields in order"
    );
    assert_eq!(patch.words(), "new");
    assert_eq!(odd.body, PartBody::Other(json!(["no part"])));
}

#[test]
fn users_messages_name_the_model_that_they_are_for_and_may_ask_for_a_compaction() {
    let asks = json!({
        "info": {"id": "m", "role": "user", "model": {"modelID": "large"}, "summary": {"diffs": []}},
        "parts": [{"type": "compaction"}],
    });
    let message = read(&asks);
    assert_eq!((message.model.as_deref(), message.for_model.as_deref()), (None, Some("large")));
    assert_eq!((message.is_summary, message.kind()), (false, MessageKind::CompactionRequest));
    let of_other = json!({"info": {"role": "system"}, "parts": [{"type": "compaction"}]});
    let message = read(&of_other);
    assert_eq!(message.author.as_ref().map(Author::as_str), Some("system"));
    assert_eq!((message.role(), message.kind()), (Role::Assistant, MessageKind::Normal));
}

#[test]
fn a_failed_call_has_a_result_but_no_output_and_one_of_which_nothing_is_known_no_status() {
    let call = |fields: Value| {
        let message = read(&json!({"parts": [fields]}));
        message.calls().next().cloned().unwrap()
    };
    let failed = call(json!({"type": "tool", "state": {"status": "error", "error": "no"}}));
    assert_eq!((failed.output(), failed.result()), (None, Some("no")));
    let bare = call(json!({"type": "tool", "tool": "bash", "state": 5}));
    assert_eq!((bare.status, bare.made.state), (None, CallState::Open));
    // A call is known by its id where a program leaves out its type.
    let typeless = call(json!({"callID": "c", "state": {"status": "completed"}}));
    assert_eq!((typeless.made.id.as_str(), typeless.made.state), ("c", CallState::Completed));
    // A program may write the fields in any order.
    let reordered = call(json!({"state": {"status": "completed", "output": "x"}, "type": "tool"}));
    assert_eq!(reordered.output(), Some("x"));
}

#[test]
fn a_message_without_a_list_of_parts_is_told_from_one_with_an_empty_one() {
    assert_eq!(read(&json!({"info": {}, "parts": []})).parts, Some(Vec::new()));
    for odd in [json!({"parts": "none"}), json!({"info": 5}), json!([]), json!(7), Value::Null] {
        assert_eq!(read(&odd), Message::default(), "{odd}");
    }
    assert_eq!(Message::read("{\"parts\": ["), None);
}

#[test]
fn a_name_that_stands_twice_and_half_a_character_are_read_all_the_same() {
    let twice = r#"{"info": {"id": "a", "id": "b", "role": "user"}, "parts": []}"#;
    assert_eq!(Message::read(twice).unwrap().id, "b");
    let half = r#"{"info": {"id": "a"}, "parts": [{"type": "text", "text": "x\ud83d"}]}"#;
    assert_eq!(Message::read(half).unwrap().parts()[0].text(), Some("x\u{fffd}"));
}

#[test]
fn a_message_that_stands_for_another_is_read_as_such() {
    let message = Message::read(&without_message("m", Some("user"), "{")).unwrap();
    assert_eq!((message.id.as_str(), message.role()), ("m", Role::User));
    assert_eq!(message.parts()[0].body, PartBody::Unreadable("{".to_owned()));
    assert_eq!(Message::read(&purged("m", 5)).unwrap().parts(), []);
    let broken = br#"{"info":{"id":"m","role":"user"},"parts":[}"#;
    assert_eq!(beginning(broken), (Some("m".to_owned()), Some("user".to_owned())));
}

#[test]
fn a_narrowed_message_keeps_some_parts_and_no_records() {
    let json = json!({"info": {"id": "m"}, "parts": [1, 2, 3], "recorded": {"records": []}});
    let narrowed = narrowed(&json.to_string(), &[0, 2]).unwrap();
    assert_eq!(narrowed, json!({"info": {"id": "m"}, "parts": [1, 3]}).to_string());
}

/// Any value, in place of any other.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(Value::from),
        "[a-z\u{e9}\"\\\\]{0,6}".prop_map(Value::from),
    ];
    let name = prop_oneof![Just("type".to_owned()), Just("text".to_owned()), "[a-z]{1,4}"];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..3)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, it)| pointers(it, &format!("{at}/{name}"), found));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(place, it)| pointers(it, &format!("{at}/{place}"), found));
        }
        _ => {}
    }
}

proptest! {
    /// A value of any type anywhere leaves the rest of a message as it was read.
    #[test]
    fn odd_values_are_read_as_missing_ones(odd in value(), at in any::<prop::sample::Index>()) {
        let mut message = whole();
        let mut places = Vec::new();
        pointers(&message, "", &mut places);
        let place = at.get(&places).clone();
        *message.pointer_mut(&place).unwrap() = odd;
        let changed = read(&message);
        if !place.starts_with("/parts") && !place.is_empty() {
            prop_assert_eq!(changed.parts, read(&whole()).parts);
        } else if place.starts_with("/parts/") {
            let (of, before) = (changed.parts(), read(&whole()));
            let part = place.split('/').nth(2).unwrap().parse::<usize>().unwrap();
            prop_assert_eq!(of.len(), before.parts().len());
            for (at, it) in of.iter().enumerate().filter(|(at, _)| *at != part) {
                prop_assert_eq!(it, &before.parts()[at]);
            }
        }
    }
}
