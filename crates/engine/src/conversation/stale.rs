//! What was written behind another prefix than it would be sent behind now: its reasoning must not be
//! sent again. A fold changes the prefix, and so does everything else of ours that a request went
//! without: the system prompt of a session that began before us, or a call that we were too late for.

use callstack_core::event::Event;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::transcript::{Message, Role, Standing};
use callstack_store::{StoreError, View};

use super::{Conversation, SyncRequest};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::settings::Placement;

/// A mark at a message: everything up to it is stale.
const SLOT: &str = "stale:";

/// The messages with marks, in the order in which they were made.
pub(super) fn kept(view: &View<'_>, session: &str) -> Result<Vec<String>, StoreError> {
    Ok(view.renders(session, SLOT)?.into_iter().map(|it| it.0).collect())
}

/// A mark at a message of a session.
pub(super) fn mark(session: &str, message: &str) -> Event {
    Event::Rendered {
        session: session.to_owned(),
        slot: format!("{SLOT}{message}"),
        text: String::new(),
        renderer: RENDERER_VERSION,
    }
}

/// The last step that nobody told us of while it was made: whoever made the request for it may have
/// gone without us. Only a host that has made no request yet leaves that open.
pub(super) fn unwitnessed(conversation: &Conversation, request: &SyncRequest) -> Option<String> {
    if request.applied != 0 || !conversation.transcript.is_empty() {
        return None;
    }
    let shown = request.shown.iter().map(|shown| &shown.message);
    let unknown = |message: &&Message| is_step(message) && !conversation.has_seen(&message.id);
    shown.filter(unknown).next_back().map(|message| message.id.clone())
}

fn is_step(message: &Message) -> bool {
    message.role == Role::Assistant && message.standing == Standing::Normal
}

impl Conversation {
    fn has_seen(&self, message: &str) -> bool {
        self.order.contains_key(message)
    }

    /// The last message, if the model has written anything yet.
    fn written_until(&self) -> Option<&str> {
        let any = self.transcript.iter().any(is_step);
        self.transcript.last().filter(|_| any).map(|message| message.id.as_str())
    }

    /// The last message that is stale.
    pub(super) fn stale_until(&self) -> Option<&str> {
        let place = |message: &str| self.order.get(message).copied();
        let summary = self.transcript.iter().rfind(|it| it.standing == Standing::Summary);
        let before_summary = summary.and_then(|it| place(&it.id)?.checked_sub(1));
        let marked = self.stale.iter().filter_map(|id| place(id)).max();
        let bound = before_summary.max(marked);
        let is_stale = |message: &&Message| place(&message.id) <= bound;
        self.transcript.iter().rfind(is_stale).map(|message| message.id.as_str())
    }

    /// What is to be marked when a system prompt is built: nothing written so far had it.
    pub(crate) fn mark_for_new_system(&self, session: &str) -> Option<Event> {
        self.written_until().map(|message| mark(session, message))
    }
}

impl Engine {
    /// Marks what is stale at this call.
    pub(super) fn mark_stale(
        &self,
        conversation: &mut Conversation,
        session: &str,
        applied: i64,
        unwitnessed: Option<String>,
    ) -> Result<(), EngineError> {
        let went_without = conversation.written_until().filter(|_| applied == -1);
        let until = went_without.map(str::to_owned).or(unwitnessed);
        if let Some(until) = until
            && !conversation.stale.contains(&until)
        {
            self.store.write(|change| change.append(self.now(), &[mark(session, &until)]))?;
            conversation.stale.push(until);
        }
        // The request that this call is for will be the first with a system prompt of ours; the mark
        // is kept once that prompt is.
        if self.settings.placement == Placement::Output
            && let Some(until) = conversation.written_until().map(str::to_owned)
            && !self.has_system(session, conversation.epoch())?
        {
            conversation.stale.push(until);
        }
        Ok(())
    }
}
