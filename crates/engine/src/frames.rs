//! Changes of frames, each in a transaction of its own.

use std::sync::Arc;

use callstack_core::decide::{Command, Decision, OpenRoot};
use callstack_core::frame::{Artifact, FrameNum, Identity};
use callstack_core::transcript::Anchor;
use callstack_store::Change;

use crate::commands::{Commands, first};
use crate::error::EngineError;
use crate::files;
use crate::kernel::Kernel;
use crate::queries::Queries;

/// Changes frames, each change in a transaction of its own.
pub(crate) struct Frames {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    commands: Arc<Commands>,
}

impl Frames {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        commands: &Arc<Commands>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            commands: Arc::clone(commands),
        }
    }

    /// Decides a command and appends its events, in one transaction.
    pub(crate) fn change(&self, command: &Command) -> Result<Decision, EngineError> {
        self.change_at(self.kernel.now(), command)
    }

    /// The same as of the time `at` (milliseconds since 1970).
    pub(crate) fn change_at(&self, at: i64, command: &Command) -> Result<Decision, EngineError> {
        self.kernel.write(|change| self.commands.carry_out_at(change, at, command))
    }

    /// The same now, with what `then` does in the same transaction.
    pub(crate) fn change_and<T>(
        &self,
        command: &Command,
        then: impl FnOnce(&mut Change<'_>, Decision) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.kernel.write(|change| {
            let decision = self.commands.carry_out(change, command)?;
            then(change, decision)
        })
    }

    /// Gives a session a frame to work in, named after the user's first words, if it has none.
    pub(crate) fn ensure_root(
        &self,
        session: &str,
        host: &str,
        identity: Identity,
        anchor: Anchor,
    ) -> Result<FrameNum, EngineError> {
        self.ensure_root_below(session, host, identity, anchor, None)
    }

    /// The same for a child session that was started in the frame `caller`.
    pub(crate) fn ensure_root_below(
        &self,
        session: &str,
        host: &str,
        identity: Identity,
        anchor: Anchor,
        caller: Option<FrameNum>,
    ) -> Result<FrameNum, EngineError> {
        if let Some(active) = self.queries.active(session)? {
            return Ok(active);
        }
        self.kernel
            .write(|change| self.open_root(change, (session, host), identity, anchor, caller))
    }

    /// The same as [`ensure_root`](Self::ensure_root) within a transaction.
    pub(crate) fn ensure_root_in(
        &self,
        change: &mut Change<'_>,
        (session, host): (&str, &str),
        identity: Identity,
        anchor: Anchor,
    ) -> Result<(), EngineError> {
        let row = change.view().session_row(session)?;
        if row.is_none_or(|row| row.active.is_none()) {
            self.open_root(change, (session, host), identity, anchor, None)?;
        }
        Ok(())
    }

    fn open_root(
        &self,
        change: &mut Change<'_>,
        (session, host): (&str, &str),
        identity: Identity,
        anchor: Anchor,
        caller: Option<FrameNum>,
    ) -> Result<FrameNum, EngineError> {
        let parent_session = change.view().session_row(session)?.and_then(|session| session.parent);
        let command = Command::OpenRoot(OpenRoot {
            session: session.to_owned(),
            host: host.to_owned(),
            parent_session,
            caller,
            identity,
            derived: true,
            spare_id: self.kernel.world().id("frm-"),
            anchor,
        });
        first(&self.commands.carry_out(change, &command)?)
    }

    /// Decides a command and appends its events, within a transaction.
    pub(crate) fn change_in(
        &self,
        change: &mut Change<'_>,
        command: &Command,
    ) -> Result<Decision, EngineError> {
        self.commands.carry_out(change, command)
    }

    /// Looks at a frame's files again after the host has restored them.
    pub(crate) fn hash_again(&self, num: FrameNum) -> Result<(), EngineError> {
        for artifact in self.queries.frame(num)?.artifacts {
            let hash = files::hash(self.kernel.project(), &artifact.path);
            if hash != artifact.hash {
                let artifact = Artifact { path: artifact.path, hash };
                self.change(&Command::AddArtifact { frame: num, artifact })?;
            }
        }
        Ok(())
    }
}
