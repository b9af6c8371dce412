//! Questions about frames and sessions, each answered from one view of the store.

use std::sync::Arc;

use callstack_core::frame::{Frame, FrameNum};
use callstack_core::log_line::LogLine;
use callstack_core::transcript::Anchor;
use callstack_store::StoreError;

use crate::call::Caller;
use crate::error::{EngineError, name_or_push};
use crate::kernel::Kernel;

/// Reads frames, sessions, logs and the tree from the store.
pub(crate) struct Queries {
    pub(crate) kernel: Arc<Kernel>,
}

impl Queries {
    pub(crate) fn new(kernel: &Arc<Kernel>) -> Self {
        Self { kernel: Arc::clone(kernel) }
    }

    /// The frame that a reference (handle, id, former id or a unique prefix) means.
    pub(crate) fn resolve(&self, reference: &str) -> Result<Frame, EngineError> {
        self.kernel.read(|view| {
            let found = view.resolve(reference);
            let Err(error @ StoreError::NoFrame(_)) = found else { return Ok(found?) };
            self.kernel.log_now(&LogLine::new("Frame not found").with("reference", reference));
            Err(EngineError::no_frame(error, &view.near(reference)?))
        })
    }

    /// A frame by its handle.
    pub(crate) fn frame(&self, num: FrameNum) -> Result<Frame, EngineError> {
        self.kernel.read(|view| Ok(view.frame(num)?))
    }

    /// The frame that a session works in.
    pub(crate) fn active(&self, session: &str) -> Result<Option<FrameNum>, EngineError> {
        self.kernel.read(|view| Ok(view.session_row(session)?.and_then(|session| session.active)))
    }

    /// The session that a person at a terminal means when none is named: the one that worked last,
    /// with the last message of its transcript. Nobody works in one that was only read from a recording.
    pub(crate) fn latest_session(&self) -> Result<Option<(String, Option<String>)>, EngineError> {
        self.kernel.read(|view| {
            let Some(session) = view.latest_session()? else { return Ok(None) };
            let last = view.last_message(&session.id)?;
            Ok(Some((session.id, last)))
        })
    }

    pub(crate) fn session_root(&self, session: &str) -> Result<FrameNum, EngineError> {
        let found = self.kernel.read(|view| {
            Ok::<_, EngineError>(view.session_row(session)?.and_then(|session| session.root))
        })?;
        found.ok_or_else(|| {
            EngineError::invalid("this session has no root frame yet", name_or_push())
        })
    }

    /// Returns the place where a call ends a frame: the call, or, if the frame belongs to another session, whose
    /// transcript never shows the call, the last message of that one.
    pub(crate) fn anchor_in(&self, caller: &Caller, frame: &Frame) -> Result<Anchor, EngineError> {
        match &frame.session {
            Some(session) if *session != caller.session => {
                let message = self.kernel.read(|view| view.last_message(session))?;
                Ok(Anchor { message, call: None })
            }
            _ => Ok(caller.anchor.clone()),
        }
    }
}
