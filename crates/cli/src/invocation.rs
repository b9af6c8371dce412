//! What the commands have in common: the place, the session that is meant, and the way to the table of
//! operations.

use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{Engine, EngineError, Kind, operations};
use serde_json::Value;

use crate::args::Global;
use crate::error::Failure;
use crate::project::{Place, open};

/// The host's name for frames that are begun from a terminal, and the session they belong to where no
/// agent has worked yet.
const HOST: &str = "cli";

/// A command about to be carried out.
#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    pub(crate) place: Place,
    session: Option<&'a str>,
}

impl<'a> Invocation<'a> {
    pub(crate) fn of(global: &'a Global) -> Result<Self, Failure> {
        let place = Place::of(global.directory.as_deref())?;
        Ok(Self { place, session: global.session.as_deref() })
    }

    /// The engine of a project that has a store.
    pub(crate) fn engine(&self) -> Result<Engine, Failure> {
        Ok(open(&self.place.existing()?)?)
    }

    /// The engine, with a new store where there is none.
    pub(crate) fn engine_or_new(&self) -> Result<Engine, Failure> {
        Ok(open(&self.place.existing_or_new()?)?)
    }

    /// On whose behalf operations run: the session that was named, else the one that worked last, so
    /// that the same verbs act on the tree that the agent sees.
    pub(crate) fn caller(&self, engine: &Engine) -> Result<Caller, Failure> {
        let (session, message) = match self.session {
            Some(HOST) => (HOST.to_owned(), None),
            Some(reference) => engine.find_session(reference)?,
            None => engine.latest_session()?.unwrap_or_else(|| (HOST.to_owned(), None)),
        };
        let anchor = Anchor { message, call: None };
        Ok(Caller { session, host: HOST.to_owned(), anchor, agent: None, performs: false })
    }

    /// Carries out an operation of the table.
    pub(crate) fn run(
        &self,
        engine: &Engine,
        operation: &str,
        arguments: Value,
    ) -> Result<Answer, Failure> {
        let caller = self.caller(engine)?;
        let operation = operations::find(operation).ok_or_else(|| EngineError {
            kind: Kind::Internal,
            message: format!("there is no operation `{operation}`"),
            hint: None,
        })?;
        Ok(operation.run(engine, &caller, arguments)?)
    }
}
