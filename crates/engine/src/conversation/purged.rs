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

    /// Whether a message was removed for good.
    pub(super) fn is_purged(&self, message: Option<&str>) -> bool {
        message.is_some_and(|message| self.purged.contains(message))
    }

    /// Whether any message was since one, or in all of the session.
    pub(super) fn has_purged(&self, since: Option<&str>) -> bool {
        if self.purged.is_empty() {
            return false;
        }
        let newest = self.messages().rev().map(|message| message.id.as_str());
        newest.take_while(|id| since != Some(*id)).any(|id| self.purged.contains(id))
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
