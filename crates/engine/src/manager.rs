//! The specification's `FrameStateManager`: all that can be done to frames, for programs that use this as
//! a library. Thin: each change goes through the same decisions and limits as an agent's call.
//!
//! Frames are named by id, handle (`f12`), former id or a unique prefix of these, and come back as [`FrameMetadata`].
//! Times are milliseconds since 1970. Errors are [`EngineError`]s: `not_found` for a frame that is not there,
//! `conflict` for a change that the state does not allow, `limit` for a limit of the tree, `unavailable` for a store
//! that can't be used.

mod planning;

use callstack_core::decide::{Activate, Command, Create, Pop, Reopen};
use callstack_core::frame::{Frame, Identity, Status};
use callstack_core::framing::identity_of;
use callstack_core::transcript::{Anchor, Outcome};
use callstack_store::StoreError;

use crate::dense::compact;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::operation::Caller;
use crate::state::{FrameMetadata, StackState};
pub use planning::{Invalidated, NewFrame};

/// Everything that can be done to frames, on behalf of one session.
pub struct FrameStateManager<'e> {
    engine: &'e Engine,
    caller: Caller,
}

impl<'e> FrameStateManager<'e> {
    /// Makes a manager on behalf of a session, whose active frame is meant where none is named. `host` is the program
    /// that the session belongs to, for instance `opencode`.
    pub fn new(engine: &'e Engine, session: &str, host: &str) -> Self {
        let anchor = Anchor { message: None, call: None };
        let (agent, performs) = (None, false);
        let (session, host) = (session.to_owned(), host.to_owned());
        let caller = Caller { session, host, anchor, agent, performs, reveal: true, key: None };
        Self { engine, caller }
    }
}

impl FrameStateManager<'_> {
    /// Begins a frame whose id and session are `session_id`, below `parent` or as a root.
    ///
    /// A `conflict` where the id is or was another frame's, or the parent has ended.
    pub fn create_frame(
        &self,
        session_id: &str,
        identity: Identity,
        parent: Option<&str>,
    ) -> Result<FrameMetadata, EngineError> {
        let parent = parent.map(|parent| self.engine.resolve(parent)).transpose()?;
        let command = Command::Create(Create {
            session: session_id.to_owned(),
            host: self.caller.host.clone(),
            parent: parent.map(|parent| parent.num),
            identity: titled(identity)?,
        });
        self.changed(&command)
    }

    /// Takes a frame to another status: it begins, ends with these results, is invalidated, or comes back. The
    /// changes of [`Status::may_become`] are legal, and so is opening a terminal frame again; the status that it
    /// already has changes nothing.
    pub fn update_frame_status(
        &self,
        frame: &str,
        status: Status,
        results: Option<&str>,
        results_compacted: Option<&str>,
    ) -> Result<FrameMetadata, EngineError> {
        let found = self.engine.resolve(frame)?;
        if found.status == status {
            return self.shown(&found);
        }
        match status {
            Status::Completed | Status::Failed | Status::Blocked => {
                let results = results.map(str::to_owned).or_else(|| found.results.clone());
                let compacted = results_compacted
                    .map(str::to_owned)
                    .or_else(|| found.results_compacted.clone());
                self.end(&found, self.outcome(&found, status, results, compacted)?)?;
            }
            Status::Invalidated => {
                self.invalidate_frame(frame, results.unwrap_or("It was marked as invalidated."))?;
            }
            Status::InProgress if found.status.is_terminal() => self.reopen(&found)?,
            Status::InProgress => {
                self.activate_frame(frame)?;
            }
            Status::Planned => {
                return Err(EngineError::new(
                    Kind::Conflict,
                    format!("frame {} is {} and can't become planned", found.label(), found.status),
                )
                .with_hint("Plan a frame like it."));
            }
        }
        self.shown(&self.engine.frame(found.num)?)
    }

    /// Ends a frame as completed, failed or blocked, and returns its parent's id; none for a root. The session that
    /// worked in it continues in the parent.
    ///
    /// A `conflict` where children are still in progress.
    pub fn complete_frame(
        &self,
        frame: &str,
        status: Status,
        results: &str,
        results_compacted: &str,
    ) -> Result<Option<String>, EngineError> {
        let found = self.engine.resolve(frame)?;
        let (results, compacted) = (results.to_owned(), results_compacted.to_owned());
        let outcome = self.outcome(&found, status, Some(results), Some(compacted))?;
        self.end(&found, outcome)?;
        found.parent.map(|parent| Ok(self.engine.frame(parent)?.id)).transpose()
    }

    /// Returns a frame; none where there is none. An ambiguous reference is an error.
    pub fn get_frame(&self, frame: &str) -> Result<Option<FrameMetadata>, EngineError> {
        let found = self.engine.kernel.read(|view| match view.resolve(frame) {
            Err(StoreError::NoFrame(_)) => Ok(None),
            found => found.map(Some),
        })?;
        found.filter(|found| !found.detached).map(|found| self.shown(&found)).transpose()
    }

    /// The frame that the session works in.
    pub fn get_active_frame(&self) -> Result<Option<FrameMetadata>, EngineError> {
        let active = self.engine.active(&self.caller.session)?;
        active.map(|active| self.shown(&self.engine.frame(active)?)).transpose()
    }

    /// Makes a frame in progress the active one of the session that works in it, and that session the one
    /// that was active last.
    ///
    /// A `conflict` where the frame is not in progress, or where a child of it is in the same session.
    pub fn set_active_frame(&self, frame: &str) -> Result<FrameMetadata, EngineError> {
        self.changed(&Command::Focus { frame: self.engine.resolve(frame)?.num })
    }

    /// The ancestors of a frame, its parent first, the root last.
    pub fn get_ancestors(&self, frame: &str) -> Result<Vec<FrameMetadata>, EngineError> {
        let num = self.engine.resolve(frame)?.num;
        self.all(&self.engine.kernel.read(|view| view.ancestors(num))?)
    }

    /// The completed siblings of a frame, in the order in which they came to be.
    pub fn get_completed_siblings(&self, frame: &str) -> Result<Vec<FrameMetadata>, EngineError> {
        let siblings = self.get_all_siblings(frame)?;
        Ok(siblings.into_iter().filter(|it| it.status == Status::Completed).collect())
    }

    /// All siblings of a frame, in the order in which they came to be; itself not among them.
    pub fn get_all_siblings(&self, frame: &str) -> Result<Vec<FrameMetadata>, EngineError> {
        let found = self.engine.resolve(frame)?;
        let mut siblings = self.engine.kernel.read(|view| view.children(found.parent))?;
        siblings.retain(|sibling| sibling.num != found.num);
        self.all(&siblings)
    }

    /// The children of a frame that have begun, in the order in which they came to be.
    pub fn get_children(&self, frame: &str) -> Result<Vec<FrameMetadata>, EngineError> {
        let children = self.get_all_children(frame)?;
        Ok(children.into_iter().filter(|child| child.status != Status::Planned).collect())
    }

    /// All children of a frame, planned ones among them, in the order in which they came to be.
    pub fn get_all_children(&self, frame: &str) -> Result<Vec<FrameMetadata>, EngineError> {
        let num = self.engine.resolve(frame)?.num;
        self.all(&self.engine.kernel.read(|view| view.children(Some(num)))?)
    }

    /// The whole tree. Reads every frame.
    pub fn get_all_frames(&self) -> Result<StackState, EngineError> {
        self.engine.state()
    }

    /// The same, under its other name.
    pub fn load_state(&self) -> Result<StackState, EngineError> {
        self.get_all_frames()
    }

    /// Returns the frame that a session works in. Begins one, called `title`, if there is none.
    pub fn ensure_frame(
        &self,
        session_id: &str,
        title: Option<&str>,
    ) -> Result<FrameMetadata, EngineError> {
        let identity = identity_of(title.unwrap_or_default());
        let start = Anchor { message: None, call: None };
        let num = self.engine.frames.ensure_root(session_id, &self.caller.host, identity, start)?;
        self.shown(&self.engine.frame(num)?)
    }

    /// Returns the outcome of a frame: with the results that are given, else with an extract.
    fn outcome(
        &self,
        frame: &Frame,
        status: Status,
        results: Option<String>,
        compacted: Option<String>,
    ) -> Result<Outcome, EngineError> {
        if let Some(results) = results.filter(|results| !results.trim().is_empty()) {
            let source = match &frame.results {
                Some(known) if *known == results => frame.results_source,
                _ => Some(self.caller.source()),
            };
            let whole = Outcome::with(status, results, compacted, self.caller.source());
            return Ok(Outcome { source, ..whole });
        }
        let made = self.engine.span_reader.extracted(&self.engine.spans.activities_of(frame)?);
        Ok(match made {
            Some(made) => Outcome::with(status, made.results, compacted, made.source),
            None => Outcome::without_results(status),
        })
    }

    fn end(&self, frame: &Frame, outcome: Outcome) -> Result<(), EngineError> {
        let pop = Pop {
            session: self.caller.session.clone(),
            frame: Some(frame.num),
            anchor: self.engine.queries.anchor_in(&self.caller, frame)?,
            outcome,
        };
        self.engine.lifecycle.end(&self.caller, pop).map(drop)
    }

    fn reopen(&self, frame: &Frame) -> Result<(), EngineError> {
        let session = self.working(frame);
        let anchor = self.engine.queries.anchor_in(&self.caller, frame)?;
        let command = Command::Reopen(Reopen { frame: frame.num, session, anchor });
        self.engine.frames.change(&command).map(drop)
    }

    fn begin(&self, frame: &Frame) -> Result<FrameMetadata, EngineError> {
        let session = self.working(frame);
        self.engine
            .lifecycle
            .open_session(&Caller { session: session.clone(), ..self.caller.clone() })?;
        let anchor = self.engine.queries.anchor_in(&self.caller, frame)?;
        let id = frame.id.clone();
        self.changed(&Command::Activate(Activate { frame: frame.num, session, anchor, id }))
    }

    /// Returns the session that works in a frame or, where none does, the one of the nearest frame above it.
    fn working(&self, frame: &Frame) -> String {
        let parent = frame.parent.and_then(|parent| self.engine.frame(parent).ok());
        let above = parent.and_then(|parent| parent.session);
        frame.session.clone().or(above).unwrap_or_else(|| self.caller.session.clone())
    }

    fn changed(&self, command: &Command) -> Result<FrameMetadata, EngineError> {
        let decision = self.engine.frames.change(command)?;
        self.shown(&self.engine.frame(crate::commands::first(&decision)?)?)
    }

    fn shown(&self, frame: &Frame) -> Result<FrameMetadata, EngineError> {
        self.engine.metadata(frame)
    }

    fn all(&self, frames: &[Frame]) -> Result<Vec<FrameMetadata>, EngineError> {
        frames.iter().map(|frame| self.shown(frame)).collect()
    }
}

fn titled(mut identity: Identity) -> Result<Identity, EngineError> {
    if identity.title.trim().is_empty() {
        return Err(EngineError::invalid(
            "the title is empty",
            "Give the frame a name of two to five words.",
        ));
    }
    if identity.success_criteria_compacted.trim().is_empty() {
        identity.success_criteria_compacted = compact(&identity.success_criteria);
    }
    Ok(identity)
}
