//! A host that continues a session and applies the answers that it gets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use callstack_core::evidence::Action;
use callstack_core::framing::{Division, Todo, TodoStatus};
use callstack_core::subagent::SubagentSettings;
use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, Span, SpanOrigin,
    ToolCall,
};
use callstack_engine::operation::Caller;
use callstack_engine::{
    AutonomySettings, ChildSession, Engine, HostMessage, Level, Settings, SystemRequest,
    SystemWorld, UserMessage, World, operations,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plugin::Plugin;
use crate::support::Pauses;
use crate::witness::{activities, did};

pub(super) const SESSION: &str = "ses_1";
pub(super) const CHILD: &str = "ses_child";
/// Tokens of a call's result: so few that four calls are work but not worth a fold, and so many that they are worth
/// one.
const SHORT: usize = 200;
const LONG: usize = 2_000;

/// The clock of this machine, moved on by a test.
#[derive(Clone, Default)]
struct Clock {
    ahead: Arc<AtomicI64>,
    pauses: Pauses,
}

impl World for Clock {
    fn now(&self) -> i64 {
        SystemWorld.now() + self.ahead.load(Ordering::Relaxed)
    }

    fn elapsed(&self) -> Duration {
        self.pauses.elapsed()
    }

    fn left(&self, until: Duration) -> Option<Duration> {
        self.pauses.left(until)
    }

    fn id(&self, prefix: &str) -> String {
        SystemWorld.id(prefix)
    }
}

pub(super) struct Host {
    pub(super) engine: Engine,
    clock: Clock,
    /// Tokens of what each further call returns.
    output: usize,
    pub(super) folder: TempDir,
    pub(super) shown: Vec<HostMessage>,
    plugin: Plugin,
    made: usize,
}

pub(super) fn settings(level: Level) -> Settings {
    let autonomy = AutonomySettings { level, ..AutonomySettings::default() };
    // A subagent that falls silent is done at once.
    let subagents = SubagentSettings { idle_delay: 0, ..SubagentSettings::default() };
    Settings { autonomy, subagents, ..Settings::default() }
}

fn open(folder: &TempDir, level: Level, clock: &Clock) -> Engine {
    let engine =
        Engine::open_unchecked(folder.path(), settings(level), Box::new(clock.clone())).unwrap();
    engine.read_messages_with(activities);
    engine
}

impl Host {
    pub(super) fn new() -> Self {
        Self::with(Level::Auto)
    }

    pub(super) fn with(level: Level) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = Clock::default();
        let engine = open(&folder, level, &clock);
        Self {
            engine,
            clock,
            output: SHORT,
            folder,
            shown: Vec::new(),
            plugin: Plugin::default(),
            made: 0,
        }
    }

    /// Another process takes over.
    pub(super) fn restart(&mut self) {
        self.engine = self.other();
        self.plugin.known.clear();
        self.plugin.ops.clear();
    }

    /// A further process on the same store.
    pub(super) fn other(&self) -> Engine {
        open(&self.folder, Level::Auto, &self.clock)
    }

    /// Makes the output of later calls so long that work is worth its fold.
    pub(super) fn long_outputs(mut self) -> Self {
        self.output = LONG;
        self
    }

    /// Nothing happens for a while.
    pub(super) fn pass(&self, minutes: i64) {
        let milliseconds = minutes * 60_000;
        self.clock.ahead.fetch_add(milliseconds, Ordering::Relaxed);
        self.clock.pauses.pass(u64::try_from(milliseconds).unwrap());
    }

    fn say(&mut self, role: Role, words: &str, bodies: Vec<PartBody>) -> &mut HostMessage {
        self.made += 1;
        let id = format!("msg_{}", self.made);
        let now = Some(self.clock.now());
        let timed = |body| match body {
            PartBody::Tool(call) => {
                ToolCall { began: now, ended: now, ..ToolCall::clone(&call) }.into()
            }
            body => body,
        };
        let parts = bodies.into_iter().map(timed).enumerate();
        let parts = parts.map(|(part, body)| Part { id: format!("{id}.{part}"), body }).collect();
        self.shown.push(HostMessage {
            words: words.to_owned(),
            ..HostMessage::of(
                Message { id, role, standing: MessageKind::Normal, parts },
                format!("{{\"n\":{}}}", self.made),
            )
        });
        self.shown.last_mut().unwrap()
    }

    /// The user says something, and the model is asked.
    pub(super) fn user(&mut self, words: &str) {
        let text = words.to_owned();
        let message = UserMessage { session: SESSION.to_owned(), host: "test".to_owned(), text };
        self.engine.user_message(&message).unwrap();
        self.say(Role::User, words, vec![text_of(words)]);
        self.sync();
    }

    /// The agent runs commands in one step, and is asked for the next one.
    pub(super) fn step(&mut self, commands: &[&str]) {
        let call = self.made;
        let output = self.output;
        let calls = commands.iter().enumerate().map(|(n, line)| ToolCall {
            exit: Some(0),
            action: Action::Ran((*line).to_owned()),
            ..ToolCall::new(format!("call_{call}.{n}"), "bash", CallState::Completed)
        });
        let shown = self.say(Role::Assistant, "", calls.map(PartBody::from).collect());
        shown.heard = output * commands.len();
        did(shown, commands.iter().map(|line| json!({"ran": line, "exit": 0})));
        self.sync();
    }

    /// The agent writes a file, in the project and in its transcript.
    pub(super) fn write(&mut self, path: &str) {
        std::fs::write(self.folder.path().join(path), path).unwrap();
        let (call, output) = (format!("call_{}", self.made), self.output);
        let action = Action::Wrote(vec![path.to_owned()]);
        let call = ToolCall { action, ..ToolCall::new(call, "write", CallState::Completed) };
        let shown = self.say(Role::Assistant, "", vec![call.into()]);
        shown.heard = output;
        did(shown, [json!({"wrote": path})]);
        self.engine.files_written(SESSION, &[path.to_owned()]).unwrap();
        self.sync();
    }

    /// The agent puts a text into a file in the place of another one.
    pub(super) fn edit(&mut self, path: &str, before: &str, after: &str) {
        self.one_call("edit", json!({"wrote": path, "before": before, "after": after}));
    }

    /// The agent reads a file.
    pub(super) fn read(&mut self, path: &str, output: &str) {
        self.one_call("read", json!({"read": path, "output": output}));
    }

    fn one_call(&mut self, name: &str, doing: Value) {
        let (call, output) = (format!("call_{}", self.made), self.output);
        let shown = self.say(Role::Assistant, "", vec![tool(&call, name)]);
        shown.heard = output;
        did(shown, [doing]);
        self.sync();
    }

    /// The agent writes its list: `>` in progress, `+` completed, `x` cancelled.
    pub(super) fn todos(&mut self, list: &[&str], words: &str) {
        let call = format!("call_{}", self.made);
        let items = list.iter().map(|item| {
            let status = match &item[..1] {
                ">" => TodoStatus::InProgress,
                "+" => TodoStatus::Completed,
                "x" => TodoStatus::Cancelled,
                _ => TodoStatus::Pending,
            };
            let content = item.trim_start_matches(['>', '+', 'x']).to_owned();
            Todo { id: None, content, status }
        });
        let division = Some(Division::Todos(items.collect()));
        let call = ToolCall { division, ..ToolCall::new(call, "todowrite", CallState::Completed) };
        let mut bodies = vec![PartBody::from(call)];
        if !words.is_empty() {
            bodies.insert(0, text_of(words));
        }
        self.say(Role::Assistant, words, bodies);
        self.sync();
    }

    /// The agent has a subagent do something.
    pub(super) fn hand_on(&mut self, words: &str) {
        let child = ChildSession {
            session: CHILD.to_owned(),
            host: "test".to_owned(),
            parent: SESSION.to_owned(),
            title: format!("{words} (@general subagent)"),
        };
        self.engine.child_seen(&child).unwrap();
        let message = UserMessage {
            session: CHILD.to_owned(),
            host: "test".to_owned(),
            text: words.to_owned(),
        };
        self.engine.user_message(&message).unwrap();
    }

    /// The agent calls an operation of ours. Returns the answer.
    pub(super) fn call(&mut self, name: &str, arguments: Value) -> String {
        let call = format!("call_{}", self.made);
        let message = self.say(Role::Assistant, "", vec![tool(&call, name)]).message.id.clone();
        let anchor = Anchor { message: Some(message), call: Some(call.clone()) };
        let caller = Caller {
            session: SESSION.to_owned(),
            host: "test".to_owned(),
            anchor,
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        let answer = operations::find(name).unwrap().run(&self.engine, &caller, arguments).unwrap();
        let opened = answer.opened.map(|num| (call, self.engine.frame(num).unwrap().id));
        self.shown.last_mut().unwrap().opened.extend(opened);
        self.sync();
        answer.text
    }

    pub(super) fn push(&mut self, title: &str) {
        self.call("stack_frame_push", json!({"title": title, "successCriteria": "done"}));
    }

    pub(super) fn pop(&mut self, results: &str) {
        self.call("stack_frame_pop", json!({"results": results}));
    }

    /// The agent closes its turn, which the host reports before the session falls silent.
    pub(super) fn reply(&mut self, words: &str) {
        self.reply_unheard(words);
        let closing = self.shown.last().unwrap().clone();
        self.engine.record(SESSION, vec![closing]).unwrap();
        self.engine.session_idle(SESSION).unwrap();
    }

    /// The agent closes its turn, which the host reports after the session fell silent.
    pub(super) fn reply_late(&mut self, words: &str) {
        self.reply_unheard(words);
        self.engine.session_idle(SESSION).unwrap();
        let closing = self.shown.last().unwrap().clone();
        self.engine.record(SESSION, vec![closing]).unwrap();
    }

    /// The agent closes its turn, and nobody reports it.
    pub(super) fn reply_unheard(&mut self, words: &str) {
        self.say(
            Role::Assistant,
            words,
            vec![PartBody::Reasoning { sealed: false }, text_of(words)],
        );
    }

    /// The user stops the agent while it speaks.
    pub(super) fn aborted(&mut self, words: &str) {
        self.say(Role::Assistant, words, vec![text_of(words)]);
        self.shown.last_mut().unwrap().broken_off = true;
        let closing = self.shown.last().unwrap().clone();
        self.engine.record(SESSION, vec![closing]).unwrap();
        self.engine.session_idle(SESSION).unwrap();
    }

    /// A whole turn with four commands.
    pub(super) fn turn(&mut self, words: &str, reply: &str) {
        self.user(words);
        self.step(&["make", "make test"]);
        self.step(&["make lint", "make docs"]);
        self.reply(reply);
    }

    /// The user takes back everything from a message on.
    pub(super) fn undo(&mut self, from: usize) {
        let message = self.shown[from].message.id.clone();
        self.engine.undone_from(SESSION, &message).unwrap();
        self.shown.truncate(from);
    }

    /// The model is about to be called.
    pub(super) fn sync(&mut self) {
        self.plugin.sync(&self.engine, SESSION, &self.shown);
        // Without a system prompt of ours, no stages of a request are skipped.
        let system = SystemRequest { session: SESSION.to_owned(), limit: None };
        self.engine.system(&system).unwrap();
    }

    /// Makes the engine forget its state beyond so many messages: the host shows them again.
    pub(super) fn show_again_from(&mut self, message: usize) {
        self.plugin.known.truncate(message);
    }

    /// Returns the ids of the messages that the model is sent, with texts of ours in the results of their calls and
    /// at their ends.
    pub(super) fn sent(&self) -> Vec<String> {
        let mut sent: Vec<_> =
            self.shown.iter().map(|shown| (shown.message.id.clone(), String::new())).collect();
        for op in &self.plugin.ops {
            match op {
                FoldOp::Cut { from, to } => {
                    let at = |id: &String| sent.iter().position(|(known, _)| known == id).unwrap();
                    sent.drain(at(from)..=at(to));
                }
                FoldOp::Append { message, text } => {
                    let at = sent.iter().position(|(known, _)| known == message).unwrap();
                    sent[at].1.push_str(" + ");
                    sent[at].1.push_str(text.lines().next().unwrap());
                }
                FoldOp::Output { message, text, .. } => {
                    let at = sent.iter().position(|(known, _)| known == message).unwrap();
                    sent[at].1.push_str(" = ");
                    sent[at].1.push_str(text.lines().next().unwrap());
                }
                FoldOp::Keep { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        sent.into_iter().map(|(id, added)| format!("{id}{added}")).collect()
    }

    /// The tree, a line a frame: title, status, `*` where the session works, and of a root whose first turn is
    /// its own whether that is over.
    pub(super) fn tree(&self) -> String {
        let lines = self.engine.tree(Some(SESSION)).unwrap();
        let spans = self.engine.spans(SESSION).unwrap();
        let described = lines.iter().map(|line| {
            let indent = "  ".repeat(line.branches.chars().count() / 3);
            let star = if line.active { " *" } else { "" };
            let turn = spans.iter().find(|span| {
                let of_root = span.origin == SpanOrigin::FirstTurn && !span.detached;
                of_root && span.frame == line.frame.num
            });
            let turn = match turn.map(|turn| turn.live_close().is_some()) {
                None => "",
                Some(false) => " [turn open]",
                Some(true) => " [turn over]",
            };
            format!("{indent}{} {}{star}{turn}\n", line.frame.identity.title, line.frame.status)
        });
        described.collect()
    }

    /// The newest span of a frame.
    pub(super) fn span(&self, frame: &str) -> Span {
        let num = self.engine.resolve(frame).unwrap().num;
        let spans = self.engine.spans(SESSION).unwrap();
        spans.into_iter().rfind(|span| span.frame == num).unwrap()
    }

    /// Returns the text that a turn or a frame returned when its newest span ended.
    pub(super) fn returned(&self, frame: &str) -> Option<String> {
        self.span(frame).outcome.and_then(|outcome| outcome.results)
    }

    /// The text that stands for a frame.
    pub(super) fn folded(&self, frame: &str) -> String {
        let span = self.span(frame);
        span.fold.as_ref().map_or_else(String::new, |fold| fold.text.clone())
    }
}

fn text_of(words: &str) -> PartBody {
    PartBody::Text { synthetic: false, chars: words.chars().count(), head: words.to_owned() }
}

fn tool(call: &str, tool: &str) -> PartBody {
    PartBody::from(ToolCall::new(call.to_owned(), tool, CallState::Completed))
}
