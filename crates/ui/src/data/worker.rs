//! The thread that asks the engine, so that keys are answered while it works.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use callstack_engine::operation::{Answer, Caller};
use callstack_engine::search::SearchAnswer;
use callstack_engine::{Engine, EngineError, Kind, operations};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answers::Folded;
use super::loads::{Deed, Load, Loaded, Rollback};
use super::messages::Piece;
use super::rows::rows;
use crate::terminal::news::News;

/// Returns the caller of operations: its session may change as agents work.
pub type CallerNow = Box<dyn Fn(&Engine) -> Result<Caller, EngineError> + Send>;

/// Bytes of the patch of a file.
const PATCH: usize = 200_000;
/// Places that a search shows.
const PLACES: usize = 50;

/// Answers questions one after the other.
pub(crate) struct Worker {
    pub(crate) engine: Arc<Engine>,
    pub(crate) caller: CallerNow,
}

impl Worker {
    /// Answers questions until no more can come. Those that a waiting one makes useless are left out.
    pub(crate) fn run(self, questions: &Receiver<Load>, news: &Sender<News>) {
        let mut waiting = VecDeque::new();
        loop {
            if waiting.is_empty() {
                match questions.recv() {
                    Ok(load) => waiting.push_back(load),
                    Err(_) => return,
                }
            }
            waiting.extend(questions.try_iter());
            let Some(load) = waiting.pop_front() else { continue };
            if waiting.iter().any(|later| load.is_outdated_by(later)) {
                continue;
            }
            let loaded = self.answer(load);
            if news.send(News::Loaded(loaded)).is_err() {
                return;
            }
        }
    }

    fn answer(&self, load: Load) -> Loaded {
        match load {
            Load::Tree => {
                let list = self.read("stack_frames", json!({"detail": "titles"}));
                Loaded::Tree(list.map(|list| rows(&list)))
            }
            Load::Details(frame) => {
                let arguments = json!({"frame": frame.to_string(), "near": true});
                let details = self.read("stack_frame_details", arguments);
                Loaded::Details(frame, Box::new(details))
            }
            Load::Log { frame, from, count } => {
                let arguments = json!({"frame": frame.to_string(), "from": from, "count": count});
                Loaded::Log(frame, self.read("stack_read_frame", arguments))
            }
            Load::Diff(frame) => {
                let arguments = json!({"frame": frame.to_string(), "count": 100, "limit": PATCH});
                Loaded::Diff(frame, self.read("stack_diff", arguments))
            }
            Load::Sent { session, from, count } => {
                let mut arguments = json!({"from": from, "count": count});
                put(&mut arguments, "session", session.as_deref());
                Loaded::Sent(session, self.read::<Piece>("stack_sent", arguments))
            }
            Load::Folded { frame, from } => {
                let arguments = json!({"frame": frame.to_string(), "from": from, "count": 50});
                Loaded::Folded(frame, self.read::<Folded>("stack_folded", arguments))
            }
            Load::Window { session } => {
                let mut arguments = json!({});
                put(&mut arguments, "session", session.as_deref());
                Loaded::Window(self.read("stack_window", arguments))
            }
            Load::Search(text) => {
                let found = self.read("stack_search", json!({"query": text, "limit": PLACES}));
                Loaded::Search(text, found.map(|found: SearchAnswer| found.places))
            }
            Load::Preview(rollback) => {
                let Rollback { frame, all, undo } = rollback;
                let arguments = json!({"frame": frame.to_string(), "all": all, "undo": undo,
                    "dryRun": true});
                Loaded::Preview(rollback, self.read("stack_frame_rollback", arguments))
            }
            Load::Do(Deed { operation, arguments }) => {
                let done = self.run_operation(operation, arguments);
                Loaded::Done(done.map(|answer| {
                    let line = answer.text.lines().next().unwrap_or_default();
                    if line.is_empty() { answer.title } else { line.to_owned() }
                }))
            }
        }
    }

    fn read<T: DeserializeOwned>(
        &self,
        operation: &str,
        arguments: Value,
    ) -> Result<T, EngineError> {
        let answer = self.run_operation(operation, arguments)?;
        serde_json::from_value(answer.data).map_err(|error| {
            EngineError::new(
                Kind::Internal,
                format!("the answer of `{operation}` is not as agreed: {error}"),
            )
        })
    }

    fn run_operation(&self, name: &str, arguments: Value) -> Result<Answer, EngineError> {
        operations::named(name)?.run(&self.engine, &(self.caller)(&self.engine)?, arguments)
    }
}

fn put(arguments: &mut Value, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        arguments[name] = Value::from(value);
    }
}
