//! The place where work continues once a frame has ended, for the session that is informed of the end.

use callstack_core::frame::Frame;
use callstack_core::returned::WentOn;
use callstack_store::View;

use crate::call::HostKind;
use crate::error::EngineError;

/// The time at which a frame's text is rendered.
pub(crate) fn is_followed(view: &View<'_>, session: &str) -> Result<bool, EngineError> {
    let row = view.session_row(session)?;
    Ok(row.is_none_or(|row| HostKind::of(&row.host) == HostKind::Folding))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saying {
    /// At its end, or at the first request after it: work continues where it does now.
    Now,
    /// Long after: the open frame may be another one by now.
    Later,
}

/// The place where work continues, if that is not the parent of the frame that ended.
pub(crate) enum OpenNow {
    In(Box<Frame>),
    Nowhere,
}

impl OpenNow {
    pub(crate) fn went_on(&self) -> WentOn<'_> {
        match self {
            Self::In(frame) => WentOn::In(frame),
            Self::Nowhere => WentOn::Nowhere,
        }
    }
}

impl Saying {
    /// Returns the place where the session `reader` works, if that is not `parent`.
    pub(crate) fn open(
        self,
        view: &View<'_>,
        reader: &str,
        parent: Option<&Frame>,
    ) -> Result<Option<OpenNow>, EngineError> {
        if self == Self::Later {
            return Ok(None);
        }
        Ok(match view.session_row(reader)?.and_then(|session| session.active) {
            Some(open) if parent.is_some_and(|parent| parent.num == open) => None,
            Some(open) => Some(OpenNow::In(Box::new(view.frame(open)?))),
            None => {
                let is_over = parent.is_some_and(|parent| parent.status.is_finished());
                is_over.then_some(OpenNow::Nowhere)
            }
        })
    }
}
