//! Agents are informed of changes by a person at a terminal that concern their work.

use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{HostMessage, Settings};
use serde_json::{Value, json};

use crate::plugin::Plugin;
use crate::support::{Project, caller};

const A: &str = "ses_a";

fn said(id: usize, role: Role) -> HostMessage {
    let (id, words) = (format!("msg_{id:03}"), "words".to_owned());
    let body = PartBody::Text { synthetic: false, chars: words.len(), head: words.clone() };
    let part = Part { id: format!("prt-{id}"), body };
    HostMessage {
        message: Message { id, role, standing: MessageKind::Normal, parts: vec![part] },
        json: json!({"words": words}).to_string(),
        broken_off: false,
        opened: Vec::new(),
        results: Vec::new(),
        tasks: Vec::new(),
        tokens: None,
        said: 0,
        heard: 0,
        returned: 0,
        summary: None,
        words,
    }
}

/// A session at its host, and a person at a terminal beside it.
struct TestEnv {
    project: Project,
    plugin: Plugin,
    shown: Vec<HostMessage>,
}

impl TestEnv {
    fn new() -> Self {
        let project = Project::with(Settings::default());
        project.user(A, "Build the shop");
        let mut desk = Self { project, plugin: Plugin::default(), shown: Vec::new() };
        desk.turn();
        desk
    }

    /// The user says something, and the agent answers.
    fn turn(&mut self) {
        self.shown.push(said(self.shown.len(), Role::User));
        self.request();
        self.shown.push(said(self.shown.len(), Role::Assistant));
    }

    fn request(&mut self) {
        self.plugin.sync(&self.project.engine, A, &self.shown);
    }

    fn outside(&self, name: &str, arguments: Value) -> Answer {
        let person = Caller { host: "cli".to_owned(), ..caller(A) };
        let anchor = callstack_core::transcript::Anchor { message: None, call: None };
        let operation = callstack_engine::operations::find(name).unwrap();
        let person = Caller { anchor, ..person };
        operation.run(&self.project.engine, &person, arguments).unwrap()
    }

    /// The notes that the agent is sent.
    fn notes(&self) -> Vec<String> {
        let notes = self.plugin.ops.iter().filter_map(|op| match op {
            FoldOp::Append { message, text } | FoldOp::Insert { after: message, text } => {
                Some(format!("at {message}:\n{text}"))
            }
            _ => None,
        });
        notes.collect()
    }
}

#[test]
fn it_is_announced_at_the_next_request_once_and_with_the_frame_that_is_open() {
    let mut desk = TestEnv::new();
    desk.outside(
        "stack_pin",
        json!({"text": "Never touch <main>.\nNot even once.", "frame": "f1"}),
    );
    desk.outside("stack_add_decision", json!({"decision": "SQLite", "frame": "f1"}));
    desk.outside("stack_frame_push", json!({"title": "Look after it", "successCriteria": "seen"}));
    desk.outside(
        "stack_frame_plan",
        json!({"children": [
        {"title": "Later", "successCriteria": "x", "context": "The key is in the drawer."}]}),
    );
    assert_eq!(desk.notes(), [""; 0], "nothing was requested since");
    desk.turn();
    insta::assert_snapshot!(desk.notes().join("\n"), @r#"
    at msg_002:
    [callstack] The user changed frames from outside this session:
    - pinned p1 in f1 "Build the shop", which holds there and below: Never touch <main>.
      Not even once.
    - decided in f1 "Build the shop": SQLite
    - opened f2 "Look after it" in f1; done means: seen
    - planned f3 "Later" in f2; done means: x
    - gave f3 "Later" this to know: The key is in the drawer.
    [callstack] f2 is open now: Look after it
    "#);
    let before = desk.plugin.ops.clone();
    desk.turn();
    assert_eq!(desk.plugin.ops[..before.len()], before[..], "it stays");
    assert!(!desk.notes()[before.len()..].concat().contains("from outside"), "it is told once");
}

#[test]
fn an_agents_own_calls_are_no_news_to_it() {
    let mut desk = TestEnv::new();
    desk.project.did(A, "stack_add_decision", json!({"decision": "SQLite"}));
    desk.project.did(A, "stack_pin", json!({"text": "Never touch main."}));
    desk.turn();
    assert_eq!(desk.notes(), [""; 0]);
}

#[test]
fn what_is_ended_and_put_aside_from_outside_is_announced_too() {
    let mut desk = TestEnv::new();
    desk.project.did(A, "stack_pin", json!({"text": "Never touch main."}));
    desk.outside("stack_frame_push", json!({"title": "Inner", "successCriteria": "x"}));
    let plans = json!({"children": [{"title": "One", "successCriteria": "x"}]});
    desk.outside("stack_frame_plan", plans);
    desk.turn();
    desk.outside("stack_unpin", json!({"pin": "p1", "frame": "f1"}));
    desk.outside("stack_frame_invalidate", json!({"frame": "f2", "reason": "There is one."}));
    desk.outside("stack_frame_retry", json!({"frame": "f2"}));
    desk.outside("stack_frame_pop", json!({"results": "It was there."}));
    desk.turn();
    insta::assert_snapshot!(desk.notes().last().unwrap(), @r#"
    at msg_004:
    [callstack] The user changed frames from outside this session:
    - took back the pin p1 of f1 "Build the shop"
    - invalidated f2 "Inner": do not go on with it. The reason: There is one.
    - with it went f3 "One"
    - opened f4 "Inner" in f1; done means: x
    - decided in f4 "Inner": This was tried before in f2 "Inner", which is invalidated (There is one.), without results.
    - ended f4 "Inner" as completed: It was there.
    [callstack] f1 is open now, for the user's latest message
    "#);
}

#[test]
fn a_change_in_the_middle_of_a_turn_leaves_what_was_sent_as_it_was() {
    let mut desk = TestEnv::new();
    desk.turn();
    let before = desk.plugin.ops.clone();
    desk.outside("stack_add_decision", json!({"decision": "SQLite", "frame": "f1"}));
    desk.request();
    assert_eq!(desk.plugin.ops[..before.len()], before[..]);
    let last = &desk.shown.last().unwrap().message.id;
    assert!(desk.notes()[0].starts_with(&format!("at {last}:")), "{:?}", desk.notes());
    assert_eq!(desk.notes().len(), 1);
}

#[test]
fn what_was_announced_at_a_message_that_is_undone_is_announced_again() {
    let mut desk = TestEnv::new();
    desk.outside("stack_add_decision", json!({"decision": "SQLite", "frame": "f1"}));
    desk.turn();
    desk.shown.truncate(2);
    desk.shown.push(HostMessage {
        message: Message { id: "msg_other".to_owned(), ..said(9, Role::User).message },
        ..said(9, Role::User)
    });
    desk.request();
    let [note] = &desk.notes()[..] else { panic!("{:?}", desk.notes()) };
    assert!(note.starts_with("at msg_other:") && note.contains("SQLite"), "{note}");
}

#[test]
fn a_session_below_the_frame_is_notified_and_one_elsewhere_is_not() {
    let mut desk = TestEnv::new();
    desk.project.user("ses_other", "Something else");
    let mut other = Plugin::default();
    other.sync(&desk.project.engine, "ses_other", &[said(90, Role::User)]);
    desk.outside("stack_pin", json!({"text": "Never touch main.", "frame": "f1"}));
    desk.turn();
    let shown = [said(90, Role::User), said(91, Role::Assistant), said(92, Role::User)];
    other.sync(&desk.project.engine, "ses_other", &shown);
    assert_eq!(desk.notes().len(), 1);
    assert!(other.ops.is_empty(), "{:?}", other.ops);
}

/// A step of the agent with a call that opens or ends a frame.
fn step(desk: &mut TestEnv, name: &str, arguments: Value) {
    let id = format!("msg_{:03}", desk.shown.len());
    let call = format!("call_{id}");
    let anchor = Anchor { message: Some(id.clone()), call: Some(call.clone()) };
    let agent = Caller { anchor, host: "test".to_owned(), ..caller(A) };
    let operation = callstack_engine::operations::find(name).unwrap();
    operation.run(&desk.project.engine, &agent, arguments).unwrap();
    let mut shown = said(desk.shown.len(), Role::Assistant);
    let body = PartBody::from(ToolCall::new(call, name, CallState::Completed));
    shown.message.parts = vec![Part { id: format!("prt-{id}"), body }];
    desk.shown.push(shown);
    desk.request();
}

#[test]
fn what_was_announced_in_a_frame_that_left_is_announced_again_where_it_still_matters() {
    let mut desk = TestEnv::new();
    desk.turn();
    let plans = [json!({"title": "One", "successCriteria": "x"})];
    desk.outside("stack_frame_plan", json!({"children": plans}));
    step(&mut desk, "stack_frame_push", json!({"title": "Inner", "successCriteria": "x"}));
    desk.shown.push(said(desk.shown.len(), Role::Assistant));
    desk.request();
    desk.outside("stack_add_decision", json!({"decision": "SQLite", "frame": "f1"}));
    desk.outside("stack_add_decision", json!({"decision": "no tests here", "frame": "f3"}));
    desk.outside("stack_frame_invalidate", json!({"frame": "f2", "reason": "It is done."}));
    desk.request();
    let noted = |desk: &TestEnv, words: &str| {
        desk.notes().iter().filter(|note| note.contains(words)).count()
    };
    assert_eq!((noted(&desk, "SQLite"), noted(&desk, "no tests")), (1, 1), "{:?}", desk.notes());
    desk.shown.push(said(desk.shown.len(), Role::Assistant));
    step(&mut desk, "stack_frame_pop", json!({"results": "all is well"}));
    assert_eq!(noted(&desk, "SQLite"), 0, "it leaves: {:?}", desk.notes());
    let before = desk.plugin.ops.clone();
    desk.shown.push(said(desk.shown.len(), Role::Assistant));
    desk.request();
    assert_eq!(desk.plugin.ops[..before.len()], before[..], "what was sent stays");
    for again in [false, true] {
        desk.shown.push(said(desk.shown.len(), Role::Assistant));
        if again {
            desk.plugin = Plugin::default();
        }
        desk.request();
    }
    insta::assert_snapshot!(desk.notes().last().unwrap(), @r#"
    at msg_008:
    [callstack] Told before, and still so: the user changed frames from outside this session:
    - decided in f1 "Build the shop": SQLite
    - invalidated f2 "One": do not go on with it. The reason: It is done.
    [callstack] f1 is open now, for the user's latest message
    "#);
    assert_eq!((noted(&desk, "SQLite"), noted(&desk, "no tests")), (1, 0), "{:?}", desk.notes());
}
