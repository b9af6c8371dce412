//! A host's history of a session, as far as the store does not have it: a new session, an older one, a fork, a
//! compaction.

use std::sync::Arc;

use callstack_core::framing::identity_of;
use callstack_core::transcript::Anchor;
use callstack_store::Change;

use super::Conversation;
use super::fork::{ForkedFrames, Forks};
use super::observed::Observed;
use super::snapshot::Snapshot;
use crate::compaction::{Came, Compactions, Summary};
use crate::error::EngineError;
use crate::frames::Frames;
use crate::session::UserTurns;

/// Brings frames in line with the histories of hosts.
pub(crate) struct Histories {
    frames: Arc<Frames>,
    turns: Arc<UserTurns>,
    forks: Arc<Forks>,
    compaction: Arc<Compactions>,
}

/// The differences between a host's history of a session and the store.
pub(super) struct NewHistory<'o> {
    /// The user's first words, where the session has no root.
    words: Option<&'o str>,
    /// Whether a session that is new to the store shows steps of an earlier turn.
    is_from_before: bool,
    /// The frames of the session that this one was copied from.
    forked: Option<ForkedFrames>,
    /// The summary of a compaction.
    summary: Option<&'o Summary>,
}

impl NewHistory<'_> {
    /// Whether there are no differences.
    pub(super) fn is_nothing(&self) -> bool {
        let Self { words, is_from_before, forked, summary } = self;
        words.is_none() && !is_from_before && forked.is_none() && summary.is_none()
    }
}

impl Histories {
    pub(crate) fn new(
        frames: &Arc<Frames>,
        turns: &Arc<UserTurns>,
        forks: &Arc<Forks>,
        compaction: &Arc<Compactions>,
    ) -> Self {
        Self {
            frames: Arc::clone(frames),
            turns: Arc::clone(turns),
            forks: Arc::clone(forks),
            compaction: Arc::clone(compaction),
        }
    }

    /// Compares the history that a host shows with the session in the store.
    pub(super) fn compare<'o>(
        &self,
        conversation: &Conversation,
        observed: &'o Observed,
        snapshot: &Snapshot,
    ) -> Result<NewHistory<'o>, EngineError> {
        let Observed { session, opened, .. } = observed;
        // A root that was popped stays popped until the user speaks again, which the host reports separately.
        let begins = conversation.frameless != Some(true) && snapshot.root().is_none();
        let forked = observed.copied.as_ref();
        let forked = forked.map(|it| self.forks.read(conversation, session, it, opened));
        let summary = observed.summary.as_ref();
        let is_due = |it: &Summary| self.compaction.is_due(session, Came::Summary(it));
        let is_due = summary.map(is_due).transpose()?;
        Ok(NewHistory {
            words: observed.first_words.as_deref().filter(|_| begins),
            is_from_before: observed.is_from_before,
            forked: forked.transpose()?,
            summary: summary.filter(|_| is_due == Some(true)),
        })
    }

    /// Brings the session's frames in line with the history.
    pub(super) fn follow(
        &self,
        change: &mut Change<'_>,
        observed: &Observed,
        new: NewHistory<'_>,
    ) -> Result<(), EngineError> {
        let (session, host) = (observed.session.as_str(), observed.host.as_str());
        if let Some(words) = new.words {
            let start = Anchor { message: None, call: None };
            self.frames.ensure_root_in(change, (session, host), identity_of(words), start)?;
        }
        if new.is_from_before {
            self.turns.forget_goal(change, session)?;
        }
        if let Some(forked) = new.forked {
            self.forks.fork(change, (session, host), forked)?;
        }
        if let Some(summary) = new.summary {
            self.compaction.settle_in(change, session, Came::Summary(summary), None)?;
        }
        Ok(())
    }
}
