//! A session as OpenCode would have written it, of any length, and the frames in it.

use callstack_core::event::{Event, Session};
use callstack_core::frame::{Frame, FrameNum, Identity, Status};
use callstack_core::transcript::{Anchor, Fold, Outcome, Span, SpanNum, SpanOrigin};
use callstack_store::{Store, StoreError};
use serde_json::{Value, json};

use super::measure::Dice;

/// The output of tools: code and prose, so that it compresses like real outputs.
const SOURCE: &str = include_str!("../../../integrations/opencode/callstack.ts");
const PROSE: &str = include_str!("../../../ARCHITECTURE.md");

const START: i64 = 1_700_000_000_000;
/// Blocks between two messages of the user; a block reaches from one push to the next.
const A_TURN: usize = 4;

/// A generated session.
pub(crate) struct Transcript {
    /// `{info, parts}` of every message, oldest first.
    pub(crate) messages: Vec<Value>,
    session: String,
    /// Positions of the messages with push and pop of each finished frame.
    frames: Vec<(usize, usize)>,
    dice: Dice,
    folder: String,
}

#[derive(Clone, Copy)]
enum Kind {
    User,
    Work,
    Push,
    Pop,
    Reply,
}

impl Transcript {
    /// A session of `count` messages of which about `frames` frames of several messages are finished.
    /// `folder` is the project's.
    pub(crate) fn new(session: &str, folder: &str, count: usize, frames: usize) -> Self {
        let block = (count / frames.max(1)).max(6);
        let inside = block * 6 / 10;
        let mut transcript = Self {
            messages: Vec::with_capacity(count),
            session: session.to_owned(),
            frames: Vec::new(),
            dice: Dice::new(count as u64),
            folder: folder.to_owned(),
        };
        let mut pushed = None;
        for at in 0..count {
            let (block_at, place) = (at / block, at % block);
            let whole = (block_at + 1) * block <= count;
            let kind = match place {
                0 if block_at.is_multiple_of(A_TURN) => Kind::User,
                1 if whole => Kind::Push,
                place if place == inside && whole => Kind::Pop,
                place if place + 1 == block && (block_at + 1).is_multiple_of(A_TURN) => Kind::Reply,
                _ if at + 1 == count => Kind::Reply,
                _ => Kind::Work,
            };
            match kind {
                Kind::Push => pushed = Some(at),
                Kind::Pop => transcript.frames.extend(pushed.take().map(|push| (push, at))),
                _ => {}
            }
            transcript.add(kind);
        }
        transcript
    }

    /// One more step of work at the end.
    pub(crate) fn work(&mut self) -> &Value {
        self.add(Kind::Work);
        &self.messages[self.messages.len() - 1]
    }

    /// A step with a call of one of our tools at the end; returns its message and its call.
    pub(crate) fn call(&mut self, tool: &str, input: &Value, output: &str) -> (String, String) {
        let at = self.messages.len();
        let part = self.tool(at, tool, input, output, &json!({"callstack": {}}));
        let step = self.step(at, "tool-calls", [part]);
        self.messages.push(step);
        (message_id(&self.session, at), call_id(&self.session, at))
    }

    /// Writes the frames of the session into a store, as events, numbered from `first` on. Returns the number after
    /// the last.
    pub(crate) fn store_frames(&self, store: &Store, first: u64) -> Result<u64, StoreError> {
        let session = Session {
            id: self.session.clone(),
            host: "opencode".to_owned(),
            parent: None,
            root: None,
            active: None,
        };
        let root = self.frame(first, None);
        let (number, active) = (root.num, Some(root.num));
        let mut events = vec![
            Event::SessionOpened { session },
            Event::FrameCreated { frame: Box::new(root) },
            Event::RootSet { session: self.session.clone(), frame: number },
            Event::ActiveSet { session: self.session.clone(), frame: active },
            Event::SpanOpened { span: Box::new(self.span(first, None)) },
        ];
        for (num, place) in (first + 1..).zip(&self.frames) {
            events.push(Event::FrameCreated { frame: Box::new(self.frame(num, Some(number))) });
            events.push(Event::SpanOpened { span: Box::new(self.span(num, Some(*place))) });
        }
        store.write(|change| change.append(START, &events))?;
        Ok(first + 1 + self.frames.len() as u64)
    }

    fn frame(&self, num: u64, parent: Option<FrameNum>) -> Frame {
        let done = parent.map(|_| "Parsed the table, 12 tests pass, see src/table.rs.".to_owned());
        Frame {
            num: FrameNum(num),
            id: format!("frm-{num:032x}"),
            parent,
            session: Some(self.session.clone()),
            status: if done.is_some() { Status::Completed } else { Status::InProgress },
            identity: Identity {
                title: format!("Subtask {num}"),
                success_criteria: "The table is parsed and its tests pass.".to_owned(),
                success_criteria_compacted: "table parsed, tests pass".to_owned(),
            },
            identity_derived: false,
            results: done.clone(),
            results_compacted: done,
            results_source: None,
            created_at: START,
            updated_at: START,
            begun_at: None,
            ended_at: parent.map(|_| START),
            artifacts: Vec::new(),
            decisions: Vec::new(),
            pins: Vec::new(),
            log_path: None,
            invalidation_reason: None,
            invalidated_at: None,
            depth: u32::from(parent.is_some()),
            detached: false,
            consolidated: None,
        }
    }

    fn span(&self, num: u64, place: Option<(usize, usize)>) -> Span {
        let anchor = |at: usize| Anchor {
            message: Some(message_id(&self.session, at)),
            call: Some(call_id(&self.session, at)),
        };
        Span {
            num: SpanNum(num),
            frame: FrameNum(num),
            session: self.session.clone(),
            open: place.map_or(Anchor { message: None, call: None }, |it| anchor(it.0)),
            origin: if place.is_some() { SpanOrigin::Push } else { SpanOrigin::Root },
            close: place.map(|it| anchor(it.1)),
            outcome: place.map(|_| Outcome {
                status: Status::Completed,
                results: Some("Parsed the table.".to_owned()),
                results_compacted: Some("Parsed the table.".to_owned()),
                source: None,
            }),
            close_undone: false,
            detached: false,
            foldable: place.is_some(),
            fold: place.map(|it| Fold {
                text: format!(
                    "Frame f{num} \"Subtask {num}\" is completed. Parsed the table, 12 tests pass, \
                     see src/table.rs. Back in the parent: go on with what remains of its criteria."
                ),
                settled_at: Some(message_id(&self.session, it.1)),
                settled_serial: Some(1),
                renderer: 1,
                held: None,
            }),
        }
    }

    fn add(&mut self, kind: Kind) {
        let at = self.messages.len();
        let message = match kind {
            Kind::User => self.user(at),
            Kind::Work => {
                let output = self.output();
                let (tool, input) = match self.dice.below(3) {
                    0 => ("read", json!({"filePath": format!("{}/src/table.rs", self.folder)})),
                    1 => ("grep", json!({"pattern": "fn parse", "path": self.folder})),
                    _ => ("bash", json!({"command": "cargo test -q", "description": "Run tests"})),
                };
                let part =
                    self.tool(at, tool, &input, &output, &json!({"exit": 0, "output": &output}));
                self.step(at, "tool-calls", [part])
            }
            Kind::Push => {
                let input = json!({"title": "Subtask", "successCriteria": "The table is parsed."});
                let part = self.tool(
                    at,
                    "stack_frame_push",
                    &input,
                    "Frame opened.",
                    &json!({"callstack": {}}),
                );
                self.step(at, "tool-calls", [part])
            }
            Kind::Pop => {
                let input = json!({"results": "Parsed the table."});
                let part = self.tool(at, "stack_frame_pop", &input, "Frame closed.", &json!({}));
                self.step(at, "tool-calls", [part])
            }
            Kind::Reply => {
                let text = json!({
                    "id": part_id(&self.session, at, 1), "messageID": message_id(&self.session, at),
                    "sessionID": self.session, "type": "text", "text": "That is done; the tests pass.",
                });
                self.step(at, "stop", [text])
            }
        };
        self.messages.push(message);
    }

    /// 0.2 to 5 kB of what a tool might print.
    fn output(&mut self) -> String {
        let text = if self.dice.below(3) == 0 { PROSE } else { SOURCE };
        let length = 200 + self.dice.below(4_800).min(self.dice.below(4_800));
        let from = self.dice.below(text.len());
        text.chars().cycle().skip(from).take(length).collect()
    }

    fn user(&self, at: usize) -> Value {
        let id = message_id(&self.session, at);
        json!({
            "info": {
                "id": id, "sessionID": self.session, "role": "user", "time": {"created": time(at)},
                "agent": "build", "model": {"providerID": "scripted", "modelID": "scripted"},
            },
            "parts": [{
                "id": part_id(&self.session, at, 0), "messageID": id, "sessionID": self.session,
                "type": "text", "text": "Please parse the table and make its tests pass, then go on.",
            }],
        })
    }

    fn step<const N: usize>(&self, at: usize, finish: &str, parts: [Value; N]) -> Value {
        let id = message_id(&self.session, at);
        let own = |number: usize, mut part: Value| {
            part["id"] = json!(part_id(&self.session, at, number));
            part["messageID"] = json!(id);
            part["sessionID"] = json!(self.session);
            part
        };
        let tokens = json!({
            "input": 900, "output": 60, "reasoning": 0, "cache": {"read": 0, "write": 0},
        });
        let end = json!({"type": "step-finish", "reason": finish, "cost": 0, "tokens": tokens});
        let mut all = vec![own(0, json!({"type": "step-start"}))];
        all.extend((1..).zip(parts).map(|(number, part)| own(number, part)));
        all.push(own(8, end));
        json!({
            "info": {
                "id": id, "sessionID": self.session, "role": "assistant",
                "time": {"created": time(at), "completed": time(at) + 500},
                "parentID": message_id(&self.session, 0), "modelID": "scripted",
                "providerID": "scripted", "mode": "build", "agent": "build",
                "path": {"cwd": self.folder, "root": self.folder}, "cost": 0, "tokens": tokens,
                "finish": finish,
            },
            "parts": all,
        })
    }

    fn tool(&self, at: usize, tool: &str, input: &Value, output: &str, metadata: &Value) -> Value {
        json!({
            "type": "tool", "callID": call_id(&self.session, at), "tool": tool,
            "state": {
                "status": "completed", "input": input, "output": output, "title": tool,
                "metadata": metadata, "time": {"start": time(at), "end": time(at) + 300},
            },
        })
    }
}

fn time(at: usize) -> i64 {
    START + i64::try_from(at).unwrap_or(0) * 1_000
}

/// Ids sort by time, and these before all that OpenCode makes itself.
fn message_id(session: &str, at: usize) -> String {
    format!("msg_{at:012x}{}", tail(session))
}

fn part_id(session: &str, at: usize, number: usize) -> String {
    format!("prt_{:012x}{}", at * 16 + number, tail(session))
}

fn call_id(session: &str, at: usize) -> String {
    format!("call_{at:08}_{}", tail(session))
}

/// The end of a session's id, so that no two sessions share the id of a message.
fn tail(session: &str) -> String {
    let end: String = session.chars().rev().take(14).collect();
    format!("{end:0>14}")
}
