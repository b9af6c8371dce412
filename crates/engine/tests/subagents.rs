//! Sessions that agents start for subagents.

#[cfg(test)]
mod asked;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod frames;

use callstack_core::subagent::{SubagentSession, Trouble};
use callstack_core::transcript::{CallState, Message, MessageKind, Part, PartBody, Role, ToolCall};
use callstack_engine::operation::Answer;
use callstack_engine::{
    ChildSession, ChildStatus, Engine, EngineError, HostMessage, Kind, ReturnedTask, Settings,
    SubagentFilter, UserMessage, operations,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plugin::whole;
use crate::support::{Clock, caller};

const PARENT: &str = "ses_parent";
const CHILD: &str = "ses_child";
const NAMED: &str = "look (@general subagent)";
const HOUR: i64 = 60 * 60 * 1_000;

/// A project in which one session has pushed a frame, f2, below its root.
struct TestEnv {
    folder: TempDir,
    clock: Clock,
    settings: Settings,
    engine: Engine,
}

impl TestEnv {
    fn new(vars: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::default();
        let settings = Settings::from_vars(|name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
        .unwrap();
        let engine =
            Engine::open_unchecked(folder.path(), settings.clone(), Box::new(clock.clone()))
                .unwrap();
        let desk = Self { folder, clock, settings, engine };
        desk.user(PARENT, "Do it");
        desk.did("stack_frame_push", json!({"title": "Ask around", "successCriteria": "known"}));
        desk
    }

    /// Another process on the same project.
    fn another(&self) -> Engine {
        let world = Box::new(self.clock.clone());
        Engine::open_unchecked(self.folder.path(), self.settings.clone(), world).unwrap()
    }

    /// The process ends, and another one takes over.
    fn restart(&mut self) {
        self.engine = self.another();
    }

    fn pass(&self, milliseconds: i64) {
        self.clock.pass(milliseconds);
    }

    fn user(&self, session: &str, words: &str) {
        let message = UserMessage {
            session: session.to_owned(),
            host: "test".to_owned(),
            text: words.to_owned(),
        };
        self.engine.user_message(&message).unwrap();
    }

    fn begins(&self, session: &str, parent: &str, title: &str) {
        let child = ChildSession {
            session: session.to_owned(),
            host: "test".to_owned(),
            parent: parent.to_owned(),
            title: title.to_owned(),
        };
        self.engine.child_seen(&child).unwrap();
    }

    /// Runs a subagent, which is started, prompted, and answers.
    fn subagent(&self, session: &str, title: &str, said: &str) {
        self.begins(session, PARENT, title);
        self.user(session, "Look into it");
        self.says(session, "msg-1", said);
    }

    fn says(&self, session: &str, id: &str, words: &str) {
        self.engine.record(session, vec![message(id, Role::Assistant, words)]).unwrap();
    }

    fn calls(&self, session: &str, shown: Vec<HostMessage>) {
        self.engine.sync(whole(session, shown)).unwrap();
    }

    /// Shows the parent's model that its call has returned.
    fn returns(&self, id: &str, outcome: Result<&str, (bool, &str)>) {
        let outcome = match outcome {
            Ok(results) => Ok(results.to_owned()),
            Err((aborted, message)) => Err(Trouble { aborted, message: message.to_owned() }),
        };
        let tasks = vec![ReturnedTask { session: CHILD.to_owned(), outcome }];
        let words = message("msg-ask", Role::User, "Do it");
        let mut push = message("msg-call", Role::Assistant, "");
        push.message.parts[0].body =
            ToolCall::new(format!("call-{PARENT}"), "stack_frame_push", CallState::Completed)
                .into();
        self.calls(
            PARENT,
            vec![words, push, HostMessage { tasks, ..message(id, Role::Assistant, "") }],
        );
    }

    fn call(&self, name: &str, arguments: Value) -> Result<Answer, EngineError> {
        operations::find(name).unwrap().run(&self.engine, &caller(PARENT), arguments)
    }

    #[track_caller]
    fn did(&self, name: &str, arguments: Value) -> Answer {
        self.call(name, arguments).unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    #[track_caller]
    fn refused(&self, name: &str, arguments: Value) -> (Kind, String) {
        let error = self.call(name, arguments).expect_err(name);
        (error.kind, error.sentence())
    }

    fn tracked(&self, session: &str) -> SubagentSession {
        let all = self.engine.subagents(&SubagentFilter::default()).unwrap();
        all.into_iter().find(|it| it.session == session).unwrap()
    }

    fn standing(&self) -> &'static str {
        ChildStatus::of(&self.tracked(CHILD)).as_str()
    }

    /// `title status: results` of a frame.
    fn frame(&self, handle: &str) -> String {
        let frame = self.engine.resolve(handle).unwrap();
        let results = frame.results.map_or_else(String::new, |results| format!(": {results}"));
        format!("{} {}{results}", frame.identity.title, frame.status)
    }

    fn assert_sound(&self) {
        let health = self.engine.check().unwrap();
        assert!(health.damage.is_empty() && health.drifted.is_empty(), "{health:?}");
    }
}

fn message(id: &str, role: Role, words: &str) -> HostMessage {
    let body =
        PartBody::Text { synthetic: false, chars: words.chars().count(), head: words.to_owned() };
    let name = if role == Role::User { "user" } else { "assistant" };
    let json = json!({
        "info": {"id": id, "role": name},
        "parts": [{"type": "text", "text": words}],
    });
    HostMessage {
        said: 1,
        heard: 1,
        words: words.to_owned(),
        ..HostMessage::of(
            Message {
                id: id.to_owned(),
                role,
                standing: MessageKind::Normal,
                parts: vec![Part { id: format!("prt-{id}"), body }],
            },
            json.to_string(),
        )
    }
}

const SILENCE: &str = "\n\n(Its session fell silent without a pop; these are its last words.)";
