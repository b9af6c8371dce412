use std::sync::{Arc, Mutex, PoisonError};

use callstack_engine::{Engine, EngineError, Profile, SystemWorld, World as _};
use callstack_mcp::{McpServer, Project, Sessions, session_of};

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::project::{StartFolder, open, settings, variable};
use crate::signals::before_the_end;

/// The environment variable in which Claude Code gives the servers that it starts the session's id.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// Serve any agent over the Model Context Protocol
///
/// An agent's program starts this command: `callstack init mcp` tells the programs that are there how. The frames are
/// those of the project that the command is started in; the first one makes a store where there is none.
#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {}

pub(crate) fn run(
    McpArgs {}: &McpArgs,
    invocation: Invocation<'_>,
    _output: &mut Output,
) -> Result<(), CommandError> {
    let conversation = variable(SESSION).filter(|id| !id.is_empty());
    let session = invocation.session.map(str::to_owned);
    let session = session.or_else(|| conversation.map(|id| session_of(&id)));
    let session = session.unwrap_or_else(|| session_of(&SystemWorld.id("")));
    let project = Here { place: invocation.place, engine: Mutex::default() };
    let server =
        McpServer::new(Arc::new(project), Sessions::Process(session), env!("CARGO_PKG_VERSION"));
    callstack_mcp::serve_stdio(server).map_err(|error| {
        EngineError::invalid(
            format!("a client can't be served any more: {error}"),
            "A program with agents starts this command; `callstack init mcp` tells it how.",
        )
        .caused_by(error)
        .into()
    })
}

/// The project that the command was started in.
struct Here {
    place: StartFolder,
    /// The engine, once it is open.
    engine: Mutex<Option<Arc<Engine>>>,
}

impl Here {
    /// Returns the engine that is open, or opens it; a store that can't be used now is tried again at the next call.
    fn opened(
        &self,
        open: impl FnOnce() -> Result<Option<Engine>, EngineError>,
    ) -> Result<Option<Arc<Engine>>, EngineError> {
        let mut known = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = open()?.map(Arc::new);
            if let Some(engine) = known.as_ref() {
                engine.guard();
                before_the_end(engine.last_check());
                engine.write_files();
            }
        }
        Ok(known.clone())
    }
}

impl Project for Here {
    fn existing(&self) -> Result<Option<Arc<Engine>>, EngineError> {
        self.opened(|| self.place.found().map(|project| open(&project)).transpose())
    }

    fn existing_or_new(&self) -> Result<Arc<Engine>, EngineError> {
        let engine = self.opened(|| open(&self.place.existing_or_new()?).map(Some))?;
        engine.ok_or_else(|| {
            EngineError::invalid("there is no store", "Make one: `callstack init mcp`.")
        })
    }

    fn profile(&self) -> Result<Profile, EngineError> {
        Ok(settings()?.profile)
    }
}
