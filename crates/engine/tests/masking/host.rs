//! A host whose agent reads four large files in turn, one a step, and whose process can end between any two steps.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use callstack_core::evidence::{Action, Activity};
use callstack_core::masking::outputs::ResultWeight;
use callstack_core::masking::subject::Subject;
use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use callstack_engine::operation::Caller;
use callstack_engine::{
    Engine, HostMessage, Level, MaskOutputs, Settings, SyncAnswer, SyncRequest, SystemRequest,
    UserMessage, operations,
};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::plugin::{Plugin, whole};
use crate::support::Clock;

pub(super) const SESSION: &str = "ses_1";
/// Tokens of a file.
pub(super) const FILE: usize = 2_000;
/// Files that are read again and again.
const FILES: usize = 4;

pub(super) struct Host {
    pub(super) engine: Engine,
    pub(super) session: String,
    folder: PathBuf,
    clock: Clock,
    settings: Settings,
    pub(super) shown: Vec<HostMessage>,
    pub(super) plugin: Plugin,
    made: usize,
    /// Tokens that the model takes at most.
    pub(super) limit: Option<u64>,
    /// Whether the agent reads another file each time.
    pub(super) only_new: bool,
}

pub(super) fn settings(mask_outputs: MaskOutputs) -> Settings {
    Settings { mask_outputs, ..Settings::default() }
}

pub(super) fn level(level: Level, mask_outputs: MaskOutputs) -> Settings {
    let mut settings = settings(mask_outputs);
    settings.autonomy.level = level;
    settings
}

fn open(folder: &Path, settings: &Settings, clock: &Clock) -> Engine {
    let engine = Engine::open_unchecked(folder, settings.clone(), Box::new(clock.clone())).unwrap();
    engine.read_messages_with(activities);
    engine
}

thread_local! {
    static READ: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of messages that were read since the last call.
pub(super) fn messages_read() -> usize {
    READ.take()
}

/// Reads the JSON of this host's messages.
fn activities(json: &str, _: &Path) -> Vec<(String, Activity)> {
    READ.set(READ.get() + 1);
    let message: Value = serde_json::from_str(json).unwrap();
    let parts = message["parts"].as_array().unwrap().iter();
    let outputs = parts.filter(|part| part["type"] == "tool").map(|part| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let call = ToolCall {
            input: text(&part["command"]).into(),
            output: Some(text(&part["output"])),
            action: Action::Ran(text(&part["command"])),
            ..ToolCall::new("", "bash", CallState::Completed)
        };
        (text(&part["id"]), Activity::called(call))
    });
    outputs.collect()
}

impl Host {
    pub(super) fn new(folder: &Path, settings: Settings) -> Self {
        let clock = Clock::default();
        Self {
            engine: open(folder, &settings, &clock),
            session: SESSION.to_owned(),
            folder: folder.to_path_buf(),
            clock,
            settings,
            shown: Vec::new(),
            plugin: Plugin::default(),
            made: 0,
            limit: None,
            only_new: false,
        }
    }

    /// A further process on the same store.
    pub(super) fn other(&self) -> Engine {
        open(&self.folder, &self.settings, &self.clock)
    }

    /// The process ends, and another one takes over. The plugin continues with the state that it holds.
    pub(super) fn restart_process(&mut self) {
        self.restart_with(self.settings.clone());
    }

    pub(super) fn restart_with(&mut self, settings: Settings) {
        self.settings = settings;
        self.engine = self.other();
        self.plugin.known.clear();
    }

    /// The host ends, and its plugin with it.
    pub(super) fn restart_all(&mut self) {
        self.restart_process();
        self.plugin = Plugin::default();
    }

    pub(super) fn pass(&self, minutes: i64) {
        self.clock.pass(minutes * 60_000);
    }

    fn say(&mut self, role: Role, bodies: Vec<PartBody>) -> &mut HostMessage {
        self.made += 1;
        let id = format!("msg_{:02}", self.made);
        let parts = bodies.into_iter().enumerate();
        let parts = parts.map(|(n, body)| Part { id: format!("{id}.{n}"), body }).collect();
        let json = json!({"info": {"id": id}, "parts": []}).to_string();
        let message = Message { id, role, standing: MessageKind::Normal, parts };
        self.shown.push(HostMessage::of(message, json));
        self.shown.last_mut().unwrap()
    }

    pub(super) fn user(&mut self, words: &str) {
        let (session, host) = (self.session.clone(), "test".to_owned());
        let message = UserMessage { session, host, text: words.to_owned() };
        self.engine.user_message(&message).unwrap();
        let (chars, head) = (words.chars().count(), words.to_owned());
        let shown = self.say(Role::User, vec![PartBody::Text { synthetic: false, chars, head }]);
        shown.words = words.to_owned();
        shown.heard = 20;
    }

    /// The agent begins a frame.
    pub(super) fn push(&mut self, title: &str) {
        let call = format!("call_{}", self.made);
        let state = CallState::Completed;
        let tool = "stack_frame_push".to_owned();
        let tool = PartBody::from(ToolCall::new(call.clone(), tool, state));
        let message = self.say(Role::Assistant, vec![tool]).message.id.clone();
        let caller = Caller {
            session: self.session.clone(),
            host: "test".to_owned(),
            anchor: Anchor { message: Some(message), call: Some(call.clone()) },
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        let arguments = json!({"title": title, "successCriteria": "it is known"});
        let push = operations::find("stack_frame_push").unwrap();
        let opened = push.run(&self.engine, &caller, arguments).unwrap().opened.unwrap();
        let frame = self.engine.frame(opened).unwrap().id;
        self.shown.last_mut().unwrap().opened.push((call, frame));
    }

    /// The user forks the session, and goes on in the copy.
    pub(super) fn fork(&mut self) {
        let renamed = |id: &str| id.replace("msg_", "copy_");
        self.session = "ses_2".to_owned();
        for shown in &mut self.shown {
            shown.message.id = renamed(&shown.message.id);
            shown.json = renamed(&shown.json);
            for part in &mut shown.message.parts {
                part.id = renamed(&part.id);
            }
            for result in &mut shown.results {
                result.part = renamed(&result.part);
            }
        }
        self.plugin = Plugin::default();
    }

    /// The agent thinks, and reads a file of so many tokens.
    pub(super) fn read(&mut self, tokens: usize) {
        let call = format!("call_{}", self.made);
        let number = if self.only_new { self.made } else { self.made % FILES };
        let file = format!("notes/part-{number}.txt");
        let command = format!("cat {file}");
        let output = format!("{file} tells of port 80{:02} at https://h{0}.example/", self.made);
        let state = CallState::Completed;
        let tool = PartBody::from(ToolCall::new(call, "bash", state));
        let shown = self.say(Role::Assistant, vec![PartBody::Reasoning { sealed: false }, tool]);
        let part = shown.message.parts[1].id.clone();
        let tool = json!({"type": "tool", "id": part, "command": command, "output": output});
        shown.json = json!({"info": {"id": shown.message.id}, "parts": [tool]}).to_string();
        let subject = Some(Subject::called("bash", &command));
        shown.results = vec![ResultWeight { part, tokens, subject }];
        shown.said = 40;
        shown.heard = tokens;
        let sent: usize = self.shown.iter().map(|it| it.said + it.heard).sum();
        if let Some(shown) = self.shown.last_mut() {
            shown.tokens = u64::try_from(sent - tokens).ok();
        }
    }

    /// The model is about to be called, a few seconds after the last time.
    pub(super) fn request(&mut self) {
        self.clock.pass(5_000);
        self.plugin.sync(&self.engine, &self.session, &self.shown);
        self.system();
    }

    /// The same, and the answer comes too late.
    pub(super) fn request_lost(&mut self) {
        self.clock.pass(5_000);
        self.plugin.ask(&self.engine, &self.session, &self.shown).unwrap();
        self.system();
    }

    fn system(&self) {
        let request = SystemRequest { session: self.session.clone(), limit: self.limit };
        self.engine.system(&request).unwrap();
    }

    /// The same while the store refuses lines. Returns whether the call failed for that reason.
    pub(super) fn request_refused(&mut self) -> bool {
        let store = Connection::open(self.folder.join(".callstack/callstack.db")).unwrap();
        let refuse =
            "CREATE TRIGGER refuses BEFORE INSERT ON masks BEGIN SELECT RAISE(ABORT, 'no'); END";
        store.execute_batch(refuse).unwrap();
        let answer = self.plugin.ask(&self.engine, &self.session, &self.shown);
        store.execute_batch("DROP TRIGGER refuses").unwrap();
        answer.is_err()
    }

    /// The operations for the host's request for a compaction, which lacks the newest messages.
    pub(super) fn compacting(&self, without: usize) -> Vec<FoldOp> {
        let shown = &self.shown[..self.shown.len() - without];
        let request = SyncRequest { compacting: true, ..whole(&self.session, shown.to_vec()) };
        match self.engine.sync(request).unwrap() {
            SyncAnswer::Ops { ops, .. } => ops,
            SyncAnswer::All => panic!("a compaction is answered whole"),
        }
    }

    /// A turn's steps, each with its request.
    pub(super) fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.read(FILE);
            self.request();
        }
    }

    /// The places of messages with a masked result.
    pub(super) fn masked(&self) -> Vec<usize> {
        let masked = |shown: &HostMessage| {
            let output = |op: &FoldOp| matches!(op, FoldOp::Output { message, .. } if *message == shown.message.id);
            self.plugin.ops.iter().any(output)
        };
        (0..self.shown.len()).filter(|at| masked(&self.shown[*at])).collect()
    }

    /// The places of steps that are sent without their reasoning.
    pub(super) fn unreasoned(&self) -> Vec<usize> {
        let cut = |shown: &HostMessage| {
            let keep = |op: &FoldOp| matches!(op, FoldOp::Keep { message, .. } if *message == shown.message.id);
            self.plugin.ops.iter().any(keep)
        };
        (0..self.shown.len()).filter(|at| cut(&self.shown[*at])).collect()
    }

    /// Returns the announcements of outputs that will leave.
    pub(super) fn announcements(&self) -> Vec<&str> {
        let notes = self.plugin.ops.iter().filter_map(|op| match op {
            FoldOp::Insert { text, .. } | FoldOp::Append { text, .. } => Some(text.as_str()),
            _ => None,
        });
        notes.filter(|text| text.contains(" % full")).collect()
    }

    /// The lines, in order.
    pub(super) fn lines(&self) -> Vec<&str> {
        let lines = self.plugin.ops.iter().filter_map(|op| match op {
            FoldOp::Output { text, .. } => Some(text.as_str()),
            _ => None,
        });
        lines.collect()
    }
}
