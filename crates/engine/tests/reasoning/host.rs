//! A host with sessions that are compacted and forked, which records the prefix of each step.

use std::collections::{HashMap, HashSet};

use callstack_core::masking::outputs::ResultWeight;
use callstack_core::masking::subject::Subject;
use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{
    ChildSession, Engine, HostMessage, Settings, SystemRequest, UserMessage, operations,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plugin::Plugin;
use crate::support::Clock;

/// The messages that a compaction leaves after its summary.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tail {
    /// So many of the last messages that were sent before.
    HostMessage(usize),
    /// A last step that nothing has shown before.
    New,
}

/// The model's view of a message, without ids.
type Read = (Role, Vec<String>);

#[derive(Clone, Default)]
struct Session {
    id: String,
    shown: Vec<HostMessage>,
    /// Messages that were taken back last, and may come again.
    taken_back: Vec<HostMessage>,
    plugin: Plugin,
    /// The last request, and its system prompt.
    sent: (Vec<String>, Vec<Read>),
    /// The same by the step that was made after it.
    made_after: HashMap<String, (Vec<String>, Vec<Read>)>,
}

pub(super) struct Host {
    engine: Engine,
    clock: Clock,
    settings: Settings,
    folder: TempDir,
    sessions: Vec<Session>,
    /// The words of each part, by the end of its id, which copies keep.
    words: HashMap<String, String>,
    made: usize,
}

impl Host {
    pub(super) fn new(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::default();
        let engine =
            Engine::open_unchecked(folder.path(), settings.clone(), Box::new(clock.clone()));
        let sessions = vec![Session { id: "ses_0".to_owned(), ..Session::default() }];
        let (words, made) = (HashMap::new(), 0);
        Self { engine: engine.unwrap(), clock, settings, folder, sessions, words, made }
    }

    pub(super) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn pass(&self, milliseconds: i64) {
        self.clock.pass(milliseconds);
    }

    pub(super) fn restart_process(&mut self) {
        let world = Box::new(self.clock.clone());
        self.engine =
            Engine::open_unchecked(self.folder.path(), self.settings.clone(), world).unwrap();
        for session in &mut self.sessions {
            session.plugin.known.clear();
        }
    }

    pub(super) fn restart_all(&mut self) {
        self.restart_process();
        for session in &mut self.sessions {
            session.plugin.ops.clear();
            session.plugin.applied = 0;
            session.plugin.newest = 0;
        }
    }

    /// The title of the frame that a session works in.
    pub(super) fn active(&self, at: usize) -> Option<String> {
        let active = self.engine.active(&self.sessions[at].id).unwrap()?;
        Some(self.engine.frame(active).unwrap().identity.title)
    }

    /// The titles of a session's frames.
    pub(super) fn frames(&self, at: usize) -> Vec<String> {
        let lines = self.engine.tree(Some(&self.sessions[at].id)).unwrap();
        let own = lines.into_iter().map(|line| line.frame);
        let own = own.filter(|it| it.session.as_deref() == Some(&self.sessions[at].id));
        own.map(|frame| frame.identity.title).collect()
    }

    /// Returns the number of steps that were last sent with their reasoning.
    pub(super) fn reasoned(&self, at: usize) -> usize {
        let sent = &self.sessions[at].sent.1;
        sent.iter().flat_map(|(_, read)| read).filter(|it| it.starts_with("thinks")).count()
    }

    /// All that was sent last.
    pub(super) fn sent(&self, at: usize) -> String {
        format!("{:#?}", self.sessions[at].sent)
    }

    fn part(&mut self, words: String, body: PartBody) -> Part {
        self.made += 1;
        let id = format!("prt_{:04}", self.made);
        self.words.insert(id.clone(), words);
        Part { id, body }
    }

    fn text(&mut self, words: &str) -> Part {
        let (chars, head) = (words.chars().count(), words.to_owned());
        self.part(words.to_owned(), PartBody::Text { synthetic: false, chars, head })
    }

    fn tool(&mut self, tool: &str) -> Part {
        let call = format!("call_{}", self.made);
        let body = PartBody::from(ToolCall::new(call, tool, CallState::Completed));
        self.part(format!("{tool} {}", self.made), body)
    }

    fn message(&mut self, role: Role, standing: MessageKind, parts: Vec<Part>) -> HostMessage {
        self.made += 1;
        let id = format!("msg_{:04}", self.made);
        let said: Vec<_> = parts
            .iter()
            .map(|part| json!({"id": part.id, "type": "text", "text": self.words[&part.id]}))
            .collect();
        let json = json!({"info": {"id": id}, "parts": said}).to_string();
        HostMessage::of(Message { id, role, standing, parts }, json)
    }

    /// The user says something.
    pub(super) fn user(&mut self, at: usize, words: &str) {
        let session = self.sessions[at].id.clone();
        let said = UserMessage { session, host: "test".to_owned(), text: words.to_owned() };
        self.engine.user_message(&said).unwrap();
        let part = self.text(words);
        let mut shown = self.message(Role::User, MessageKind::Normal, vec![part]);
        shown.words = words.to_owned();
        self.sessions[at].shown.push(shown);
    }

    /// The model is called, thinks and calls tools.
    fn steps(&mut self, at: usize, tools: &[&str]) {
        self.request(at);
        let thought =
            self.part(format!("thinks {}", self.made), PartBody::Reasoning { sealed: false });
        let mut parts = vec![thought];
        for tool in tools {
            parts.push(self.tool(tool));
        }
        let shown = self.message(Role::Assistant, MessageKind::Normal, parts);
        let session = &mut self.sessions[at];
        session.made_after.insert(shown.message.id.clone(), session.sent.clone());
        session.shown.push(shown);
    }

    pub(super) fn step(&mut self, at: usize) {
        self.steps(at, &["bash"]);
    }

    /// The same with a long output.
    pub(super) fn read(&mut self, at: usize, tokens: usize) {
        self.steps(at, &["bash"]);
        let shown = self.sessions[at].shown.last_mut().unwrap();
        let part = shown.message.parts[1].id.clone();
        // The same command again and again: each output replaces the one before.
        let subject = Some(Subject::called("bash", "make"));
        shown.results = vec![ResultWeight { part, tokens, subject }];
        shown.heard = tokens;
    }

    /// An operation that a part of the newest step calls.
    fn operate(&mut self, at: usize, part: usize, name: &str, arguments: Value) -> Option<Answer> {
        let session = &self.sessions[at];
        let message = &session.shown.last().unwrap().message;
        let call = message.parts[part].call().unwrap().id.clone();
        let caller = Caller {
            session: session.id.clone(),
            host: "test".to_owned(),
            anchor: Anchor { message: Some(message.id.clone()), call: Some(call) },
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        operations::find(name).unwrap().run(&self.engine, &caller, arguments).ok()
    }

    pub(super) fn push(&mut self, at: usize, title: &str) {
        self.steps(at, &["stack_frame_push"]);
        let arguments = json!({"title": title, "successCriteria": "it works"});
        let answer = self.operate(at, 1, "stack_frame_push", arguments);
        let Some(opened) = answer.and_then(|answer| answer.opened) else { return };
        let frame = self.engine.frame(opened).unwrap().id;
        let shown = self.sessions[at].shown.last_mut().unwrap();
        let call = shown.message.parts[1].call().unwrap().id.clone();
        shown.opened.push((call, frame));
    }

    pub(super) fn pop(&mut self, at: usize) {
        self.steps(at, &["stack_frame_pop"]);
        self.operate(at, 1, "stack_frame_pop", json!({"results": "done"}));
    }

    pub(super) fn pop_and_go_on(&mut self, at: usize) {
        self.steps(at, &["stack_frame_pop", "bash"]);
        self.operate(at, 1, "stack_frame_pop", json!({"results": "done"}));
    }

    pub(super) fn pin(&mut self, at: usize, text: &str) {
        self.steps(at, &["stack_pin"]);
        self.operate(at, 1, "stack_pin", json!({"text": text})).unwrap();
    }

    /// A session that another one starts.
    pub(super) fn child(&mut self, at: usize, title: &str) -> usize {
        let id = format!("ses_{}", self.sessions.len());
        let child = ChildSession {
            session: id.clone(),
            host: "test".to_owned(),
            parent: self.sessions[at].id.clone(),
            title: title.to_owned(),
        };
        self.engine.child_seen(&child).unwrap();
        self.sessions.push(Session { id, ..Session::default() });
        self.sessions.len() - 1
    }

    /// The user takes the last turns back.
    pub(super) fn undo(&mut self, at: usize, turns: usize) {
        let session = &mut self.sessions[at];
        let said =
            |shown: &HostMessage| shown.message.role == Role::User && !shown.words.is_empty();
        let users: Vec<_> = (0..session.shown.len()).filter(|i| said(&session.shown[*i])).collect();
        let Some(from) = users.iter().rev().nth(turns - 1).copied().filter(|from| *from > 0) else {
            return;
        };
        let id = session.shown[from].message.id.clone();
        session.shown.truncate(from);
        self.engine.undone_from(&session.id, &id).unwrap();
    }

    /// The user takes the last messages back, also steps alone.
    pub(super) fn take_back(&mut self, at: usize, messages: usize) {
        let session = &mut self.sessions[at];
        let standing = |shown: &HostMessage| shown.message.standing;
        let kept = session.shown.len().saturating_sub(messages).max(1);
        if session.shown[kept.min(session.shown.len())..]
            .iter()
            .any(|shown| standing(shown) != MessageKind::Normal)
        {
            return;
        }
        session.taken_back = session.shown.split_off(kept.min(session.shown.len()));
        if let Some(first) = session.taken_back.first() {
            self.engine.undone_from(&session.id, &first.message.id).unwrap();
        }
    }

    /// Shows them again, unless something else was said meanwhile.
    pub(super) fn bring_again(&mut self, at: usize) {
        let session = &mut self.sessions[at];
        let newest = session.shown.iter().map(|shown| &shown.message.id).max();
        if session.taken_back.first().is_some_and(|first| Some(&first.message.id) > newest) {
            self.engine.redone(&session.id, &HashSet::new()).unwrap();
            session.shown.append(&mut session.taken_back);
        }
        session.taken_back.clear();
    }

    /// The host compacts a session.
    pub(super) fn compact(&mut self, at: usize, tail: Tail) {
        let keep = match tail {
            Tail::HostMessage(keep) => {
                self.request(at);
                keep
            }
            Tail::New => {
                self.step(at);
                1
            }
        };
        let request = self.part(String::new(), PartBody::Other);
        let request = self.message(Role::User, MessageKind::CompactionRequest, vec![request]);
        let words = format!("summary {}", self.made);
        let summary = self.text(&words);
        let mut summary = self.message(Role::Assistant, MessageKind::Summary, vec![summary]);
        summary.summary = Some(words);
        let shown = &mut self.sessions[at].shown;
        let tail = shown.split_off(shown.len().saturating_sub(keep));

        *shown = [vec![request, summary], tail].concat();
    }

    /// The user forks a session at its end.
    pub(super) fn fork(&mut self, at: usize) -> usize {
        let mut copy = self.sessions[at].clone();
        let renamed = |id: &str| format!("copy_{id}");
        copy.id = format!("ses_{}", self.sessions.len());
        copy.plugin = Plugin::default();
        copy.taken_back.clear();
        for shown in &mut copy.shown {
            for part in &mut shown.message.parts {
                part.id = renamed(&part.id);
            }
            for result in &mut shown.results {
                result.part = renamed(&result.part);
            }
            shown.json = shown.json.replace("msg_", "copy_msg_").replace("prt_", "copy_prt_");
            shown.message.id = renamed(&shown.message.id);
        }
        let made = copy.made_after.into_iter();
        copy.made_after = made.map(|(id, before)| (renamed(&id), before)).collect();
        self.sessions.push(copy);
        self.sessions.len() - 1
    }

    /// The model is called without us.
    pub(super) fn missed(&mut self, at: usize) {
        let session = &mut self.sessions[at];
        session.plugin.applied = -1;
        let all: Vec<_> = session.shown.iter().map(|it| it.message.clone()).collect();
        let sent = all.iter().map(|it| self.words_of(it)).collect();
        self.sessions[at].sent = (Vec::new(), sent);
        let parts = vec![
            self.part(format!("thinks {}", self.made), PartBody::Reasoning { sealed: false }),
            self.tool("bash"),
        ];
        let shown = self.message(Role::Assistant, MessageKind::Normal, parts);
        let session = &mut self.sessions[at];
        session.made_after.insert(shown.message.id.clone(), session.sent.clone());
        session.shown.push(shown);
    }

    fn words_of(&self, message: &Message) -> Read {
        let words = message.parts.iter().map(|part| {
            self.words[part.id.rsplit_once("copy_").map_or(part.id.as_str(), |it| it.1)].clone()
        });
        (message.role, words.filter(|it| !it.is_empty()).collect())
    }

    /// The model is about to be called: what is sent is checked.
    #[track_caller]
    pub(super) fn request(&mut self, at: usize) {
        self.clock.pass(1_000);
        let mut session = std::mem::take(&mut self.sessions[at]);
        session.plugin.sync(&self.engine, &session.id, &session.shown);
        let request = SystemRequest { session: session.id.clone(), limit: None };
        let mut system = self.engine.system(&request).unwrap();
        if self.settings.placement == callstack_engine::Placement::System {
            // It is rebuilt with every change.
            system.clear();
        }
        let sent = self.applied(&session);
        let read: Vec<Read> = sent.iter().map(|(_, read)| read.clone()).collect();
        for (place, (id, (_, words))) in sent.iter().enumerate() {
            let made = session.made_after.get(id);
            if let Some((its_system, before)) = made
                && words.iter().any(|it| it.starts_with("thinks"))
            {
                assert_eq!(its_system, &system, "{id} of {} had another system prompt", session.id);
                assert_eq!(before, &read[..place], "{id} of {}", session.id);
            }
        }
        session.sent = (system, read);
        self.sessions[at] = session;
    }

    /// The messages with the operations carried out.
    fn applied(&self, session: &Session) -> Vec<(String, Read)> {
        let mut sent: Vec<(String, Vec<String>, Read)> = session
            .shown
            .iter()
            .map(|it| {
                let ids = it.message.parts.iter().filter(|part| part.body != PartBody::Other);
                let ids = ids.map(|part| part.id.clone()).collect();
                (it.message.id.clone(), ids, self.words_of(&it.message))
            })
            .collect();
        let place = |sent: &[(String, Vec<String>, Read)], id: &str| {
            sent.iter().position(|(message, ..)| message == id).expect("the message is there")
        };
        for op in &session.plugin.ops {
            match op {
                FoldOp::Cut { from, to } => {
                    let (from, to) = (place(&sent, from), place(&sent, to));
                    sent.drain(from..=to);
                }
                FoldOp::Keep { message, parts } => {
                    let at = place(&sent, message);
                    let (_, ids, (_, words)) = &mut sent[at];
                    let kept = ids.iter().map(|id| parts.contains(id)).collect::<Vec<_>>();
                    let mut kept_words = kept.iter();
                    words.retain(|_| *kept_words.next().unwrap_or(&true));
                    let mut kept_ids = kept.iter();
                    ids.retain(|_| *kept_ids.next().unwrap_or(&true));
                }
                FoldOp::Replace { message, part, text }
                | FoldOp::Output { message, part, text } => {
                    let at = place(&sent, message);
                    let (_, ids, (_, words)) = &mut sent[at];
                    let part = ids.iter().position(|id| id == part).unwrap();
                    words[part].clone_from(text);
                }
                FoldOp::AddToOutput { message, part, text } => {
                    let at = place(&sent, message);
                    let (_, ids, (_, words)) = &mut sent[at];
                    let part = ids.iter().position(|id| id == part).unwrap();
                    words[part] = format!("{} {text}", words[part]);
                }
                FoldOp::Append { message, text } => {
                    let at = place(&sent, message);
                    sent[at].2.1.push(text.clone());
                }
                FoldOp::Join { message, to } => {
                    let (_, ids, (_, words)) = sent.remove(place(&sent, message));
                    let to = place(&sent, to);
                    sent[to].1.extend(ids);
                    sent[to].2.1.extend(words);
                }
                FoldOp::Insert { after, text } => {
                    let at = place(&sent, after);
                    let ours =
                        (format!("ours {after}"), Vec::new(), (Role::User, vec![text.clone()]));
                    sent.insert(at + 1, ours);
                }
            }
        }
        sent.into_iter().map(|(id, _, read)| (id, read)).collect()
    }
}
