//! Plays sessions of an agent.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use callstack_engine::{Engine, EngineError, Settings};
use callstack_hosts::opencode::{activities, serve};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Counted;

/// Inputs after which a new store is begun. The content of one input is there for the next ones, and each is summed
/// up at its end: with 200 that took a third of the time.
const INPUTS: usize = 25;
/// Steps of an input that are played.
const STEPS: usize = 48;
const SESSIONS: [&str; 3] = ["ses_a", "ses_b", "ses_c"];

struct Open {
    engine: Result<Engine, EngineError>,
    _folder: TempDir,
    inputs: usize,
}

/// An input that begins with `{` is lines of the protocol. Of all others each two bytes are a step of one of three
/// sessions: what the user says, calls of tools and ours, undo, forks and compactions, with what OpenCode shows then.
pub fn session(data: &[u8]) {
    if data.first() == Some(&b'{') {
        answered(data);
    } else {
        answered(&Played::of(data).lines);
    }
}

/// Each answer is a line of JSON with an id and a result or an error.
pub(crate) fn answered(data: &[u8]) {
    static OPEN: Mutex<Option<Open>> = Mutex::new(None);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if open.as_ref().is_none_or(|it| it.inputs >= INPUTS) {
        // Its threads end before the folder goes.
        *open = None;
        let folder = tempfile::tempdir().expect("a folder for the store");
        *open = Some(Open { engine: Ok(engine(folder.path())), _folder: folder, inputs: 0 });
    }
    let Some(open) = open.as_mut() else { return };
    open.inputs += 1;
    let mut output = Vec::new();
    serve(&open.engine, "fuzz", data, &mut output, |_| {}).expect("nothing is written to a pipe");
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let answer: Value = serde_json::from_slice(line).expect("an answer is JSON");
        assert!(answer["id"].is_u64(), "{answer}");
        assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
    }
}

/// A store in a folder, with no summarizer and no repository.
pub(crate) fn engine(folder: &Path) -> Engine {
    let world = Box::<Counted>::default();
    let engine = Engine::open_unchecked(folder, Settings::default(), world);
    let engine = engine.expect("a new store is opened");
    engine.read_messages_with(activities);
    engine
}

/// The lines of sessions that are played, and what OpenCode shows of each.
#[derive(Default)]
struct Played {
    lines: Vec<u8>,
    shown: [Vec<Value>; SESSIONS.len()],
    ids: usize,
}

impl Played {
    fn of(data: &[u8]) -> Self {
        let mut played = Self::default();
        for step in data.chunks_exact(2).take(STEPS) {
            if let [what, with] = step {
                played.step(usize::from(what >> 6) % SESSIONS.len(), what & 0x3f, *with);
            }
        }
        played
    }

    fn step(&mut self, at: usize, what: u8, with: u8) {
        let frame = format!("f{}", with % 12);
        match what % 20 {
            0..=2 => self.said(at, with),
            3..=6 => self.worked(at, with),
            7..=9 => {
                let args =
                    json!({"title": format!("Part {with}"), "successCriteria": "it is known"});
                self.called(at, "stack_frame_push", &args);
            }
            10..=12 => {
                let statuses = ["completed", "failed", "blocked"];
                let status = statuses[usize::from(with) % statuses.len()];
                let args = json!({"results": "word ".repeat(usize::from(with)), "status": status});
                self.called(at, "stack_frame_pop", &args);
            }
            13 => {
                let child = json!({"title": format!("Later {with}"), "successCriteria": "c"});
                self.called(at, "stack_frame_plan", &json!({"children": [child]}));
            }
            14 => self.called(at, "stack_frame_activate", &json!({"frame": frame, "in": "here"})),
            15 => {
                let ops =
                    ["tree", "frame_invalidate", "frame_reopen", "frame_retry", "navigate", "log"];
                let op = ops[usize::from(with) % ops.len()];
                let args = json!({"frame": frame, "to": frame, "reason": "r"});
                self.called(at, "stack", &json!({"op": op, "args": args}));
            }
            16 => self.undone(at, with),
            17 => self.forked(at, with),
            18 => self.compacted(at),
            _ => {
                let (session, kinds) =
                    (SESSIONS[at], ["session.idle", "session.error", "session.deleted"]);
                let kind = kinds[usize::from(with) % kinds.len()];
                self.ask("event", &json!({"type": kind, "properties": {"sessionID": session}}));
                self.ask("wake", &json!({}));
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) {
        self.ids += 1;
        let line = json!({"id": self.ids, "method": method, "params": params});
        self.lines.extend(format!("{line}\n").into_bytes());
    }

    fn sync(&mut self, at: usize, purpose: &str) {
        let params = json!({"session": SESSIONS[at], "purpose": purpose, "keep": 0, "ops": 0,
            "messages": self.shown[at]});
        self.ask("sync", &params);
    }

    fn show(&mut self, at: usize, role: &str, parts: Vec<Value>) {
        self.ids += 1;
        let id = format!("msg_{}", self.ids);
        let parts: Vec<Value> = parts.into_iter().map(|part| self.identified(part)).collect();
        let info = json!({"id": id, "role": role, "sessionID": SESSIONS[at], "finish": "tool-calls",
            "time": {"created": self.ids, "completed": self.ids}});
        self.shown[at].push(json!({"info": info, "parts": parts}));
    }

    fn identified(&mut self, mut part: Value) -> Value {
        self.ids += 1;
        part["id"] = format!("prt_{}", self.ids).into();
        part
    }

    fn said(&mut self, at: usize, with: u8) {
        let text = format!("Please look at {with}");
        self.show(at, "user", vec![json!({"type": "text", "text": text})]);
        self.ask("message", &json!({"session": SESSIONS[at], "text": text}));
        self.sync(at, "turn");
    }

    fn worked(&mut self, at: usize, with: u8) {
        let (tool, input) = match with % 3 {
            0 => ("bash", json!({"command": "make test"})),
            1 => ("read", json!({"filePath": format!("/project/{with}.rs")})),
            _ => ("write", json!({"filePath": "/project/a.rs", "content": "fn main() {}"})),
        };
        let output = format!("line {with} ").repeat(usize::from(with) * 4);
        let call = self.call(tool, &input, &output);
        self.show(at, "assistant", vec![json!({"type": "text", "text": "I look"}), call]);
        self.sync(at, "turn");
    }

    fn call(&mut self, tool: &str, input: &Value, output: &str) -> Value {
        self.ids += 1;
        json!({"type": "tool", "tool": tool, "callID": format!("call_{}", self.ids),
            "state": {"status": "completed", "input": input, "output": output, "title": tool,
                "metadata": {"exit": 0}, "time": {"start": self.ids, "end": self.ids}}})
    }

    /// A call of ours: it is made, and shown with some answer afterwards.
    fn called(&mut self, at: usize, tool: &str, args: &Value) {
        let call = self.call(tool, args, "done");
        let id = call["callID"].clone();
        self.show(at, "assistant", vec![call]);
        let message = self.shown[at].last().map(|it| it["info"]["id"].clone());
        self.ask(
            "tool",
            &json!({"name": tool, "args": args, "session": SESSIONS[at], "message": message,
                "call": id, "agent": "build"}),
        );
        self.sync(at, "turn");
    }

    fn undone(&mut self, at: usize, with: u8) {
        let keep = usize::from(with) % (self.shown[at].len() + 1);
        let Some(first) = self.shown[at].get(keep) else { return };
        let info = json!({"revert": {"messageID": first["info"]["id"]}});
        let updated = json!({"type": "session.updated",
            "properties": {"sessionID": SESSIONS[at], "info": info}});
        self.ask("event", &updated);
        if with < 128 {
            self.shown[at].truncate(keep);
        } else {
            let back = json!({"type": "session.updated",
                "properties": {"sessionID": SESSIONS[at], "info": {"revert": null}}});
            self.ask("event", &back);
        }
        self.sync(at, "turn");
    }

    /// The session shows copies of another one's messages, under ids of their own.
    fn forked(&mut self, at: usize, with: u8) {
        let other = usize::from(with) % SESSIONS.len();
        let copies: Vec<Value> = self.shown[other].clone();
        self.shown[at] = copies
            .into_iter()
            .map(|mut copy| {
                self.ids += 1;
                copy["info"]["id"] = format!("msg_{}", self.ids).into();
                copy["info"]["sessionID"] = SESSIONS[at].into();
                copy
            })
            .collect();
        self.sync(at, "turn");
    }

    fn compacted(&mut self, at: usize) {
        self.ask("compacting", &json!({"session": SESSIONS[at]}));
        self.sync(at, "compaction");
        self.shown[at].clear();
        self.show(at, "user", vec![json!({"type": "compaction", "auto": true})]);
        self.show(at, "assistant", vec![json!({"type": "text", "text": "SUMMARY of it"})]);
        if let Some(summary) = self.shown[at].last_mut() {
            summary["info"]["summary"] = true.into();
        }
        let over = json!({"type": "session.compacted", "properties": {"sessionID": SESSIONS[at]}});
        self.ask("event", &over);
        self.sync(at, "turn");
    }
}
