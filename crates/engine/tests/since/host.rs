//! A host whose agent thinks, and calls tools with outputs of any length; its processes may end between any two
//! steps.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use callstack_core::dialect::Dialect;
use callstack_core::evidence::{Action, Activity};
use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{
    Engine, EngineError, HostMessage, Level, Settings, SystemRequest, UserMessage, World,
    operations, tools,
};
use serde_json::{Value, json};

use crate::plugin::Plugin;
use crate::support::Clock;

pub(crate) const SESSION: &str = "ses_1";

/// A message as it is sent: its id, its author, and its parts, each with the text that is read.
type Sent = Vec<(String, Role, Vec<(String, String)>)>;

pub(crate) struct Host {
    pub(crate) engine: Engine,
    pub(crate) session: String,
    folder: PathBuf,
    clock: Clock,
    settings: Settings,
    pub(crate) shown: Vec<HostMessage>,
    pub(crate) plugin: Plugin,
    /// The prefix of each step.
    made_after: HashMap<String, Sent>,
    last: Sent,
    made: usize,
}

pub(crate) fn at_level(level: Level) -> Settings {
    let mut settings = Settings::default();
    settings.autonomy.level = level;
    settings
}

/// Reads the JSON of this host's messages.
fn activities(json: &str, _: &Path) -> Vec<(String, Activity)> {
    let message: Value = serde_json::from_str(json).unwrap();
    let parts = message["parts"].as_array().into_iter().flatten();
    let calls = parts.filter(|part| part["type"] == "tool").map(|part| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let state = &part["state"];
        let (tool, input) = (text(&part["tool"]), text(&state["input"]["of"]));
        let action = match tool.as_str() {
            "bash" => Action::Ran(input.clone()),
            "read" => Action::Read(input.clone()),
            "edit" => Action::Wrote(vec![input.clone()]),
            _ => Action::Other,
        };
        let (input, output) = (input.into(), Some(text(&state["output"])));
        let call = ToolCall::new("", tool, CallState::Completed);
        let call = ToolCall { input, output, action, ..call };
        (text(&part["id"]), Activity::called(call))
    });
    calls.collect()
}

impl Host {
    pub(crate) fn new(folder: &Path, settings: Settings) -> Self {
        let clock = Clock::default();
        let engine = Self::open(folder, &settings, &clock);
        Self {
            engine,
            session: SESSION.to_owned(),
            folder: folder.to_path_buf(),
            clock,
            settings,
            shown: Vec::new(),
            plugin: Plugin::default(),
            made_after: HashMap::new(),
            last: Sent::new(),
            made: 0,
        }
    }

    fn open(folder: &Path, settings: &Settings, clock: &Clock) -> Engine {
        let engine =
            Engine::open_unchecked(folder, settings.clone(), Box::new(clock.clone())).unwrap();
        engine.read_messages_with(activities);
        engine
    }

    /// Lets a further process take over, with a plugin that has sent it nothing yet. Returns the earlier process,
    /// which goes on.
    pub(crate) fn elsewhere(&mut self) -> Engine {
        let other = Self::open(&self.folder, &self.settings, &self.clock);
        self.in_process(other)
    }

    /// The same with one that is there already.
    pub(crate) fn in_process(&mut self, engine: Engine) -> Engine {
        self.plugin.known.clear();
        std::mem::replace(&mut self.engine, engine)
    }

    pub(crate) fn restart_process(&mut self) {
        self.engine = Self::open(&self.folder, &self.settings, &self.clock);
        self.plugin.known.clear();
    }

    pub(crate) fn restart_all(&mut self) {
        self.restart_process();
        self.plugin = Plugin::default();
    }

    pub(crate) fn pass(&self, minutes: i64) {
        self.clock.pass(minutes * 60_000);
    }

    fn say(
        &mut self,
        role: Role,
        standing: MessageKind,
        bodies: Vec<(PartBody, Value)>,
    ) -> &mut HostMessage {
        self.made += 1;
        let id = format!("msg_{:02}", self.made);
        let (mut parts, mut json) = (Vec::new(), Vec::new());
        for (n, (body, mut body_json)) in bodies.into_iter().enumerate() {
            let part = format!("{id}.{n}");
            body_json["id"] = part.as_str().into();
            parts.push(Part { id: part, body });
            json.push(body_json);
        }
        let json = json!({"info": {"id": id}, "parts": json}).to_string();
        self.shown.push(HostMessage::of(Message { id, role, standing, parts }, json));
        self.shown.last_mut().unwrap()
    }

    fn text(words: &str) -> (PartBody, Value) {
        let (chars, head) = (words.chars().count(), words.to_owned());
        let body = PartBody::Text { synthetic: false, chars, head };
        (body, json!({"type": "text", "text": words}))
    }

    pub(crate) fn user(&mut self, words: &str) {
        let (session, host) = (self.session.clone(), "test".to_owned());
        let message = UserMessage { session, host, text: words.to_owned() };
        self.engine.user_message(&message).unwrap();
        let shown = self.say(Role::User, MessageKind::Normal, vec![Self::text(words)]);
        shown.words = words.to_owned();
        shown.heard = 20;
        self.request();
    }

    /// The agent ends its turn.
    pub(crate) fn reply(&mut self, words: &str) {
        self.say(Role::Assistant, MessageKind::Normal, vec![Self::text(words)]).words =
            words.to_owned();
        self.note_prefix();
    }

    fn note_prefix(&mut self) {
        let id = self.shown.last().unwrap().message.id.clone();
        self.made_after.insert(id, self.last.clone());
    }

    /// A step of the agent: it thinks and makes calls, each with its tool, its argument and how many characters it
    /// returns. Those of ours are carried out; the answer of the last one is returned.
    pub(crate) fn calls(
        &mut self,
        calls: &[(&str, &str, usize)],
        ours: &[(usize, Value)],
    ) -> Result<Answer, EngineError> {
        let mut bodies =
            vec![(PartBody::Reasoning { sealed: false }, json!({"type": "reasoning"}))];
        let now = Some(self.clock.now());
        for (n, (tool, input, _)) in calls.iter().enumerate() {
            let call = format!("call_{}_{n}", self.made + 1);
            let state = CallState::Completed;
            let action = match *tool {
                "read" => Action::Read((*input).to_owned()),
                "edit" => Action::Wrote(vec![(*input).to_owned()]),
                _ => Action::Other,
            };
            let made = ToolCall::new(call.clone(), *tool, state);
            let body = PartBody::from(ToolCall { began: now, ended: now, action, ..made });
            let output = format!("the output of {input}");
            let state = json!({"status": "completed", "input": {"of": input}, "output": output});
            let part = json!({"type": "tool", "tool": tool, "callID": call, "state": state});
            bodies.push((body, part));
        }
        let (before, chars) = (self.shown.len(), calls.iter().map(|it| it.2).sum::<usize>());
        let shown = self.say(Role::Assistant, MessageKind::Normal, bodies);
        shown.said = 40;
        shown.heard = chars / 4;
        shown.returned = chars;
        let mut answer = Ok(Answer::default());
        for (n, arguments) in ours {
            let message = &self.shown[before].message;
            let made = message.parts[n + 1].call().unwrap();
            let (call, tool) = (&made.id, &made.tool);
            let caller = self.caller(&message.id, call);
            answer = operations::find(tool).unwrap().run(&self.engine, &caller, arguments.clone());
            let opened = answer.as_ref().ok().and_then(|answer| answer.opened);
            let opened = opened.map(|it| (call.clone(), self.engine.frame(it).unwrap().id));
            self.shown[before].opened.extend(opened);
        }
        self.note_prefix();
        answer
    }

    fn caller(&self, message: &str, call: &str) -> Caller {
        Caller {
            session: self.session.clone(),
            host: "test".to_owned(),
            anchor: Anchor { message: Some(message.to_owned()), call: Some(call.to_owned()) },
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        }
    }

    /// Returns another process's answer when the last call is repeated.
    pub(crate) fn again(&self, part: usize, arguments: &Value) -> Option<Answer> {
        let message = &self.shown.last().unwrap().message;
        let made = message.parts[part + 1].call().unwrap();
        let (call, tool) = (&made.id, &made.tool);
        let other = Self::open(&self.folder, &self.settings, &self.clock);
        let tool = tools::find(Dialect::Stack, tool).unwrap();
        tool.done_before(&other, &self.caller(&message.id, call), arguments).unwrap()
    }

    /// Adds a step that makes one call, and the request after it.
    pub(crate) fn call(&mut self, tool: &str, input: &str, chars: usize) {
        self.calls(&[(tool, input, chars)], &[]).unwrap();
        self.request();
    }

    pub(crate) fn reads(&mut self, count: usize, chars: usize) {
        for _ in 0..count {
            let file = format!("src/part_{}.rs", self.made);
            self.call("read", &file, chars);
        }
    }

    /// Adds a step that calls one of our tools, and the request after it.
    pub(crate) fn ours(&mut self, tool: &str, arguments: Value) -> Result<String, EngineError> {
        let answer = self.calls(&[(tool, "", 0)], &[(0, arguments)]);
        self.request();
        answer.map(|answer| answer.text)
    }

    pub(crate) fn push(&mut self, title: &str) {
        let arguments = json!({"title": title, "successCriteria": "it is known"});
        self.ours("stack_frame_push", arguments).unwrap();
    }

    pub(crate) fn pop(&mut self) -> String {
        self.ours("stack_frame_pop", json!({"results": "all is known"})).unwrap()
    }

    pub(crate) fn since(&mut self, name: &str) -> Result<String, EngineError> {
        let arguments = json!({"since": name, "title": "Survey", "results": "there are 3 parts"});
        self.ours("stack_frame_pop", arguments)
    }

    /// Undoes everything after so many messages, as the host.
    pub(crate) fn undo(&mut self, keep: usize) -> Vec<HostMessage> {
        let gone = self.shown.split_off(keep);
        self.engine.undone_from(&self.session, &gone[0].message.id).unwrap();
        gone
    }

    /// The host takes an undo back.
    pub(crate) fn redo(&mut self, gone: Vec<HostMessage>) {
        self.shown.extend(gone);
        self.engine.redone(&self.session, &HashSet::new()).unwrap();
        self.request();
    }

    pub(crate) fn compact(&mut self, keep: usize) {
        let part = (PartBody::Other, json!({"type": "compaction"}));
        self.say(Role::User, MessageKind::CompactionRequest, vec![part]);
        let summary =
            self.say(Role::Assistant, MessageKind::Summary, vec![Self::text("all so far")]);
        summary.summary = Some("all so far".to_owned());
        let summary = self.shown.split_off(self.shown.len() - 2);
        let tail = self.shown.split_off(self.shown.len() - keep);
        self.shown = [summary, tail].concat();
        self.request();
    }

    /// The user forks the session, and goes on in the copy.
    pub(crate) fn fork(&mut self, name: &str, keep: usize) {
        let renamed = |id: &str| match id.split_once('_') {
            Some((_, rest)) => format!("{name}_{rest}"),
            None => id.to_owned(),
        };
        self.session = format!("ses_{name}");
        self.shown.truncate(keep);
        for shown in &mut self.shown {
            let copy = renamed(&shown.message.id);
            shown.json = shown.json.replace(&shown.message.id, &copy);
            shown.message.id = copy;
            for part in &mut shown.message.parts {
                part.id = renamed(&part.id);
            }
        }
        let made_after = self.made_after.drain().map(|(id, sent)| {
            let sent = sent.into_iter().map(|(id, role, parts)| {
                let parts = parts.into_iter().map(|(id, read)| (renamed(&id), read)).collect();
                (renamed(&id), role, parts)
            });
            (renamed(&id), sent.collect())
        });
        self.made_after = made_after.collect();
        self.plugin = Plugin::default();
        self.request();
    }

    /// Makes a request: no step has reasoning after another prefix than its own.
    #[track_caller]
    pub(crate) fn request(&mut self) {
        self.clock.pass(5_000);
        self.plugin.sync(&self.engine, &self.session, &self.shown);
        let system = SystemRequest { session: self.session.clone(), limit: None };
        self.engine.system(&system).unwrap();
        let sent = self.sent_of_last_request();
        for (at, (id, _, parts)) in sent.iter().enumerate() {
            if parts.iter().any(|(_, read)| read == "think") {
                assert_eq!(self.made_after[id], sent[..at], "in front of {id}");
            }
        }
        self.last = sent;
    }

    fn sent_of_last_request(&self) -> Sent {
        let known = &self.plugin.known;
        let shown = self.shown.iter().filter(|shown| known.contains(&shown.message.id));
        let mut sent: Sent = shown
            .map(|shown| {
                let shown_json: Value = serde_json::from_str(&shown.json).unwrap();
                let parts = shown.message.parts.iter().enumerate().map(|(n, part)| {
                    let shown_json = &shown_json["parts"][n];
                    let read = match &part.body {
                        PartBody::Text { head, .. } => format!("\"{head}\""),
                        PartBody::Reasoning { .. } => "think".to_owned(),
                        PartBody::Tool(call) => {
                            let input = shown_json["state"]["input"]["of"].as_str();
                            format!("{}({})", call.tool, input.unwrap_or_default())
                        }
                        _ => String::new(),
                    };
                    (part.id.clone(), read)
                });
                (shown.message.id.clone(), shown.message.role, parts.collect())
            })
            .collect();
        for op in &self.plugin.ops {
            carry_out(&mut sent, op);
        }
        sent
    }

    /// Returns the last request, a line for each message, with only the first line of texts of ours.
    pub(crate) fn sent(&self) -> String {
        let line = |(id, _, parts): &(String, Role, Vec<(String, String)>)| {
            let parts: Vec<&str> = parts.iter().map(|(_, read)| read.as_str()).collect();
            format!("{id}: {}", parts.join(" "))
        };
        self.sent_of_last_request().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The texts that name steps, as they were sent last.
    pub(crate) fn names(&self) -> Vec<&str> {
        let texts = self.plugin.ops.iter().filter_map(|op| match op {
            FoldOp::AddToOutput { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the replacement of a call's result.
    pub(crate) fn output(&self, message: &str) -> &str {
        let mut outputs = self.plugin.ops.iter().filter_map(|op| match op {
            FoldOp::Output { message: at, text, .. } if at == message => Some(text.as_str()),
            _ => None,
        });
        outputs.next_back().unwrap_or_else(|| panic!("{:#?}", self.plugin.ops))
    }
}

fn carry_out(sent: &mut Sent, op: &FoldOp) {
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let at = |id: &String| sent.iter().position(|(known, ..)| known == id).unwrap();
    let part_of = |parts: &[(String, String)], id: &String| {
        parts.iter().position(|(known, _)| known == id).unwrap()
    };
    match op {
        FoldOp::Cut { from, to } => {
            let cut = at(from)..=at(to);
            sent.drain(cut);
        }
        FoldOp::Keep { message, parts } => {
            let at = at(message);
            sent[at].2.retain(|(id, _)| parts.contains(id));
        }
        FoldOp::Output { message, part, text } => {
            let at = at(message);
            let part = part_of(&sent[at].2, part);
            let call = sent[at].2[part].1.split(" = ").next().unwrap_or_default().to_owned();
            sent[at].2[part].1 = format!("{call} = {}", first(text));
        }
        FoldOp::AddToOutput { message, part, text } => {
            let at = at(message);
            let part = part_of(&sent[at].2, part);
            let name = text.split(':').next().unwrap_or_default().to_owned();
            sent[at].2[part].1 += &[" + ", &name].concat();
        }
        FoldOp::Append { message, text } => {
            let at = at(message);
            sent[at].2.push((String::new(), first(text)));
        }
        FoldOp::Insert { after, text } => {
            let at = at(after);
            let ours = (format!("ours {after}"), Role::User, vec![(String::new(), first(text))]);
            sent.insert(at + 1, ours);
        }
        FoldOp::Join { message, to } => {
            let (_, _, parts) = sent.remove(at(message));
            let to = sent.iter().position(|(known, ..)| known == to).unwrap();
            sent[to].2.extend(parts);
        }
        FoldOp::Replace { .. } => panic!("{op:?}"),
    }
}
