//! The steps of a session whose reasoning must not be sent again.

use callstack_core::session_state::StaleReach;
use callstack_store::{StoreError, View};

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
