//! The protocol, spoken by a host that is not OpenCode: a radio, whose messages and events have other names and
//! shapes.

use std::cell::Cell;
use std::io::Cursor;
use std::path::Path;
use std::rc::Rc;

use callstack_core::transcript::{CallState, Message, MessageKind, Part, PartBody, Role, ToolCall};
use callstack_engine::{Engine, EngineError, Failure, HostMessage, Settings, SystemWorld};
use callstack_hosts::protocol::{Host, Notify, SessionEvent, VERSION, read_requests, serve};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Counts the channels that were silenced while frame mode is off.
#[derive(Default)]
struct Radio {
    forgotten: Rc<Cell<usize>>,
}

/// `{"no": 1, "from": "pilot", "said": "…"}`, and what a call answered under `call`, `asked` and `heard`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Transmission {
    no: u64,
    from: String,
    said: String,
    call: Option<String>,
    asked: String,
    heard: String,
}

#[derive(Deserialize)]
struct Signal {
    channel: String,
    kind: String,
    #[serde(default)]
    relays: Option<String>,
}

impl Host for Radio {
    type Event = Signal;

    const NAME: &str = "radio";
    const INSTALL: &str = "Tune in again.";
    const RESTART: &str = "Switch it off and on.";

    fn decode(&self, message: &[u8], _: &Path) -> HostMessage {
        let heard: Transmission = serde_json::from_slice(message).unwrap_or_default();
        let id = format!("no_{}", heard.no);
        let is_pilot = heard.from == "pilot";
        let chars = heard.said.chars().count();
        let (body, part) = match &heard.call {
            Some(call) => (
                PartBody::from(ToolCall::new(
                    call.clone(),
                    heard.asked.clone(),
                    CallState::Completed,
                )),
                json!({ "type": "tool", "callID": call, "tool": heard.asked,
                    "state": { "status": "completed", "input": {}, "output": heard.heard } }),
            ),
            None => (
                PartBody::Text { synthetic: false, chars, head: heard.said.clone() },
                json!({ "type": "text", "text": heard.said }),
            ),
        };
        let (role, named) =
            if is_pilot { (Role::User, "user") } else { (Role::Assistant, "assistant") };
        let parts = vec![Part { id: "part".to_owned(), body }];
        let message = Message { id: id.clone(), role, standing: MessageKind::Normal, parts };
        let mut part = part;
        part["id"] = "part".into();
        let kept = json!({ "info": { "id": id, "role": named }, "parts": [part] });
        let mut shown = HostMessage::of(message, kept.to_string());
        shown.words = heard.said;
        shown.said = heard.heard.len() / 4;
        shown
    }

    fn written(&self, args: &Value, _: &Value) -> Vec<String> {
        args["tape"].as_str().map(str::to_owned).into_iter().collect()
    }

    fn is_aside(&self, prompt: &str) -> bool {
        prompt.starts_with("Name this flight")
    }

    fn event(&mut self, event: Signal, notify: &mut Notify<'_>) -> Result<(), EngineError> {
        if let Some(parent) = event.relays {
            notify(&event.channel, SessionEvent::Child { parent, title: "Relay".to_owned() })?;
        }
        match event.kind.as_str() {
            "over" => notify(&event.channel, SessionEvent::Idle),
            "mayday" => {
                let failure = Failure { stopped: false, message: "the engine is out".to_owned() };
                notify(&event.channel, SessionEvent::Failed(failure))
            }
            "silenced" => notify(&event.channel, SessionEvent::Deleted),
            _ => Ok(()),
        }
    }

    fn deleted(&mut self, event: Signal) -> Option<String> {
        let channel = (event.kind == "silenced").then_some(event.channel);
        self.forgotten.set(self.forgotten.get() + usize::from(channel.is_some()));
        channel
    }
}

struct Flight {
    engine: Result<Engine, EngineError>,
    _folder: TempDir,
}

impl Flight {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Box::new(SystemWorld);
        let engine = Engine::open_unchecked(folder.path(), settings, world);
        Self { engine: Ok(engine.unwrap()), _folder: folder }
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    /// The answers to some lines, and what was logged meanwhile.
    fn lines(&self, lines: &str) -> (Vec<Value>, Vec<String>) {
        let (mut answers, mut logged) = (Vec::new(), Vec::new());
        let log = |line: &str| logged.push(line.to_owned());
        serve(Radio::default(), &self.engine, "7.0", Cursor::new(lines), &mut answers, log)
            .unwrap();
        let answers = String::from_utf8(answers).unwrap();
        (answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), logged)
    }

    fn ask(&self, method: &str, params: &Value) -> Value {
        let line = json!({ "id": 1, "method": method, "params": params });
        let mut answers = self.lines(&format!("{line}\n")).0;
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0)["result"].take()
    }

    fn sync(&self, messages: &[Value]) -> Value {
        self.ask("sync", &json!({ "session": "tower", "keep": 0, "messages": messages }))
    }

    fn tool(&self, no: u64, name: &str, args: &Value) -> Value {
        let (message, call) = (format!("no_{no}"), format!("call_{no}"));
        let params = json!({ "name": name, "args": args, "session": "tower", "message": message,
            "call": call });
        let answer = self.ask("tool", &params);
        json!({ "no": no, "from": "tower", "call": call, "asked": name, "heard": answer["output"] })
    }
}

#[test]
fn a_session_is_followed_and_its_finished_frame_folded() {
    let flight = Flight::new();
    let greeting = flight.ask("hello", &json!({}));
    assert_eq!((&greeting["protocol"], &greeting["version"]), (&json!(VERSION), &json!("7.0")));
    assert!(!greeting["tools"].as_array().unwrap().is_empty());

    let asked = json!({ "no": 1, "from": "pilot", "said": "Find the runway" });
    let mut all = vec![asked];
    assert_eq!(flight.sync(&all)["ops"], json!([]));
    let args = json!({ "title": "Look for it", "successCriteria": "found" });
    all.push(flight.tool(2, "stack_frame_push", &args));
    let looked = json!({ "no": 3, "from": "tower", "call": "call_3", "asked": "radar",
        "heard": "fog ".repeat(4_000) });
    all.push(looked);
    flight.sync(&all);
    all.push(flight.tool(4, "stack_frame_pop", &json!({ "results": "Runway 27 is free." })));
    let answer = flight.sync(&all);
    let ops = answer["ops"].to_string();
    assert!(ops.contains("\"no_3\"") && ops.contains("\"cut\""), "{answer}");

    let engine = flight.engine();
    assert!(engine.has_recorded("tower", "radio").unwrap());
    assert!(!engine.has_recorded("tower", "opencode").unwrap());
    let stored = engine.messages("tower").unwrap();
    let ids: Vec<&str> = stored.iter().map(|message| message.id.as_str()).collect();
    assert_eq!(ids, ["no_1", "no_2", "no_3", "no_4"]);
    let frame = engine.resolve("f2").unwrap();
    assert_eq!(frame.results.as_deref(), Some("Runway 27 is free."));
}

#[test]
fn a_host_says_which_requests_frames_mean_nothing_to() {
    let flight = Flight::new();
    flight.sync(&[json!({ "no": 1, "from": "pilot", "said": "Hello" })]);
    let texts = |head: &str| {
        flight.ask("system", &json!({ "session": "tower", "head": head }))["texts"].clone()
    };
    assert_eq!(texts("Name this flight"), json!([]));
    assert_ne!(texts("You are a tower"), json!([]));
    assert_ne!(texts("You are a title generator"), json!([]), "OpenCode's words are its own");
}

#[test]
fn events_become_what_happens_to_sessions() {
    let flight = Flight::new();
    flight.sync(&[json!({ "no": 1, "from": "pilot", "said": "Hello" })]);
    let signal = |params: Value| flight.ask("event", &params);
    signal(json!({ "channel": "relay", "kind": "on air", "relays": "tower" }));
    assert!(flight.engine().has_recorded("relay", "radio").unwrap());
    assert_eq!(flight.engine().sessions_started_by("tower").unwrap(), ["relay"]);
    assert!(signal(json!({ "channel": "relay", "kind": "over" })).is_object());
    assert!(signal(json!({ "channel": "relay", "kind": "silenced" })).is_object());
    let refused = flight.lines("{\"id\":3,\"method\":\"event\",\"params\":{\"kind\":\"over\"}}\n");
    let error = &refused.0[0]["error"];
    assert_eq!(error["kind"], "invalid");
    assert_eq!(error["hint"], Radio::INSTALL);
    assert!(error["message"].as_str().unwrap().contains("channel"), "{error}");
}

#[test]
fn while_frame_mode_is_off_the_host_is_asked_for_nothing_but_deleted_sessions() {
    let settings = Settings { frame_mode: false, ..Settings::default() };
    let flight = Flight::with(settings);
    let radio = Radio::default();
    let forgotten = Rc::clone(&radio.forgotten);
    let event = |id: usize, signal: &str| {
        let params = json!({ "channel": "relay", "kind": signal, "relays": "tower" });
        json!({ "id": id, "method": "event", "params": params })
    };
    let lines = format!("{}\n{}\n", event(1, "over"), event(2, "silenced"));
    let mut answers = Vec::new();
    serve(radio, &flight.engine, "7.0", Cursor::new(lines), &mut answers, |_| {}).unwrap();
    let answers = String::from_utf8(answers).unwrap();
    assert_eq!(answers, "{\"id\":1,\"result\":{}}\n{\"id\":2,\"result\":{}}\n");
    assert_eq!(forgotten.get(), 1);
    assert!(!flight.engine().has_recorded("relay", "radio").unwrap());
}

#[test]
fn what_can_not_be_answered_names_the_hosts_own_remedy() {
    let flight = Flight::new();
    let (answers, logged) = flight.lines(
        "static\n{\"id\":1,\"method\":5}\n{\"id\":2,\"method\":\"sing\"}\n{\"method\":\"sing\"}\n\
         {\"id\":4,\"method\":\"tool\",\"params\":{\"name\":\"fly\",\"session\":\"tower\",\"message\":null,\"call\":null}}\n",
    );
    let hints: Vec<(u64, &str)> = answers
        .iter()
        .map(|it| (it["id"].as_u64().unwrap(), it["error"]["hint"].as_str().unwrap()))
        .collect();
    assert_eq!(hints, [(1, Radio::INSTALL), (2, Radio::INSTALL), (4, Radio::RESTART)]);
    assert_eq!(logged.len(), 3, "{logged:?}");
    assert!(logged[2].starts_with("sing: there is no method `sing`"), "{logged:?}");
}

#[test]
fn messages_are_read_as_the_host_reads_them() {
    let lines = "{\"id\":1,\"method\":\"sync\",\"params\":{\"session\":\"tower\",\"keep\":0,\
         \"messages\":[{\"no\":8,\"from\":\"pilot\",\"said\":\"Hello\"},static]}}\n";
    let requests = read_requests(&Radio::default(), Cursor::new(lines), Path::new("")).unwrap();
    let shown = requests[0].as_ref().unwrap();
    let ids: Vec<&str> = shown.iter().map(|it| it.message.id.as_str()).collect();
    assert_eq!(ids, ["no_8", "no_0"]);
    assert_eq!(shown[0].words, "Hello");
}
