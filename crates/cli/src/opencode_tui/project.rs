//! The project's store, as far as it can be used, and the watch of its events.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller, TERMINAL};
use callstack_engine::{Engine, EngineError, EventWatch, Kind, StopWatch, operations};
use serde_json::Value;

use super::Signal;
use crate::error::CommandError;
use crate::project::{StartFolder, open};
use crate::wording::for_a_terminal;

/// The longest single wait for events.
const WAIT: Duration = Duration::from_hours(1);
/// Events that are taken at a time.
const AT_ONCE: usize = 256;
/// The pause after the log could not be read.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The project around a place.
pub(super) struct Project<'p> {
    place: &'p StartFolder,
    sender: Sender<Signal>,
    opened: Option<(Open, StopWatch)>,
}

/// The engine of a project.
#[derive(Clone)]
pub(super) struct Open(Arc<Engine>);

impl Deref for Open {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0
    }
}

impl<'p> Project<'p> {
    pub(super) fn of(place: &'p StartFolder, sender: Sender<Signal>) -> Self {
        Self { place, sender, opened: None }
    }

    /// Returns the engine. It is opened where that has not been done. No store is made.
    pub(super) fn open(&mut self) -> Result<Open, EngineError> {
        if let Some((open, _)) = &self.opened {
            return Ok(open.clone());
        }
        let engine = open(&self.place.existing()?)?;
        engine.guard();
        let watch = engine.watch_events(engine.newest_event()?);
        let stop = watch.stopper();
        let sender = self.sender.clone();
        thread::spawn(move || follow(watch, &sender));
        let open = Open(Arc::new(engine));
        self.opened = Some((open.clone(), stop));
        Ok(open)
    }

    /// Forgets the engine, so that the store is opened again when it is next needed.
    pub(super) fn close(&mut self) {
        if let Some((_, stop)) = self.opened.take() {
            stop.stop();
        }
    }

    /// Returns why no frames can be shown, for people; none where there is only no store yet, which the first session
    /// makes.
    pub(super) fn why(&self, failure: &CommandError) -> Option<String> {
        match failure {
            CommandError::Failed(error)
                if error.kind == Kind::NotFound && self.place.found().is_none() =>
            {
                None
            }
            CommandError::Failed(error) => {
                let hint = error.hint.as_ref().map(|hint| format!(". {}", for_a_terminal(hint)));
                Some(format!("{}{}", error.message, hint.unwrap_or_default()))
            }
            _ => Some("the frames can't be read".to_owned()),
        }
    }
}

impl Drop for Project<'_> {
    fn drop(&mut self) {
        self.close();
    }
}

fn follow(mut watch: EventWatch, sender: &Sender<Signal>) {
    while !watch.is_stopped() {
        match watch.wait(WAIT) {
            Ok(false) => continue,
            // Events only mean that the state has to be read again.
            Ok(true) => drop(watch.next_batch(AT_ONCE)),
            // Reading the state shows what is wrong.
            Err(_) => thread::sleep(AFTER_FAILURE),
        }
        if sender.send(Signal::Changed).is_err() {
            return;
        }
    }
}

impl Open {
    /// Carries out an operation of the table for the person at the screen, as commands do. Secrets of known forms are
    /// masked in the answer.
    pub(super) fn run(
        &self,
        session: Option<&str>,
        operation: &str,
        arguments: Value,
    ) -> Result<Answer, CommandError> {
        let found = session.map(|session| self.find_session(session)).transpose()?;
        let found = match found {
            Some(found) => Some(found),
            None => self.latest_session()?,
        };
        let (session, message) = found.unwrap_or_else(|| (TERMINAL.to_owned(), None));
        let caller = Caller {
            session,
            host: TERMINAL.to_owned(),
            anchor: Anchor { message, call: None },
            agent: None,
            performs: false,
            reveal: false,
            key: None,
        };
        let operation = operations::find(operation).ok_or_else(|| {
            EngineError::new(Kind::NotFound, format!("there is no operation `{operation}`"))
                .with_hint("Run `callstack init opencode`, and start OpenCode again.")
        })?;
        Ok(operation.run(self, &caller, arguments)?)
    }
}
