//! The steps of a session whose reasoning must not be sent again.

use callstack_core::event::Event;
use callstack_core::session_state::{SessionState, StaleReach};
use callstack_core::transcript::Message;
use callstack_store::{StoreError, View};

use crate::conversation::Conversation;

/// The stale messages of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stale {
    /// Messages up to which everything is stale.
    pub(crate) until: Vec<String>,
    /// Stale steps until a system prompt of ours is built, with which the mark is stored.
    pub(crate) until_system: Option<String>,
    /// Single steps.
    pub(crate) steps: Vec<String>,
    /// Summaries for which every step that was first shown with them is marked.
    pub(crate) summaries: Vec<String>,
}

impl Stale {
    pub(crate) fn kept(view: &View<'_>, session: &str) -> Result<Self, StoreError> {
        let mut stale = Self::default();
        for (reach, message) in view.stale_marks(session)? {
            match reach {
                StaleReach::Until => stale.until.push(message),
                StaleReach::Step => stale.steps.push(message),
                StaleReach::Summary => stale.summaries.push(message),
            }
        }
        Ok(stale)
    }

    /// Sets the marks from the store.
    pub(crate) fn know(&mut self, kept: Self) {
        *self = Self { until_system: self.until_system.take(), ..kept };
    }
}

impl Conversation {
    /// The last message, if the model has written anything yet.
    pub(crate) fn written_until(&self) -> Option<&str> {
        let any = self.messages().any(Message::is_step);
        self.last().filter(|_| any).map(|message| message.id.as_str())
    }

    /// Returns the event that marks all steps so far when a system prompt is built: none of them had it.
    pub(crate) fn mark_for_new_system(&self, session: &str) -> Option<Event> {
        self.written_until().map(|message| mark(session, StaleReach::Until, message))
    }
}

/// Returns the event that marks steps.
pub(crate) fn mark(session: &str, reach: StaleReach, message: &str) -> Event {
    let state = SessionState::Stale { reach, message: message.to_owned() };
    Event::SessionStateSet { session: session.to_owned(), state }
}
