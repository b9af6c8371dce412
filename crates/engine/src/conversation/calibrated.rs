//! The calibration of a session, kept in the store for other processes.

use callstack_core::event::Event;
use callstack_core::session_state::SessionState;
use callstack_store::{StoreError, View};

use crate::calibration::Calibration;

/// Returns the event that keeps a factor, where the store has another one. It changes in few steps.
pub(super) fn changed(
    view: &View<'_>,
    session: &str,
    percent: u32,
) -> Result<Option<Event>, StoreError> {
    let kept = view.tokens_per_estimate(session)?;
    let kept = kept.unwrap_or_else(|| Calibration::default().percent());
    Ok((kept != percent).then(|| Event::SessionStateSet {
        session: session.to_owned(),
        state: SessionState::TokensPerEstimate { percent },
    }))
}
