//! The common part of commands: the place, the session that they act in, and calls of the table's operations.

use callstack_engine::operation::{Answer, Caller, Operate, TERMINAL};
use callstack_engine::{Engine, EngineError, operations};
use callstack_store::FOLDER;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::{Global, NewStore};
use crate::error::CommandError;
use crate::operations::Machine;
use crate::output::Output;
use crate::project::{StartFolder, open};
use crate::reporter::Reporter;

/// The host's name for frames that are begun from a terminal, and the session they belong to where no
/// agent has worked yet.
const HOST: &str = TERMINAL;

/// A command about to be carried out.
#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    pub(crate) place: StartFolder,
    pub(crate) session: Option<&'a str>,
}

impl<'a> Invocation<'a> {
    pub(crate) fn of(global: &'a Global) -> Result<Self, CommandError> {
        let place = StartFolder::of(global.directory.as_deref())?;
        Ok(Self { place, session: global.session.as_deref() })
    }

    /// Whether a session was named.
    pub(crate) fn names_a_session(&self) -> bool {
        self.session.is_some()
    }

    /// Returns the engine of a project that has a store.
    pub(crate) fn engine(&self) -> Result<Engine, CommandError> {
        Ok(open(&self.place.existing()?)?)
    }

    /// Returns the engine, and reports what happened to the files of the store, and databases that were put aside.
    pub(crate) fn engine_with_remarks(
        &self,
        reporter: &mut dyn Reporter,
    ) -> Result<Engine, CommandError> {
        let engine = self.engine()?;
        for notice in engine.file_notices() {
            reporter.remark(&notice);
        }
        if let Some(aside) = engine.databases_aside().last() {
            reporter.remark(&format!(
                "another state of the store came into the place of the one before, which is kept as {}; `callstack \
                 doctor` says what to do with it",
                aside.display()
            ));
        }
        Ok(engine)
    }

    /// Returns the engine, with a new store if there is none and one is wanted.
    pub(crate) fn engine_or_new(
        &self,
        new: NewStore,
        reporter: &mut dyn Reporter,
    ) -> Result<Engine, CommandError> {
        if !new.here || self.place.found().is_some() {
            return self.engine_with_remarks(reporter);
        }
        let project = self.place.existing_or_new()?;
        let engine = open(&project)?;
        let folder = project.join(FOLDER);
        let folder = folder.display();
        reporter.remark(&if engine.newest_event()?.seq == 0 {
            format!("made a store in {folder}")
        } else {
            format!(
                "the store in {folder} had been deleted, and is there again; \
                 `callstack init opencode --remove --with-store` deletes it for good"
            )
        });
        Ok(engine)
    }

    /// Returns the caller of operations. Its session is the one that was named, else the one that worked last, so that
    /// commands act on the tree that the agent sees.
    pub(crate) fn caller(&self, engine: &Engine) -> Result<Caller, CommandError> {
        Ok(Self::caller_of(self.session, engine)?)
    }

    /// The same for a session that was named, if one was.
    pub(crate) fn caller_of(named: Option<&str>, engine: &Engine) -> Result<Caller, EngineError> {
        let (session, message) = match named {
            Some(HOST) => (HOST.to_owned(), None),
            Some(reference) => engine.find_session(reference)?,
            None => engine.latest_session()?.unwrap_or_else(|| (HOST.to_owned(), None)),
        };
        Ok(Caller::at_terminal(session, message, false))
    }

    /// Carries out an operation of the table. Secrets of known forms are masked in the answer.
    pub(crate) fn run(
        &self,
        engine: &Engine,
        operation: &str,
        arguments: Value,
    ) -> Result<Answer, CommandError> {
        self.run_revealing(false, engine, operation, arguments)
    }

    /// Carries out an operation of the table. Secrets of known forms are masked in the answer unless `reveal` is set.
    pub(crate) fn run_revealing(
        &self,
        reveal: bool,
        engine: &Engine,
        operation: &str,
        arguments: Value,
    ) -> Result<Answer, CommandError> {
        let caller = Caller { reveal, ..self.caller(engine)? };
        Ok(operations::named(operation)?.run(engine, &caller, arguments)?)
    }

    /// Carries out an operation of the machine, and returns the data of its answer. Secrets of known forms are masked
    /// in it.
    pub(crate) fn on_machine<O>(
        &self,
        output: &Output,
        params: O::Params,
    ) -> Result<O::Output, CommandError>
    where
        O: Operate<Machine>,
        O::Output: DeserializeOwned,
    {
        crate::operations::on_machine::<O>(&self.machine(output), params)
    }

    /// Returns the machine, for operations that are called one after the other.
    pub(crate) fn machine(&self, output: &Output) -> Machine {
        Machine::new(self.place.clone(), Output::new(output.json()))
    }
}
