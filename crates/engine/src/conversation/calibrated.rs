//! The calibration of a session, kept in the store for other processes.

use callstack_core::event::Event;
use callstack_core::returned::RENDERER_VERSION;

use super::Conversation;
use crate::calibration::{Calibration, SLOT, STEP, tokens_per_estimate};
use crate::conversation::sync::Conversations;
use crate::error::EngineError;

impl Conversation {
    pub(super) fn calibration(&self) -> Calibration {
        self.calibration.last().copied().unwrap_or_default()
    }
}

impl Conversations {
    /// Keeps a factor that has changed, which it does in few steps.
    pub(super) fn keep_calibration(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        let factor = conversation.calibration().factor();
        if conversation.calibrated == Some(factor) {
            return Ok(());
        }
        if (self.kernel.read(|view| tokens_per_estimate(view, session))? - factor).abs()
            >= STEP / 2.0
        {
            let event = Event::Rendered {
                session: session.to_owned(),
                slot: SLOT.to_owned(),
                text: factor.to_string(),
                renderer: RENDERER_VERSION,
            };
            self.kernel.write(|change| change.append(self.kernel.now(), &[event]))?;
        }
        conversation.calibrated = Some(factor);
        Ok(())
    }
}
