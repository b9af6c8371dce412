//! What a session's messages show about child sessions: those that it started, and whether it is one itself.

use callstack_core::transcript::{PartBody, Role};

use super::snapshot::Snapshot;
use super::{Conversation, ReturnedTask, SyncRequest};
use crate::error::EngineError;
use crate::lock::lock;
use crate::subagents::Subagents;

impl Conversation {
    /// Returns the beginning of the session's first prompt.
    pub(crate) fn first_words(&self) -> Option<String> {
        let by_user = self.messages().filter(|message| message.role == Role::User);
        by_user.flat_map(|message| &message.parts).find_map(|part| match &part.body {
            PartBody::Text { synthetic: false, head, .. } if !head.is_empty() => Some(head.clone()),
            _ => None,
        })
    }
}

impl Subagents {
    /// The calls with child sessions that a request shows for the first time.
    pub(crate) fn fresh_tasks(
        &self,
        request: &SyncRequest,
    ) -> Result<Vec<ReturnedTask>, EngineError> {
        let conversation = self.sessions.conversation(&request.session);
        let mut conversation = lock(&conversation);
        self.sessions.load(&mut conversation, &request.session)?;
        let fresh = request
            .shown
            .iter()
            .filter(|shown| !conversation.order.contains_key(&shown.message.id));
        Ok(fresh.flat_map(|shown| shown.tasks.clone()).collect())
    }

    /// Gives a child session that had none a frame, once it has proved to be worth one. Returns whether it got one now.
    pub(super) fn frame_if_deserved(
        &self,
        conversation: &mut Conversation,
        request: &SyncRequest,
        snapshot: &Snapshot,
    ) -> Result<bool, EngineError> {
        if conversation.frameless == Some(false) {
            return Ok(false);
        }
        let Some(known) = &snapshot.session else { return Ok(false) };
        let framed = known.active.is_some() || known.root.is_some();
        let is_frameless = known.parent.is_some() && !framed;
        conversation.frameless = Some(is_frameless);
        if !is_frameless {
            return Ok(false);
        }
        let tracked = self.kernel.read(|view| view.subagent(&request.session))?;
        let Some(tracked) = tracked else { return Ok(false) };
        let messages = (request.keep + request.shown.len()) as u64;
        let settings = self.queries.subagent_settings()?;
        if !settings.deserves_frame(&tracked, messages, self.kernel.now()) {
            return Ok(false);
        }
        let by_user =
            request.shown.iter().find(|it| it.message.role == Role::User && !it.words.is_empty());
        let words = conversation.first_words().or_else(|| by_user.map(|it| it.words.clone()));
        self.frame_child(&request.session, &known.host, &words.unwrap_or_default())?;
        conversation.frameless = Some(false);
        Ok(true)
    }
}
