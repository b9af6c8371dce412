//! Messages that were removed for good, in a session that goes on: its host shows them still, and nothing is made of
//! them.

use std::collections::HashSet;

use super::{Conversation, HostMessage};
use crate::error::EngineError;
use crate::lock::lock;
use crate::sessions::Sessions;

impl Conversation {
    /// Forgets what messages say: the host has to show them again.
    pub(crate) fn forget_messages(&mut self) {
        let known = std::mem::take(self);
        *self = Self {
            ticket: known.ticket,
            serial: known.serial,
            step_frame: known.step_frame,
            written: known.written,
            limit: known.limit,
            past: known.past,
            ..Self::forgotten()
        };
    }
}

impl Sessions {
    /// Empties messages of a session that were removed for good.
    pub(super) fn empty_purged(
        &self,
        session: &str,
        shown: &mut [HostMessage],
    ) -> Result<(), EngineError> {
        let mut empty = |purged: &HashSet<String>| {
            shown
                .iter_mut()
                .filter(|it| purged.contains(&it.message.id))
                .for_each(HostMessage::empty);
        };
        let conversation = self.conversation(session);
        let conversation = lock(&conversation);
        if conversation.loaded {
            empty(&conversation.purged);
        } else {
            empty(&self.kernel.read(|view| view.purged_messages(session))?);
        }
        Ok(())
    }
}
