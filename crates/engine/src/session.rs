//! The life of a host's sessions: their beginning, the user's turns, files that tools write, their end.

use callstack_core::decide::Command;
use callstack_core::event::{Event, Session};
use callstack_core::frame::{Artifact, FrameNum, Identity, Status};
use callstack_core::framing::identity_of;
use callstack_core::transcript::Anchor;

use crate::engine::{Engine, lock};
use crate::error::EngineError;

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

impl Engine {
    /// Makes sure that there is a frame to work in when a user has said something.
    pub fn user_message(&self, message: &UserMessage) -> Result<(), EngineError> {
        self.broken(&message.session, |broken| broken.trouble = None)?;
        self.gone_on_with(message)?;
        let known = self.store.read(|view| view.session_row(&message.session))?;
        if let Some(child) = known.filter(|known| known.parent.is_some()) {
            let anchor = self.behind_the_last(&message.session)?;
            return self.child_told(&child, &message.text, anchor);
        }
        if self.active(&message.session)?.is_some() {
            return Ok(());
        }
        let anchor = self.behind_the_last(&message.session)?;
        let identity = if self.is_from_before(&message.session)? {
            without_goal()
        } else {
            identity_of(&message.text)
        };
        self.ensure_root(&message.session, &message.host, identity, anchor)?;
        Ok(())
    }

    /// Makes a session that was imported one that is worked in here, since its user speaks in it again.
    fn gone_on_with(&self, message: &UserMessage) -> Result<(), EngineError> {
        let recorded = self.store.read(|view| {
            let is_recorded = view.is_recorded(&message.session)?;
            let row = if is_recorded { view.session_row(&message.session)? } else { None };
            Ok::<_, EngineError>(row)
        })?;
        let Some(session) = recorded else { return Ok(()) };
        let session = Session { host: message.host.clone(), ..session };
        self.store
            .write(|change| Ok(change.append(self.now(), &[Event::SessionOpened { session }])?))
    }

    /// Where what begins now in a session begins: behind all that was shown of it or told.
    fn behind_the_last(&self, session: &str) -> Result<Anchor, EngineError> {
        {
            let conversation = self.conversation(session);
            self.written(&lock(&conversation))?;
        }
        let message = self.store.read(|view| view.last_message(session))?;
        Ok(Anchor { message, call: None })
    }

    /// Whether something was said in a session before it had any frame.
    fn is_from_before(&self, session: &str) -> Result<bool, EngineError> {
        self.store.read(|view| {
            let rooted = view.session_row(session)?.is_some_and(|session| session.root.is_some());
            Ok(!rooted && view.last_message(session)?.is_some())
        })
    }

    /// Takes back what a root was guessed to be for, in a session that turns out to be older than it.
    pub(crate) fn forget_goal(&self, session: &str) -> Result<(), EngineError> {
        let Ok(root) = self.session_root(session) else { return Ok(()) };
        if self.frame(root)?.identity_derived {
            let identity = without_goal();
            self.change(&Command::SetIdentity {
                frame: root,
                identity,
                derived: true,
                anew: false,
            })?;
        }
        Ok(())
    }

    /// Records files that a tool wrote as artifacts of the frame that the step belongs to.
    pub fn files_written(&self, session: &str, files: &[String]) -> Result<(), EngineError> {
        let Some(frame) = self.working_frame(session)? else { return Ok(()) };
        for file in files {
            let (path, hash) = self.project_file(file);
            self.change(&Command::AddArtifact { frame, artifact: Artifact { path, hash } })?;
        }
        Ok(())
    }

    /// The frame that a session's current step belongs to: the one that was open when the step began,
    /// also where a push stands in the same step, or the active one if that has ended.
    pub(crate) fn working_frame(&self, session: &str) -> Result<Option<FrameNum>, EngineError> {
        let step = {
            let conversation = self.conversation(session);
            let conversation = lock(&conversation);
            conversation.step_frame
        };
        match step {
            Some(step)
                if self.frame(step).is_ok_and(|frame| frame.status == Status::InProgress) =>
            {
                Ok(Some(step))
            }
            _ => self.active(session),
        }
    }

    /// Forgets what this process knows of a session; the store keeps all of it.
    pub fn forget(&self, session: &str) {
        lock(&self.conversations).remove(session);
    }
}

/// What a root frame is for where nobody has said so.
fn without_goal() -> Identity {
    Identity { title: "Session".to_owned(), ..Identity::default() }
}
