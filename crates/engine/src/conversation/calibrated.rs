//! The calibration of a session, kept in the store for other processes.

use callstack_core::event::Event;
use callstack_core::session_state::SessionState;

use super::Conversation;
use crate::calibration::Calibration;
use crate::error::EngineError;
use crate::kernel::Kernel;

/// Keeps a factor that has changed, which it does in few steps.
pub(super) fn keep_calibration(
    kernel: &Kernel,
    conversation: &mut Conversation,
    session: &str,
) -> Result<(), EngineError> {
    let percent = conversation.calibration().percent();
    if conversation.calibrated == Some(percent) {
        return Ok(());
    }
    let kept = kernel.read(|view| view.tokens_per_estimate(session))?;
    if kept.unwrap_or_else(|| Calibration::default().percent()) != percent {
        let state = SessionState::TokensPerEstimate { percent };
        let event = Event::SessionStateSet { session: session.to_owned(), state };
        kernel.write(|change| change.append(kernel.now(), &[event]))?;
    }
    conversation.calibrated = Some(percent);
    Ok(())
}
