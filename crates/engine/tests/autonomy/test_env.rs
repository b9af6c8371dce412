//! A host with one session, a clock that a test sets, and an engine that can be restarted.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use callstack_core::evidence::Action;
use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{
    Engine, HostMessage, Settings, SystemRequest, UserMessage, World, operations,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plugin::Plugin;
use crate::support::Pauses;

pub(super) const MINUTE: i64 = 60_000;

#[derive(Clone, Default)]
pub(super) struct Clock {
    now: Arc<AtomicI64>,
    ids: Arc<AtomicI64>,
    pauses: Pauses,
}

impl World for Clock {
    fn now(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    fn elapsed(&self) -> Duration {
        self.pauses.elapsed()
    }

    fn left(&self, until: Duration) -> Option<Duration> {
        self.pauses.left(until)
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:04}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}

pub(super) struct TestEnv {
    folder: TempDir,
    pub(super) clock: Clock,
    settings: Settings,
    pub(super) engine: Engine,
    pub(super) session: String,
    pub(super) shown: Vec<HostMessage>,
    plugin: Plugin,
    /// The model's context at the last step, in tokens.
    pub(super) tokens: u64,
}

impl TestEnv {
    pub(super) fn new() -> Self {
        Self::with(&[])
    }

    /// With these variables in the environment.
    pub(super) fn with(vars: &[(&str, &str)]) -> Self {
        let read = |name: &str| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let settings = Settings::from_vars(read).unwrap();
        let folder = TempDir::new().unwrap();
        let clock = Clock::default();
        clock.now.store(1_700_000_000_000, Ordering::Relaxed);
        let engine =
            Engine::open_unchecked(folder.path(), settings.clone(), Box::new(clock.clone()))
                .unwrap();
        Self {
            folder,
            clock,
            settings,
            engine,
            session: "ses_a".to_owned(),
            shown: Vec::new(),
            plugin: Plugin::default(),
            tokens: 1_000,
        }
    }

    /// Ends the process. Another one takes over, to which the host has to show everything.
    pub(super) fn restart(&mut self) {
        let clock = Box::new(self.clock.clone());
        self.engine =
            Engine::open_unchecked(self.folder.path(), self.settings.clone(), clock).unwrap();
        self.plugin.known.clear();
        self.plugin.ops.clear();
    }

    pub(super) fn wait(&self, ms: i64) {
        self.clock.now.fetch_add(ms, Ordering::Relaxed);
    }

    pub(super) fn user(&mut self, words: &str) {
        let message =
            UserMessage { session: self.session.clone(), host: "test".into(), text: words.into() };
        self.engine.user_message(&message).unwrap();
        let body = PartBody::Text { synthetic: false, chars: words.len(), head: words.to_owned() };
        self.add(Role::User, vec![body], words);
    }

    /// Adds a step of the model with calls, or with one that shows nothing. Its request goes out first.
    pub(super) fn step(&mut self, calls: &[ToolCall]) {
        self.sync();
        let nothing = [ToolCall::new("", "bash", CallState::Completed)];
        let calls = if calls.is_empty() { &nothing } else { calls };
        let number = self.shown.len();
        let bodies = calls.iter().enumerate().map(|(n, call)| {
            let id = format!("call_{number}.{n}");
            PartBody::from(ToolCall { id, ..call.clone() })
        });
        self.add(Role::Assistant, bodies.collect(), "");
    }

    /// A step that calls an operation; gives the answer.
    pub(super) fn call(&mut self, name: &str, arguments: Value) -> Answer {
        self.sync();
        let call = format!("call_{}", self.shown.len());
        let state = CallState::Completed;
        let body = PartBody::from(ToolCall::new(call.clone(), name, state));
        let message = self.add(Role::Assistant, vec![body], "");
        let anchor = Anchor { message: Some(message), call: Some(call.clone()) };
        let answer = self.ask_at(name, arguments, anchor);
        let opened = answer.opened.map(|num| (call, self.engine.frame(num).unwrap().id));
        self.shown.last_mut().unwrap().opened.extend(opened);
        answer
    }

    /// Calls an operation without leaving a trace in the transcript.
    pub(super) fn ask(&self, name: &str, arguments: Value) -> Answer {
        self.ask_at(name, arguments, Anchor { message: None, call: None })
    }

    fn ask_at(&self, name: &str, arguments: Value, anchor: Anchor) -> Answer {
        let caller = Caller {
            session: self.session.clone(),
            host: "test".to_owned(),
            anchor,
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        let operation = operations::find(name).unwrap();
        operation.run(&self.engine, &caller, arguments).unwrap()
    }

    pub(super) fn push(&mut self, title: &str) {
        let criteria = format!("{title} is done");
        self.call("stack_frame_push", json!({"title": title, "successCriteria": criteria}));
    }

    pub(super) fn pop(&mut self) {
        self.call("stack_frame_pop", json!({"results": "it is done"}));
    }

    fn add(&mut self, role: Role, bodies: Vec<PartBody>, words: &str) -> String {
        let number = self.shown.len();
        let id = format!("msg_{number}");
        let parts = bodies.into_iter().enumerate();
        let parts = parts.map(|(n, body)| Part { id: format!("prt_{number}.{n}"), body });
        let parts = parts.collect();
        self.shown.push(HostMessage {
            tokens: (role == Role::Assistant).then_some(self.tokens),
            said: 20,
            heard: 20,
            words: words.to_owned(),
            ..HostMessage::of(
                Message { id: id.clone(), role, standing: MessageKind::Normal, parts },
                "{}".to_owned(),
            )
        });
        id
    }

    /// Sends the next request, which contains the engine's suggestions.
    pub(super) fn sync(&mut self) -> &[FoldOp] {
        let request = SystemRequest { session: self.session.clone(), limit: Some(128_000) };
        self.engine.system(&request).unwrap();
        self.plugin.sync(&self.engine, &self.session, &self.shown);
        &self.plugin.ops
    }

    /// Returns the suggestions about pushing and popping in the next request.
    pub(super) fn said(&mut self) -> Vec<String> {
        let texts = self.sync().iter().filter_map(|op| match op {
            FoldOp::AddToOutput { text, .. } => Some(text.clone()),
            FoldOp::Append { text, .. } | FoldOp::Insert { text, .. } => {
                assert!(!text.contains("SUGGESTION"), "in the user's mouth: {text}");
                None
            }
            _ => None,
        });
        texts.filter(|text| text.contains("[STACK SUGGESTION: Consider ")).collect()
    }

    /// Numbers and outcomes of all suggestions, the newest first.
    pub(super) fn history(&self) -> Vec<(u64, String)> {
        let data = self.ask("stack_autonomy_stats", json!({})).data;
        let history = data["suggestionHistory"].as_array().unwrap().iter();
        history
            .map(|it| {
                let outcome = it["outcome"].as_str().unwrap_or("waiting");
                (it["num"].as_u64().unwrap(), outcome.to_owned())
            })
            .collect()
    }

    /// The numbers of those that wait in the session.
    pub(super) fn waiting(&self) -> Vec<u64> {
        let data = self.ask("stack_auto_suggest", json!({})).data;
        let waiting = data["pendingSuggestions"].as_array().unwrap().iter();
        assert!(
            waiting.clone().all(|it| it["frame"].as_str().is_some_and(|it| it.starts_with('f')))
        );
        waiting.map(|it| it["num"].as_u64().unwrap()).collect()
    }

    /// Runs a `make` that fails so many times, each time after a change to the same file.
    pub(super) fn fail(&mut self, times: usize) {
        for _ in 0..times {
            self.step(&[wrote("src/a.rs")]);
            self.step(&[ran("make", 2)]);
        }
    }
}

pub(super) fn called(tool: &str, action: Action) -> ToolCall {
    ToolCall { action, ..ToolCall::new("", tool, CallState::Completed) }
}

pub(super) fn ran(line: &str, exit: i64) -> ToolCall {
    ToolCall { exit: Some(exit), ..called("bash", Action::Ran(line.to_owned())) }
}

pub(super) fn wrote(path: &str) -> ToolCall {
    called("write", Action::Wrote(vec![path.to_owned()]))
}
