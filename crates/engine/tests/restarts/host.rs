//! A host with several sessions. The process that serves it can end between any two of its steps, and so can the host
//! itself.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use callstack_core::evidence::Action;
use callstack_core::framing::{Division, Todo, TodoStatus};
use callstack_core::transcript::{
    Anchor, CallState, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use callstack_engine::effect::{EffectOutcome, Next, Reaction};
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{
    ChildSession, Engine, HostMessage, ReturnedTask, Settings, SubagentFilter, SystemRequest,
    UserMessage, operations,
};
use serde_json::{Value, json};

use crate::plugin::Plugin;
use crate::support::Clock;
use crate::witness::{activities, did};

pub(super) struct Host {
    engine: Engine,
    folder: std::path::PathBuf,
    world: Clock,
    settings: Settings,
    shown: BTreeMap<String, Vec<HostMessage>>,
    plugins: BTreeMap<String, Plugin>,
    /// The messages that the user has undone.
    undone: Vec<HostMessage>,
    next: BTreeMap<String, Next>,
    /// The messages that the engine was given, each with its session.
    given: Vec<(String, String)>,
    made: usize,
    /// The engine's answers since the last call.
    said: Vec<String>,
}

impl Host {
    pub(super) fn new(folder: &Path, settings: Settings) -> Self {
        let world = Clock::default();
        Self {
            engine: open(folder, &settings, &world),
            folder: folder.to_path_buf(),
            world,
            settings,
            shown: BTreeMap::new(),
            plugins: BTreeMap::new(),
            undone: Vec::new(),
            next: BTreeMap::new(),
            given: Vec::new(),
            made: 0,
            said: Vec::new(),
        }
    }

    pub(super) fn other(&self) -> Engine {
        open(&self.folder, &self.settings, &self.world)
    }

    /// The process ends, and another one takes over. The plugin continues with the state that it holds.
    pub(super) fn restart_process(&mut self) {
        self.engine = self.other();
        for plugin in self.plugins.values_mut() {
            plugin.known.clear();
        }
    }

    /// The host ends, and its plugin with it.
    pub(super) fn restart_all(&mut self) {
        self.engine = self.other();
        self.plugins.clear();
    }

    /// The same host at the same place with another project, which begins as this one is now.
    pub(super) fn fork(&self, folder: &Path) -> Self {
        copy(&self.folder, folder);
        let world = self.world.fork();
        Self {
            engine: open(folder, &self.settings, &world),
            folder: folder.to_path_buf(),
            world,
            settings: self.settings.clone(),
            shown: self.shown.clone(),
            plugins: self.plugins.clone(),
            undone: self.undone.clone(),
            next: self.next.clone(),
            given: Vec::new(),
            made: self.made,
            said: Vec::new(),
        }
    }

    /// Another process continues; the present one stays as it is.
    pub(super) fn swap(&mut self, aside: &mut (Engine, BTreeMap<String, Vec<String>>)) {
        std::mem::swap(&mut self.engine, &mut aside.0);
        for (session, plugin) in &mut self.plugins {
            let theirs = aside.1.remove(session).unwrap_or_default();
            let ours = std::mem::replace(&mut plugin.known, theirs);
            aside.1.insert(session.clone(), ours);
        }
    }

    pub(super) fn pass(&self, milliseconds: i64) {
        self.world.pass(milliseconds);
    }

    fn add(&mut self, session: &str, role: Role, words: &str, body: PartBody) -> &mut HostMessage {
        self.add_parts(session, role, words, vec![body])
    }

    fn add_parts(
        &mut self,
        session: &str,
        role: Role,
        words: &str,
        bodies: Vec<PartBody>,
    ) -> &mut HostMessage {
        self.made += 1;
        let id = format!("msg_{:03}", self.made);
        let parts = bodies.into_iter().enumerate();
        let parts = parts.map(|(n, body)| Part { id: format!("prt_{:03}.{n}", self.made), body });
        let parts = parts.collect();
        let (said, heard) = if role == Role::User { (0, 90) } else { (70, 200) };
        let shown = self.shown.entry(session.to_owned()).or_default();
        let before = shown.iter().rev().find_map(|it| it.tokens).unwrap_or(4_000);
        let json = json!({
            "info": {"id": id, "role": if role == Role::User { "user" } else { "assistant" }},
            "parts": [{"type": "text", "text": words}],
        });
        shown.push(HostMessage {
            message: Message { id, role, standing: MessageKind::Normal, parts },
            json: json.to_string(),
            broken_off: false,
            opened: Vec::new(),
            results: Vec::new(),
            tasks: Vec::new(),
            // More than is estimated, so that the estimates are corrected.
            tokens: (role == Role::Assistant).then_some(before + 500),
            said,
            heard,
            returned: 0,
            summary: None,
            words: words.to_owned(),
        });
        shown.last_mut().unwrap()
    }

    fn say(&mut self, session: &str, role: Role, words: &str) -> &mut HostMessage {
        let (chars, head) = (words.chars().count(), words.to_owned());
        self.add(session, role, words, PartBody::Text { synthetic: false, chars, head })
    }

    /// The user says something.
    pub(super) fn user(&mut self, session: &str, words: &str) {
        let message =
            UserMessage { session: session.into(), host: "test".into(), text: words.into() };
        self.engine.user_message(&message).unwrap();
        self.say(session, Role::User, words);
    }

    /// The model is about to be called: with all that was shown and then with the system prompt.
    pub(super) fn request(&mut self, session: &str) {
        let shown = self.shown.get(session).cloned().unwrap_or_default();
        let plugin = self.plugins.entry(session.to_owned()).or_default();
        plugin.sync(&self.engine, session, &shown);
        let given = plugin.known.last().map(|id| (session.to_owned(), id.clone()));
        self.given.extend(given);
        let request = SystemRequest { session: session.to_owned(), limit: Some(30_000) };
        let system = self.engine.system(&request).unwrap();
        self.said.push(format!("sent to {session}: {:#?}\n{system:#?}", plugin.ops));
    }

    /// The agent's step runs commands that end with these codes.
    pub(super) fn step(&mut self, session: &str, commands: &[(&str, i64)]) {
        let calls = commands.iter().enumerate().map(|(n, (line, exit))| ToolCall {
            exit: Some(*exit),
            action: Action::Ran((*line).to_owned()),
            ..ToolCall::new(format!("call_{}.{n}", self.made), "bash", CallState::Completed)
        });
        let bodies = calls.map(PartBody::from).collect();
        let shown = self.add_parts(session, Role::Assistant, "", bodies);
        did(shown, commands.iter().map(|(line, exit)| json!({"ran": line, "exit": exit})));
    }

    /// The agent's step writes a file.
    pub(super) fn write(&mut self, session: &str, path: &str) {
        std::fs::write(self.folder.join(path), path).unwrap();
        self.engine.files_written(session, &[path.to_owned()]).unwrap();
        let call = format!("call_{}", self.made);
        let action = Action::Wrote(vec![path.to_owned()]);
        let call = ToolCall { action, ..ToolCall::new(call, "write", CallState::Completed) };
        let shown = self.add(session, Role::Assistant, "", call.into());
        did(shown, [json!({"wrote": path})]);
    }

    /// The agent writes its list: `>` in progress, `+` completed.
    pub(super) fn todos(&mut self, session: &str, list: &[&str]) {
        let call = format!("call_{}", self.made);
        let items = list.iter().map(|item| {
            let status = match &item[..1] {
                ">" => TodoStatus::InProgress,
                "+" => TodoStatus::Completed,
                _ => TodoStatus::Pending,
            };
            Todo { id: None, content: item.trim_start_matches(['>', '+']).to_owned(), status }
        });
        let division = Some(Division::Todos(items.collect()));
        let call = ToolCall { division, ..ToolCall::new(call, "todowrite", CallState::Completed) };
        self.add(session, Role::Assistant, "", call.into());
    }

    /// The agent closes its turn.
    pub(super) fn reply(&mut self, session: &str, words: &str) {
        let closing = self.say(session, Role::Assistant, words).clone();
        self.record(session, closing);
    }

    /// The agent closes its turn and falls silent.
    pub(super) fn close(&mut self, session: &str, words: &str) {
        self.request(session);
        self.reply(session, words);
        self.idle(session);
    }

    pub(super) fn idle(&mut self, session: &str) {
        let mut reaction = self.engine.compaction_over(session).unwrap();
        if reaction.effects.is_empty() {
            reaction = self.engine.session_idle(session).unwrap();
        }
        self.reacted(&reaction);
    }

    pub(super) fn failed(&mut self, session: &str, message: &str) {
        let failure = callstack_engine::Failure { stopped: false, message: message.to_owned() };
        self.engine.session_failed(session, failure).unwrap();
    }

    pub(super) fn wake(&mut self) {
        let reaction = self.engine.wake().unwrap();
        self.reacted(&reaction);
    }

    fn reacted(&mut self, reaction: &Reaction) {
        self.said.push(format!("{reaction:#?}"));
    }

    /// The agent's step calls an operation of ours.
    pub(super) fn call(&mut self, session: &str, name: &str, arguments: Value) {
        let call = format!("call_{}", self.made);
        let state = CallState::Completed;
        let body = PartBody::from(ToolCall::new(call.clone(), name, state));
        self.add(session, Role::Assistant, "", body);
        let operation = operations::find(name).unwrap();
        let answer = operation.run(&self.engine, &self.caller(session), arguments);
        self.answered(session, answer.unwrap_or_else(|error| panic!("{name}: {error:?}")));
    }

    /// The effect that a call waits for was carried out.
    pub(super) fn goes_on(&mut self, session: &str, name: &str, value: Value) {
        let token = self.next.remove(session).expect("nothing is waited for").token;
        let operation = operations::find(name).unwrap();
        let outcome = EffectOutcome::Ok(value);
        let answer = operation.resume(&self.engine, &self.caller(session), token, outcome);
        self.answered(session, answer.unwrap());
    }

    fn answered(&mut self, session: &str, answer: Answer) {
        let heard = (&answer.text, answer.next.as_ref().map(|next| &next.effect), &answer.effects);
        self.said.push(format!("{heard:#?}"));
        let shown = self.shown.get_mut(session).unwrap();
        let last = shown.iter_mut().rfind(|it| call_of(it).is_some()).unwrap();
        if let (Some(num), Some(call)) = (answer.opened, call_of(last)) {
            last.opened.push((call, self.engine.frame(num).unwrap().id));
        }
        self.next.extend(answer.next.map(|next| (session.to_owned(), next)));
    }

    fn caller(&self, session: &str) -> Caller {
        let last = self.shown[session].iter().rfind(|it| call_of(it).is_some()).unwrap();
        Caller {
            session: session.to_owned(),
            host: "test".to_owned(),
            anchor: Anchor { message: Some(last.message.id.clone()), call: call_of(last) },
            agent: Some("build".to_owned()),
            performs: true,
            reveal: true,
            key: None,
        }
    }

    /// A subagent's session begins.
    pub(super) fn child(&mut self, session: &str, parent: &str, title: &str) {
        let child = ChildSession {
            session: session.into(),
            host: "test".into(),
            parent: parent.into(),
            title: title.into(),
        };
        let reaction = self.engine.child_seen(&child).unwrap();
        self.reacted(&reaction);
    }

    /// The call that a subagent worked for has returned.
    pub(super) fn task_returned(&mut self, session: &str, child: &str, results: &str) {
        let call = format!("call_{}", self.made);
        let state = CallState::Completed;
        let body = PartBody::from(ToolCall::new(call, "task", state));
        let task = ReturnedTask { session: child.into(), outcome: Ok(results.into()) };
        self.add(session, Role::Assistant, "", body).tasks = vec![task];
    }

    /// The host compacts a session, whose summary hides all that was said before.
    pub(super) fn compact(&mut self, session: &str, words: &str) {
        let prompt = self.engine.compacting(session).unwrap();
        self.said.push(format!("{prompt:#?}"));
        let summary = self.say(session, Role::Assistant, words);
        summary.message.standing = MessageKind::Summary;
        summary.summary = Some(words.to_owned());
        let shown = self.shown.get_mut(session).unwrap();
        let summary = shown.pop().unwrap();
        shown.clear();
        shown.push(summary.clone());
        self.record(session, summary);
    }

    fn record(&mut self, session: &str, shown: HostMessage) {
        self.given.push((session.to_owned(), shown.message.id.clone()));
        self.engine.record(session, vec![shown]).unwrap();
    }

    /// The user takes back everything from the newest message on that says these words.
    pub(super) fn undo(&mut self, session: &str, words: &str) {
        let shown = self.shown.get_mut(session).unwrap();
        let from = shown.iter().rposition(|it| it.words == words).unwrap();
        self.undone = shown.split_off(from);
        self.engine.undone_from(session, &self.undone[0].message.id).unwrap();
    }

    /// The user takes that back.
    pub(super) fn redo(&mut self, session: &str) {
        self.shown.get_mut(session).unwrap().append(&mut self.undone);
        self.engine.redone(session, &HashSet::new()).unwrap();
    }

    /// Looks at everything without changing it.
    pub(super) fn look(&self) -> String {
        look(&self.engine)
    }

    /// Waits until all that the engine was given is on the disk.
    pub(super) fn settle(&mut self) {
        for (session, id) in self.given.drain(..) {
            while !self.engine.messages(&session).unwrap().iter().any(|it| it.id == id) {
                std::thread::yield_now();
            }
        }
    }

    pub(super) fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }
}

fn open(folder: &Path, settings: &Settings, world: &Clock) -> Engine {
    let engine = Engine::open_unchecked(folder, settings.clone(), Box::new(world.clone())).unwrap();
    engine.read_messages_with(activities);
    engine
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            // Files that are written in the background have a temporary name for a while.
            match std::fs::copy(entry.path(), &to) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                copied => drop(copied.unwrap()),
            }
        }
    }
}

fn call_of(shown: &HostMessage) -> Option<String> {
    shown.message.calls().next().map(|call| call.id.clone())
}

/// The tree, and all that is still to come.
pub(super) fn look(engine: &Engine) -> String {
    let mut state = serde_json::to_value(engine.state().unwrap()).unwrap();
    // Each store has its own.
    state["store"] = Value::Null;
    let caller = Caller {
        session: "ses_a".to_owned(),
        host: "test".to_owned(),
        anchor: Anchor { message: None, call: None },
        agent: None,
        performs: false,
        reveal: true,
        key: None,
    };
    let ask = |name: &str| operations::find(name).unwrap().run(engine, &caller, json!({}));
    let pending = [
        "stack_compaction_info",
        "stack_autonomy_stats",
        "stack_auto_suggest",
        "stack_autonomy",
        "stack_stats",
        "stack_tree",
    ]
    .map(|name| ask(name).unwrap().text);
    let subagents = engine.subagents(&SubagentFilter::default()).unwrap();
    let spans = ["ses_a", "ses_c", "ses_s"].map(|session| engine.spans(session).unwrap());
    format!("{state:#}\n{}\n{subagents:#?}\n{spans:#?}", pending.join("\n"))
}
