//! Folds that settle while the disk is slow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use callstack_core::fold::Folded;
use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{HostMessage, SyncAnswer, SyncRequest};
use crate::call::Caller;
use crate::lock::lock;
use crate::recorder::Ticket;
use crate::world::Simulated;
use crate::{Engine, Settings, SystemRequest, operations};

const SESSION: &str = "ses_1";

fn message(id: &str, role: Role, bodies: Vec<PartBody>) -> HostMessage {
    let part = |(at, body)| Part { id: format!("{id}_{at}"), body };
    let parts = bodies.into_iter().enumerate().map(part).collect();
    let message = Message { id: id.to_owned(), role, standing: MessageKind::Normal, parts };
    HostMessage::of(message, "{}".to_owned())
}

/// A step that thinks and calls a tool.
fn step(id: &str, tool: &str) -> HostMessage {
    let call = format!("call_{id}");
    let tool = PartBody::from(ToolCall::new(call, tool, CallState::Completed));
    message(id, Role::Assistant, vec![PartBody::Reasoning { sealed: false }, tool])
}

fn operate(engine: &Engine, id: &str, name: &str, arguments: Value) {
    let caller = Caller {
        session: SESSION.to_owned(),
        host: "test".to_owned(),
        anchor: Anchor { message: Some(id.to_owned()), call: Some(format!("call_{id}")) },
        agent: None,
        performs: false,
        reveal: true,
        key: None,
    };
    operations::find(name).unwrap().run(engine, &caller, arguments).unwrap();
}

/// Shows all messages to a process that knows none. Returns the serial and the operations of the answer.
fn sync(engine: &Engine, shown: &[HostMessage], applied: i64) -> (i64, Vec<FoldOp>) {
    let request = SyncRequest {
        session: SESSION.to_owned(),
        host: "test".to_owned(),
        compacting: false,
        keep: 0,
        shown: shown.to_vec(),
        ops: 0,
        applied,
        newest: applied,
    };
    let SyncAnswer::Ops { serial, ops, .. } = engine.sync(request).unwrap() else { panic!() };
    (serial, ops)
}

/// Whether a step is sent without its reasoning.
fn goes_without(ops: &[FoldOp], id: &str) -> bool {
    let call = [format!("{id}_1")];
    ops.iter().any(
        |op| matches!(op, FoldOp::Keep { message, parts } if message == id && parts[..] == call),
    )
}

fn open(folder: &TempDir, world: &Simulated) -> Engine {
    let world = Box::new(world.clone());
    Engine::open_unchecked(folder.path(), Settings::default(), world).unwrap()
}

/// Does something that waits for a disk on which nothing is ever written.
fn while_time_passes<T>(world: &Simulated, doing: impl FnOnce() -> T) -> T {
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                world.pass(Duration::from_millis(10));
                std::thread::yield_now();
            }
        });
        let _ends = Ends(&is_over);
        doing()
    })
}

#[test]
fn a_step_after_an_unfolded_span_goes_without_reasoning_also_while_the_disk_is_slow() {
    let folder = tempfile::tempdir().unwrap();
    let world = Simulated::default();
    let engine = open(&folder, &world);
    let words = PartBody::Text { synthetic: false, chars: 5, head: "Build".to_owned() };
    let user = HostMessage { words: "Build".to_owned(), ..message("m1", Role::User, vec![words]) };
    let mut shown = vec![user, step("m2", "stack_frame_push")];
    let child = json!({"title": "parser", "successCriteria": "it parses"});
    operate(&engine, "m2", "stack_frame_push", child);
    shown.push(step("m3", "bash"));
    let (applied, _) = sync(&engine, &shown, 0);
    engine.system(&SystemRequest { session: SESSION.to_owned(), limit: None }).unwrap();
    shown.push(step("m4", "stack_frame_pop"));
    operate(&engine, "m4", "stack_frame_pop", json!({"results": "done"}));
    // The answer that folds the span comes too late: the next step is made with the one before.
    let (late, ops) = sync(&engine, &shown, applied);
    assert!(ops.iter().any(|op| matches!(op, FoldOp::Cut { .. })), "{ops:?}");
    shown.push(step("m5", "bash"));

    let conversation = engine.sessions.conversation(SESSION);
    let mut conversation = lock(&conversation);
    conversation.take(4, shown[4..].to_vec());
    conversation.ticket = Ticket::NEVER;
    conversation.number_answer(engine.kernel.now(), late);
    let serial = conversation.serial;
    let folding = &engine.conversations.folding;
    let fold = || folding.folded(&mut conversation, SESSION, applied).unwrap();
    let Folded { ops, .. } = while_time_passes(&world, fold);
    drop(conversation);
    assert!(goes_without(&ops, "m5"), "{ops:?}");

    shown.push(step("m6", "bash"));
    let (_, ops) = sync(&engine, &shown, serial);
    assert!(goes_without(&ops, "m5"), "{ops:?}");
    assert!(!goes_without(&ops, "m6"), "it was made behind the folded span: {ops:?}");
}

#[test]
fn a_text_that_waits_for_the_disk_is_folded_by_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let world = Simulated::default();
    let engine = open(&folder, &world);
    let words = PartBody::Text { synthetic: false, chars: 5, head: "Build".to_owned() };
    let user = HostMessage { words: "Build".to_owned(), ..message("m1", Role::User, vec![words]) };
    let child = json!({"title": "parser", "successCriteria": "it parses"});
    operate(&engine, "m2", "stack_frame_push", child);
    let shown = [user, step("m2", "stack_frame_push"), step("m3", "bash"), step("m4", "bash")];
    sync(&engine, &shown, 0);
    operate(&engine, "m4", "stack_frame_pop", json!({"results": "done"}));

    let conversation = engine.sessions.conversation(SESSION);
    let mut conversation = lock(&conversation);
    let ticket = std::mem::replace(&mut conversation.ticket, Ticket::NEVER);
    let folding = &engine.conversations.folding;
    engine.sessions.load_spans(&mut conversation, SESSION).unwrap();
    let fold = || folding.folded(&mut conversation, SESSION, 1).unwrap();
    let late = while_time_passes(&world, fold);
    assert!(!late.ops.iter().any(|op| matches!(op, FoldOp::Cut { .. })), "{:?}", late.ops);
    assert!(conversation.is_disk_slow, "the next call has to look again");
    conversation.ticket = ticket;
    let Folded { ops, .. } = folding.folded(&mut conversation, SESSION, 1).unwrap();
    assert!(ops.iter().any(|op| matches!(op, FoldOp::Cut { .. })), "{ops:?}");
    assert!(!conversation.is_disk_slow);
}
