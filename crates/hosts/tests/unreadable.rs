//! Messages that can't be read, in a session that goes on: whatever is in the place of one message, the others are
//! stored, folded and found as they are without it.

use std::io::Cursor;

use callstack_engine::{Engine, Settings, SystemWorld};
use callstack_hosts::import::activities;
use callstack_hosts::opencode::serve;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

const BAD: &str = "msg_3";

/// The replacement of a bad message.
#[derive(Clone, Debug)]
struct Bad(String);

struct Session {
    engine: Result<Engine, callstack_engine::EngineError>,
    _folder: TempDir,
}

impl Session {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine =
            Engine::open_unchecked(folder.path(), Settings::default(), Box::new(SystemWorld))
                .unwrap();
        engine.read_messages_with(activities);
        Self { engine: Ok(engine), _folder: folder }
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn ask(&self, method: &str, params: &str) -> Value {
        let line = format!("{{\"id\":1,\"method\":\"{method}\",\"params\":{params}}}\n");
        let mut answer = Vec::new();
        serve(&self.engine, "0", Cursor::new(line), &mut answer, |_| {}).unwrap();
        serde_json::from_slice(&answer).unwrap()
    }

    fn sync(&self, messages: &[String]) -> Value {
        let messages = messages.join(",");
        let params = format!("{{\"session\":\"ses\",\"keep\":0,\"messages\":[{messages}]}}");
        let answer = self.ask("sync", &params);
        assert!(answer["result"]["ops"].is_array(), "{answer}");
        answer["result"].clone()
    }

    fn tool(&self, name: &str, args: &Value, place: usize) -> Value {
        let params = json!({ "name": name, "args": args, "session": "ses", "message": format!("msg_{place}"),
            "call": format!("call_{place}"), "agent": "build" });
        let answer = self.ask("tool", &params.to_string());
        assert!(answer["result"]["metadata"]["callstack"]["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Works on a frame that is pushed and popped, with `bad` in its middle; returns the messages that the host has,
    /// without that one, and the operations on them.
    fn work(&self, bad: Option<&Bad>) -> (Vec<String>, Value, String) {
        self.ask("message", r#"{"session":"ses","message":"msg_0","text":"do it"}"#);
        let mut messages = vec![said("msg_0", "do it")];
        self.sync(&messages);
        let opened =
            self.tool("stack_frame_push", &json!({ "title": "T", "successCriteria": "c" }), 1);
        messages.push(call(1, "stack_frame_push", &opened));
        messages.push(call(2, "bash", &json!({ "output": "the parser is zanzibar" })));
        messages.extend(bad.map(|bad| bad.0.clone()));
        messages.push(call(4, "bash", &json!({ "output": "x ".repeat(6_000) })));
        self.sync(&messages);
        let closed = self.tool("stack_frame_pop", &json!({ "results": "found" }), 5);
        let text = closed["output"].as_str().unwrap().to_owned();
        messages.push(call(5, "stack_frame_pop", &closed));
        let mut answer = self.sync(&messages);
        for op in answer["ops"].as_array_mut().unwrap() {
            op.as_object_mut().unwrap().remove("text");
        }
        if bad.is_some() {
            messages.remove(3);
        }
        (messages, answer["ops"].clone(), text)
    }
}

fn said(id: &str, text: &str) -> String {
    json!({ "info": { "id": id, "role": "user" }, "parts": [{ "id": format!("{id}_p"), "type": "text", "text": text }] })
        .to_string()
}

fn call(place: usize, tool: &str, result: &Value) -> String {
    base(&format!("msg_{place}"), place, tool, result).to_string()
}

fn base(id: &str, place: usize, tool: &str, result: &Value) -> Value {
    let metadata = &result["metadata"];
    json!({
        "info": { "id": id, "role": "assistant", "tokens": { "input": 5, "output": 5, "cache": { "read": 1, "write": 1 } } },
        "parts": [{ "id": format!("{id}_p"), "type": "tool", "tool": tool, "callID": format!("call_{place}"),
            "state": { "status": "completed", "input": { "command": "make" }, "output": result["output"],
                "metadata": metadata, "time": { "start": 1, "end": 2 } } }],
    })
}

/// Compares a session with a bad message with one without it.
fn goes_on(bad: &Bad) {
    let (with, without) = (Session::new(), Session::new());
    let (messages, ops, text) = with.work(Some(bad));
    let (_, expected, whole) = without.work(None);
    assert_eq!(ops, expected, "{bad:?}");
    assert_ne!(expected, json!([]), "nothing is folded");
    assert!(whole.contains("Every step of it can be read again"), "{whole}");

    let stored = with.engine().messages("ses").unwrap();
    let others: Vec<_> = stored.iter().filter(|it| messages.contains(&it.json)).collect();
    assert_eq!(others.len(), messages.len(), "{bad:?}: {stored:#?}");
    let kept: Vec<_> = stored.iter().filter(|it| !messages.contains(&it.json)).collect();
    let [kept] = &kept[..] else { panic!("{bad:?}: {kept:#?}") };
    let as_it_came = kept.as_it_came.as_deref().unwrap_or(kept.json.as_bytes());
    let held = serde_json::from_str::<Value>(&kept.json).unwrap();
    assert!(
        as_it_came == bad.0.as_bytes() || held["parts"][0]["text"] == bad.0.as_str(),
        "{kept:#?}"
    );
    assert_eq!(
        text.contains("Not every step of it can be read again: one message"),
        !kept.is_whole(),
        "{text}"
    );

    let frame = with.engine().resolve("f2").unwrap();
    let log: String = with.engine().log(&frame).unwrap().iter().map(|it| it.json.clone()).collect();
    assert!(log.contains("zanzibar"), "{log}");
    let log = with.tool("stack", &json!({ "op": "stack_log", "args": { "frame": "f2" } }), 6);
    let log = log["output"].as_str().unwrap();
    assert!(log.contains("zanzibar"), "{log}");
    assert_eq!(log.contains("be read as"), !kept.is_whole(), "{log}");
}

fn changed(path: &str, value: &str) -> Bad {
    let mut message = base(BAD, 3, "bash", &json!({ "output": "o", "metadata": { "exit": 0 } }));
    let (holder, name) = path.rsplit_once('/').unwrap();
    match message.pointer_mut(holder).unwrap() {
        Value::Array(parts) => parts[0] = json!("<here>"),
        holder => holder[name] = json!("<here>"),
    }
    Bad(message.to_string().replace("\"<here>\"", value))
}

#[test]
fn the_session_goes_on_after_each_of_them() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut bad = vec![
        changed("/info/tokens/input", "-5"),
        changed("/info/tokens/input", "1.5"),
        changed("/info/tokens/output", "null"),
        changed("/info/tokens/cache", "1e999"),
        changed("/parts", "null"),
        changed("/info/path", r#""\ud83d""#),
        changed("/info/id", "null"),
        changed("/info/role", "5"),
    ];
    for value in [r#""cut \ud83d""#, r#"{"\ud83d":1}"#, &deep, "1e999", "null"] {
        for field in ["output", "input", "metadata"] {
            bad.push(changed(&format!("/parts/0/state/{field}"), value));
        }
    }
    bad.extend(["null", "5", "[]", "{}", r#""x\ud83d""#].map(|raw| Bad(raw.to_owned())));
    let twice = changed("/info/cost", "0").0.replacen("{\"info\":", "{\"info\":5,\"info\":", 1);
    bad.push(Bad(twice));
    for bad in bad {
        goes_on(&bad);
    }
}

fn any_change() -> impl Strategy<Value = Bad> {
    let paths = [
        "/info",
        "/parts",
        "/info/id",
        "/info/role",
        "/info/tokens",
        "/info/tokens/cache",
        "/info/tokens/cache/read",
        "/info/summary",
        "/info/error",
        "/info/new",
        "/new",
        "/parts/0",
        "/parts/0/id",
        "/parts/0/type",
        "/parts/0/tool",
        "/parts/0/callID",
        "/parts/0/state",
        "/parts/0/state/status",
        "/parts/0/state/output",
        "/parts/0/state/metadata/callstack",
        "/parts/0/state/time",
        "/parts/0/state/input/command",
    ];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?[0-9]{1,30}(e[0-9]{1,3})?".prop_map(|number| {
            let digits = number.trim_start_matches(['-', '0']);
            if digits.starts_with(|char: char| char.is_ascii_digit()) {
                digits.to_owned()
            } else {
                "0".to_owned()
            }
        }),
        "(\\\\ud[89c][0-9a-f]{2}|[a-z ]|😀|\\\\n){0,6}".prop_map(|text| format!("\"{text}\"")),
    ];
    let value = leaf.prop_recursive(3, 12, 3, |inner| {
        let key = (inner.clone(), 0..200_usize);
        prop_oneof![
            proptest::collection::vec(inner, 0..3).prop_map(|all| format!("[{}]", all.join(","))),
            key.prop_map(|(value, depth)| {
                format!("{}{{\"a\":{value},\"a\":1}}{}", "[".repeat(depth), "]".repeat(depth))
            }),
        ]
    });
    (proptest::sample::select(paths.to_vec()), value)
        .prop_map(|(path, value)| changed(path, &value))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn no_message_keeps_the_others_from_being_read(bad in any_change()) {
        goes_on(&bad);
    }
}
