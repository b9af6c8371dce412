//! A host that continues when the process of its plugin has ended, as the plugin and `OpenCode` do: messages are
//! shown again, a call is repeated, any other hook that was not answered is over.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::super::test_env::TestEnv;
use super::process::Process;

/// A fault of the first process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cli) enum Trouble {
    None,
    /// It ends in the write that goes beyond so many bytes of the store's write-ahead log.
    Write(u64),
    /// It is killed when it has made its n-th answer, which nobody gets.
    Answer(usize),
}

#[derive(Default)]
struct Session {
    messages: Vec<Value>,
    /// Messages that the process has acknowledged.
    known: usize,
    ops: Vec<Value>,
    applied: i64,
}

pub(in crate::cli) struct Host {
    pub(in crate::cli) desk: TestEnv,
    /// Processes so far.
    pub(in crate::cli) starts: usize,
    /// Answers of the first one.
    pub(in crate::cli) answers: usize,
    /// The length of the write-ahead log at the start, and after each transaction.
    pub(in crate::cli) start: u64,
    pub(in crate::cli) transactions: Vec<u64>,
    /// The troubles that were reported, in order.
    pub(in crate::cli) troubles: Vec<String>,
    trouble: Trouble,
    process: Option<Process>,
    sessions: BTreeMap<String, Session>,
    made: usize,
}

impl Host {
    pub(in crate::cli) fn new(trouble: Trouble) -> Self {
        let desk = TestEnv::new();
        // Another connection has made the store and stays open until the first process has begun: so the log of
        // writes is longer than any other file that the process makes.
        let folder = callstack_store::prepare(&desk.project()).unwrap();
        let other = callstack_store::Store::open_unchecked(&folder).unwrap();
        desk.ok(&["trust", "--yes"]);
        let start = log_of_writes(&desk).len() as u64;
        let mut host = Self {
            desk,
            starts: 0,
            answers: 0,
            start,
            transactions: Vec::new(),
            troubles: Vec::new(),
            trouble,
            process: None,
            sessions: BTreeMap::new(),
            made: 0,
        };
        host.ask("hello", &json!({"protocol": 1}));
        drop(other);
        host
    }

    /// Asks the process, or the one that follows it; none where it has ended without an answer.
    fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        if self.process.is_none() {
            let limit = match self.trouble {
                Trouble::Write(limit) if self.starts == 0 => Some(limit),
                _ => None,
            };
            self.starts += 1;
            self.process = Some(Process::start(&self.desk, limit));
        }
        let process = self.process.as_mut().unwrap();
        let mut answer = process.ask(method, params);
        if self.starts == 1 && answer.is_some() {
            self.answers += 1;
            if self.trouble == Trouble::Answer(self.answers) {
                process.kill();
                answer = None;
            }
        }
        if answer.is_none() {
            assert!(
                self.starts == 1 && self.trouble != Trouble::None,
                "it ended by itself: {method}"
            );
            self.process = None;
            for session in self.sessions.values_mut() {
                session.known = 0;
            }
        }
        answer
    }

    /// The same where it is made sure of that it is done.
    fn insist(&mut self, method: &str, params: &Value) -> Value {
        if let Some(answer) = self.ask(method, params) {
            return answer;
        }
        let mut params = params.clone();
        params["again"] = true.into();
        self.ask(method, &params).unwrap()
    }

    fn add(&mut self, session: &str, role: &str, mut part: Value) -> &mut Value {
        self.made += 1;
        let id = format!("msg_{:03}", self.made);
        part["id"] = format!("prt_{:03}", self.made).into();
        let info = json!({"id": id, "role": role, "sessionID": session});
        let messages = &mut self.sessions.entry(session.to_owned()).or_default().messages;
        messages.push(json!({"info": info, "parts": [part]}));
        messages.last_mut().unwrap()
    }

    /// The model is about to be called, until that has been answered.
    fn request(&mut self, session: &str) {
        let mut all = false;
        loop {
            let it = self.sessions.get_mut(session).unwrap();
            if all {
                (it.known, it.ops) = (0, Vec::new());
            }
            let params = json!({"session": session, "purpose": "turn", "keep": it.known,
                "messages": it.messages[it.known..], "ops": it.ops.len(), "applied": it.applied});
            let answer = self.ask("sync", &params);
            let it = self.sessions.get_mut(session).unwrap();
            let Some(answer) = answer else { continue };
            if answer["need"] == "all" {
                assert!(!all, "it has been sent all");
                all = true;
                continue;
            }
            let trouble = answer["trouble"].as_str().unwrap();
            self.troubles.extend(Some(trouble.to_owned()).filter(|trouble| !trouble.is_empty()));
            it.known = it.messages.len();
            it.applied = answer["serial"].as_i64().unwrap();
            it.ops.truncate(usize::try_from(answer["keep"].as_u64().unwrap()).unwrap());
            it.ops.extend(answer["ops"].as_array().unwrap().iter().cloned());
            return;
        }
    }

    /// Returns the error with which the process refuses a request.
    pub(in crate::cli) fn refused(&mut self, method: &str, params: &Value) -> String {
        self.asked(method, params).unwrap_err()
    }

    /// Returns the process's answer, or the error with which it refuses the request.
    pub(in crate::cli) fn asked(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let process = self.process.as_mut().unwrap();
        process.try_ask(method, params).unwrap().map_err(|error| {
            format!("{}: {}", error["kind"].as_str().unwrap(), error["message"].as_str().unwrap())
        })
    }

    /// The parameters of a request that shows all of a session.
    pub(in crate::cli) fn all_of(&self, session: &str) -> Value {
        let it = &self.sessions[session];
        json!({"session": session, "purpose": "turn", "keep": 0, "messages": it.messages, "ops": 0,
            "applied": it.applied})
    }

    /// Returns the replacements of parts of a session.
    pub(in crate::cli) fn ops(&self, session: &str) -> &[Value] {
        &self.sessions[session].ops
    }

    /// The user says something.
    pub(in crate::cli) fn user(&mut self, session: &str, words: &str) {
        let id = self.add(session, "user", json!({"type": "text", "text": words}));
        let id = id["info"]["id"].clone();
        self.ask("message", &json!({"session": session, "message": id, "text": words}));
    }

    fn step(&mut self, session: &str, tool: &str, input: &Value) -> Value {
        self.request(session);
        let call = format!("call_{}", self.made);
        let state = json!({"status": "completed", "input": input, "output": "", "metadata": {}});
        let part = json!({"type": "tool", "tool": tool, "callID": call, "state": state});
        let message = self.add(session, "assistant", part)["info"]["id"].clone();
        json!({"session": session, "message": message, "call": call, "agent": "build",
            "name": tool, "args": input})
    }

    fn last_state(&mut self, session: &str) -> &mut Value {
        let messages = &mut self.sessions.get_mut(session).unwrap().messages;
        &mut messages.last_mut().unwrap()["parts"][0]["state"]
    }

    /// The agent runs a command.
    pub(in crate::cli) fn run(&mut self, session: &str, command: &str, exit: i64) {
        self.step(session, "bash", &json!({ "command": command }));
        self.last_state(session)["metadata"]["exit"] = exit.into();
    }

    /// The agent writes a file.
    pub(in crate::cli) fn write(&mut self, session: &str, path: &str) {
        fs::write(self.desk.project().join(path), path).unwrap();
        self.step(session, "write", &json!({"filePath": path, "content": path}));
    }

    /// The agent calls a tool of ours.
    pub(in crate::cli) fn call(&mut self, session: &str, tool: &str, args: &Value) {
        let call = self.step(session, tool, args);
        let answer = self.insist("tool", &call);
        self.answered(session, &answer);
    }

    fn answered(&mut self, session: &str, answer: &Value) {
        assert!(answer["metadata"]["callstack"]["error"].is_null(), "{answer:#}");
        let state = self.last_state(session);
        state["output"] = answer["output"].clone();
        state["metadata"] = answer["metadata"].clone();
        assert!(state["output"].is_string(), "{answer:#}");
    }

    /// The agent has a frame worked on in the session `other`.
    pub(in crate::cli) fn delegate(
        &mut self,
        session: &str,
        frame: &str,
        other: &str,
        work: impl FnOnce(&mut Self),
    ) {
        let mut call =
            self.step(session, "stack_frame_activate", &json!({ "frame": frame, "in": "session" }));
        let begun = self.insist("tool", &call);
        assert_eq!(begun["next"]["do"], "create_session", "{begun:#}");
        call["token"] = begun["token"].clone();
        call["outcome"] = json!({"ok": {"session": other}});
        let prompted = self.insist("continue", &call);
        assert_eq!(prompted["next"]["do"], "prompt", "{prompted:#}");
        let words = prompted["next"]["text"].as_str().unwrap().to_owned();
        self.user(other, &words);
        work(self);
        call["token"] = prompted["token"].clone();
        call["outcome"] = json!({"ok": {"text": "The tables are done."}});
        let returned = self.insist("continue", &call);
        self.answered(session, &returned);
    }

    /// The agent closes its turn.
    pub(in crate::cli) fn reply(&mut self, session: &str, words: &str) {
        self.request(session);
        let closing =
            self.add(session, "assistant", json!({"type": "text", "text": words})).clone();
        if let Some(process) = &mut self.process {
            process.notify("record", &json!({"session": session, "messages": [closing]}));
        }
        let idle = json!({"type": "session.idle", "properties": {"sessionID": session}});
        self.ask("event", &idle);
    }

    /// Returns the model's next request, made from the messages.
    pub(in crate::cli) fn sent(&mut self, session: &str) -> String {
        self.request(session);
        let ops = json!(self.sessions[session].ops);
        without_durations(&format!("{ops:#}"))
    }

    pub(in crate::cli) fn shown(&self, session: &str) -> Vec<Value> {
        self.sessions[session].messages.clone()
    }

    /// Ends the last process by a signal, which is handled or not.
    pub(in crate::cli) fn terminate(&mut self) {
        self.process.take().unwrap().terminate();
    }

    pub(in crate::cli) fn kill(&mut self) {
        self.process.take().unwrap().kill();
    }

    /// Lets the last process end in order, once all is on the disk; returns whether it could.
    pub(in crate::cli) fn close(&mut self) -> bool {
        if self.trouble == Trouble::None {
            self.transactions = transactions(&log_of_writes(&self.desk), self.start);
        }
        self.process.take().is_none_or(|mut process| process.close())
    }
}

/// A text without how long frames were worked on.
fn without_durations(text: &str) -> String {
    let mut parts = text.split(" completed after ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let end = part.find("\\n").unwrap_or(part.len());
        format!("{text} completed{}", &part[end..])
    })
}

fn log_of_writes(desk: &TestEnv) -> Vec<u8> {
    fs::read(desk.database().with_extension("db-wal")).unwrap_or_default()
}

/// Returns the ends of transactions in the write-ahead log after `start`.
fn transactions(log: &[u8], start: u64) -> Vec<u64> {
    const HEADER: usize = 32;
    let Some(page) = log.get(8..12) else { return Vec::new() };
    let page = u32::from_be_bytes(page.try_into().unwrap()) as usize;
    let frames = log[HEADER..].chunks_exact(24 + page).zip(1..);
    // In the last page of a transaction, this is the size of the database; else 0.
    let commits = frames.filter(|(frame, _)| frame[4..8] != [0; 4]);
    let ends = commits.map(|(_, n): (_, usize)| (HEADER + n * (24 + page)) as u64);
    ends.filter(|end| *end > start).collect()
}
