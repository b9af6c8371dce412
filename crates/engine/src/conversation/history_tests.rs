//! Histories that change: whatever a user undoes, redoes and repeats, the frames are those of the transcript.

use std::collections::HashSet;

use callstack_core::transcript::{
    Anchor, CallState, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use serde_json::json;
use tempfile::TempDir;

use super::{HostMessage, SyncAnswer, SyncRequest};
use crate::call::Caller;
use crate::world::Simulated;
use crate::{Engine, Settings, operations};

/// A host that keeps a transcript and can hide its end.
struct Host {
    engine: Engine,
    _folder: TempDir,
    session: String,
    shown: Vec<HostMessage>,
    /// Everything from here on is undone, but can be redone.
    hidden_from: Option<usize>,
    made: usize,
}

impl Host {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let engine = Engine::open_unchecked(
            folder.path(),
            Settings::default(),
            Box::new(Simulated::default()),
        )
        .unwrap();
        let session = "ses_1".to_owned();
        Self { engine, _folder: folder, session, shown: Vec::new(), hidden_from: None, made: 0 }
    }

    fn visible(&self) -> &[HostMessage] {
        &self.shown[..self.hidden_from.unwrap_or(self.shown.len())]
    }

    fn say(&mut self, role: Role, body: PartBody) -> String {
        if let Some(from) = self.hidden_from.take() {
            self.shown.truncate(from);
        }
        self.made += 1;
        let id = format!("msg_{}", self.made);
        let parts = vec![Part { id: format!("prt_{}", self.made), body }];
        self.shown.push(HostMessage {
            words: "words".to_owned(),
            ..HostMessage::of(
                Message { id: id.clone(), role, standing: MessageKind::Normal, parts },
                "{}".to_owned(),
            )
        });
        id
    }

    fn user(&mut self) {
        let body = PartBody::Text { synthetic: false, chars: 5, head: "words".to_owned() };
        self.say(Role::User, body);
        self.sync();
    }

    fn call(&mut self, name: &str, arguments: serde_json::Value) {
        let call = format!("call_{}", self.made);
        let state = CallState::Completed;
        let body = PartBody::from(ToolCall::new(call.clone(), name, state));
        let message = self.say(Role::Assistant, body);
        let anchor = Anchor { message: Some(message), call: Some(call.clone()) };
        let caller = Caller {
            session: self.session.clone(),
            host: "test".to_owned(),
            anchor,
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        let answer = operations::find(name).unwrap().run(&self.engine, &caller, arguments);
        let opened = answer.ok().and_then(|answer| answer.opened);
        let opened = opened.map(|num| (call, self.engine.frame(num).unwrap().id));
        self.shown.last_mut().unwrap().opened.extend(opened);
        self.sync();
    }

    fn push(&mut self) {
        let title = format!("Frame {}", self.made);
        self.call("stack_frame_push", json!({"title": title, "successCriteria": "done"}));
    }

    fn pop(&mut self) {
        self.call("stack_frame_pop", json!({"results": "done"}));
    }

    fn undo(&mut self, from: usize) {
        self.hidden_from = Some(from);
        self.engine.undone_from(&self.session, &self.shown[from].message.id).unwrap();
    }

    fn redo(&mut self) {
        if self.hidden_from.take().is_some() {
            self.engine.redone(&self.session, &HashSet::new()).unwrap();
        }
    }

    fn sync(&self) -> SyncAnswer {
        let request = SyncRequest {
            session: self.session.clone(),
            host: "test".to_owned(),
            compacting: false,
            keep: 0,
            shown: self.visible().to_vec(),
            ops: 0,
            applied: 0,
            newest: 0,
        };
        self.engine.sync(request).unwrap()
    }

    /// Titles and statuses, and which one is worked in.
    fn frames(&self) -> Vec<(String, String, bool)> {
        let lines = self.engine.tree(Some(&self.session)).unwrap();
        let frames = lines.into_iter().map(|line| {
            let status = line.frame.status.to_string();
            (format!("{}{}", line.branches, line.frame.identity.title), status, line.active)
        });
        frames.collect()
    }

    /// The same from the visible transcript alone: its calls done in order, by a host that never
    /// undid anything.
    fn replayed(&self) -> Vec<(String, String, bool)> {
        let mut other = Self::new();
        for shown in self.visible() {
            // Titles hold the number at which the call was made.
            other.made = shown.message.id["msg_".len()..].parse::<usize>().unwrap() - 1;
            match &shown.message.parts[0].body {
                PartBody::Tool(call) if call.tool == "stack_frame_push" => other.push(),
                PartBody::Tool(_) => other.pop(),
                _ => other.user(),
            }
        }
        other.frames()
    }
}

#[test]
fn frames_follow_undo_and_redo_in_any_order() {
    for seed in 1..=6_u32 {
        let mut state = seed;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (state >> 16) as usize % below
        };
        let mut host = Host::new();
        host.user();
        for step in 0..20 {
            match random(8) {
                0..=2 => host.push(),
                3 | 4 => {
                    // A pop with nothing to pop would end the root, and the next words would open another one.
                    if host.frames().iter().any(|(title, _, active)| *active && title.contains('─'))
                    {
                        host.pop();
                    }
                }
                5 => host.user(),
                6 if host.visible().len() > 1 => {
                    let from = 1 + random(host.visible().len() - 1);
                    host.undo(from);
                }
                _ => host.redo(),
            }
            assert_eq!(host.frames(), host.replayed(), "seed {seed}, step {step}");
        }
    }
}

#[test]
fn a_fork_has_copies_and_pops_leave_the_original_alone() {
    let mut host = Host::new();
    host.user();
    host.push();
    host.pop();
    host.push();
    let original = host.frames();
    host.session = "ses_2".to_owned();
    for shown in &mut host.shown {
        shown.message.id = shown.message.id.replace("msg_", "fork_");
    }
    host.sync();
    let copied = host.frames();
    let titles = |frames: &[(String, String, bool)]| -> Vec<_> {
        frames.iter().map(|(title, status, _)| (title.clone(), status.clone())).collect()
    };
    assert_eq!(titles(&copied[3..]), titles(&original));
    host.pop();
    let mut popped = titles(&original);
    assert_eq!(titles(&host.frames()[..3]), popped);
    popped[2].1 = "completed".to_owned();
    assert_eq!(titles(&host.frames()[3..]), popped);
}
