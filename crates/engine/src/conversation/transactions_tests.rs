//! The number of transactions that a request takes.

use callstack_core::transcript::{
    Anchor, CallState, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{HostMessage, SyncAnswer, SyncRequest};
use crate::call::Caller;
use crate::world::Simulated;
use crate::{Engine, Settings, SystemRequest, operations};

const SESSION: &str = "ses_1";

/// A host that shows each message once, as long as its process lives.
struct Host {
    folder: TempDir,
    engine: Engine,
    shown: Vec<HostMessage>,
    /// Messages that the process knows, the operations of its last answer and the serial of that.
    known: usize,
    ops: usize,
    serial: i64,
}

fn open(folder: &TempDir) -> Engine {
    let world = Box::new(Simulated::default());
    Engine::open_unchecked(folder.path(), Settings::default(), world).unwrap()
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(&folder);
        Self { folder, engine, shown: Vec::new(), known: 0, ops: 0, serial: 0 }
    }

    fn restart(&mut self) {
        self.engine = open(&self.folder);
        (self.known, self.ops) = (0, 0);
    }

    fn show(&mut self, role: Role, body: PartBody, words: &str) -> String {
        let id = format!("m{}", self.shown.len());
        let parts = vec![Part { id: format!("{id}_0"), body }];
        let message = Message { id: id.clone(), role, standing: MessageKind::Normal, parts };
        let shown = HostMessage::of(message, format!("{{\"id\":\"{id}\"}}"));
        self.shown.push(HostMessage { words: words.to_owned(), ..shown });
        id
    }

    /// Shows only so many of the messages from now on.
    fn undo(&mut self, keep: usize) {
        self.shown.truncate(keep);
        self.known = self.known.min(keep);
    }

    fn user(&mut self) {
        let body = PartBody::Text { synthetic: false, chars: 5, head: "Build".to_owned() };
        self.show(Role::User, body, "Build");
    }

    fn step(&mut self, tool: &str) -> Anchor {
        let call = format!("call_{}", self.shown.len());
        let body = PartBody::from(ToolCall::new(call.clone(), tool, CallState::Completed));
        let message = self.show(Role::Assistant, body, "");
        Anchor { message: Some(message), call: Some(call) }
    }

    fn operate(&mut self, name: &str, arguments: Value) {
        let anchor = self.step(name);
        let caller = Caller {
            session: SESSION.to_owned(),
            host: "test".to_owned(),
            anchor,
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        operations::find(name).unwrap().run(&self.engine, &caller, arguments).unwrap();
    }

    /// Asks for the operations of a request. Returns the numbers of transactions that read the store and that changed
    /// it.
    fn request(&mut self) -> (usize, usize) {
        let request = SyncRequest {
            session: SESSION.to_owned(),
            host: "test".to_owned(),
            compacting: false,
            keep: self.known,
            shown: self.shown[self.known..].to_vec(),
            ops: self.ops,
            applied: self.serial,
            newest: self.serial,
        };
        let before = self.engine.kernel.transactions.counted();
        let answer = self.engine.sync(request).unwrap();
        let after = self.engine.kernel.transactions.counted();
        let SyncAnswer::Ops { serial, keep, ops } = answer else { panic!("{answer:?}") };
        (self.known, self.ops, self.serial) = (self.shown.len(), keep + ops.len(), serial);
        (after.0 - before.0, after.1 - before.1)
    }
}

#[test]
fn a_request_takes_few_transactions() {
    let mut host = Host::new();
    host.user();
    let first = host.request();
    host.engine.system(&SystemRequest { session: SESSION.to_owned(), limit: None }).unwrap();
    host.step("bash");
    let with_prompt = host.request();
    host.step("bash");
    let step = host.request();
    host.operate("stack_frame_push", json!({"title": "parser", "successCriteria": "it parses"}));
    let push = host.request();
    host.step("bash");
    let inside = host.request();
    host.operate("stack_frame_pop", json!({"results": "done"}));
    let pop = host.request();
    assert!(host.ops > 0, "the frame is not folded");
    host.step("bash");
    let after = host.request();
    host.restart();
    let restarted = host.request();
    host.user();
    let words = host.request();
    host.undo(3);
    let undone = host.request();
    let counts = [
        ("the first words", first),
        ("the first step with a system prompt", with_prompt),
        ("a step", step),
        ("a push", push),
        ("a step in the frame", inside),
        ("a pop", pop),
        ("a step after it", after),
        ("all, in another process", restarted),
        ("words of the user", words),
        ("an undo of the push and all after it", undone),
    ];
    let expected = [
        ("the first words", (6, 1)),
        ("the first step with a system prompt", (3, 0)),
        ("a step", (2, 0)),
        ("a push", (2, 0)),
        ("a step in the frame", (3, 0)),
        ("a pop", (3, 2)),
        ("a step after it", (3, 0)),
        ("all, in another process", (6, 0)),
        ("words of the user", (2, 0)),
        ("an undo of the push and all after it", (5, 1)),
    ];
    assert_eq!(counts, expected);
}
