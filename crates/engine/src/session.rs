//! The life of a host's sessions: their beginning and the user's turns.

use std::sync::Arc;

use callstack_core::decide::Command;
use callstack_core::event::{Event, Session};
use callstack_core::frame::Identity;
use callstack_core::framing::identity_of;
use callstack_core::transcript::Anchor;
use callstack_store::Change;

use crate::error::EngineError;
use crate::frames::Frames;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::queries::Queries;
use crate::sessions::Sessions;
use crate::subagents::Subagents;

/// A user has said something.
#[derive(Clone, Debug)]
pub struct UserMessage {
    /// The session.
    pub session: String,
    /// The host.
    pub host: String,
    /// The user's own words.
    pub text: String,
}

/// Follows the turns of users.
pub(crate) struct UserTurns {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    frames: Arc<Frames>,
    sessions: Arc<Sessions>,
    subagents: Arc<Subagents>,
}

impl UserTurns {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        frames: &Arc<Frames>,
        sessions: &Arc<Sessions>,
        subagents: &Arc<Subagents>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            frames: Arc::clone(frames),
            sessions: Arc::clone(sessions),
            subagents: Arc::clone(subagents),
        }
    }

    /// Makes sure that there is a frame to work in when a user has said something.
    pub(crate) fn user_message(&self, message: &UserMessage) -> Result<(), EngineError> {
        self.sessions.broken(&message.session, |broken| broken.trouble = None)?;
        self.gone_on_with(message)?;
        let known = self.kernel.read(|view| view.session_row(&message.session))?;
        if let Some(child) = known.filter(|known| known.parent.is_some()) {
            let anchor = self.after_the_last(&message.session)?;
            return self.subagents.child_prompted(&child, &message.text, anchor);
        }
        if self.queries.active(&message.session)?.is_some() {
            return Ok(());
        }
        let anchor = self.after_the_last(&message.session)?;
        let identity = if self.is_from_before(&message.session)? {
            without_goal()
        } else {
            identity_of(&message.text)
        };
        self.frames.ensure_root(&message.session, &message.host, identity, anchor)?;
        Ok(())
    }

    /// Turns an imported session into one that is worked in here, since its user speaks in it again.
    fn gone_on_with(&self, message: &UserMessage) -> Result<(), EngineError> {
        let recorded = self.kernel.read(|view| {
            let is_recorded = view.is_recorded(&message.session)?;
            let row = if is_recorded { view.session_row(&message.session)? } else { None };
            Ok::<_, EngineError>(row)
        })?;
        let Some(session) = recorded else { return Ok(()) };
        let session = Session { host: message.host.clone(), ..session };
        self.kernel.write(|change| {
            Ok(change.append(self.kernel.now(), &[Event::SessionOpened { session }])?)
        })
    }

    /// Returns the place where a frame begins now in a session: after everything that was shown or reported.
    fn after_the_last(&self, session: &str) -> Result<Anchor, EngineError> {
        {
            let conversation = self.sessions.conversation(session);
            self.sessions.written(&lock(&conversation))?;
        }
        let message = self.kernel.read(|view| view.last_message(session))?;
        Ok(Anchor { message, call: None })
    }

    /// Whether something was said in a session before it had any frame.
    fn is_from_before(&self, session: &str) -> Result<bool, EngineError> {
        self.kernel.read(|view| {
            let rooted = view.session_row(session)?.is_some_and(|session| session.root.is_some());
            Ok(!rooted && view.last_message(session)?.is_some())
        })
    }

    /// Takes back the guessed identity of a root, in a session that turns out to be older than it.
    pub(crate) fn forget_goal(
        &self,
        change: &mut Change<'_>,
        session: &str,
    ) -> Result<(), EngineError> {
        let view = change.view();
        let Some(root) = view.session_row(session)?.and_then(|session| session.root) else {
            return Ok(());
        };
        if view.frame(root)?.identity_derived {
            let identity = without_goal();
            let command =
                Command::SetIdentity { frame: root, identity, derived: true, again: false };
            self.frames.change_in(change, &command)?;
        }
        Ok(())
    }
}

/// Returns the identity of a root frame that nobody has given one.
fn without_goal() -> Identity {
    Identity { title: "Session".to_owned(), ..Identity::default() }
}
