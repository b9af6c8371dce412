//! Steps that were written after another prefix than they would be sent after now: their reasoning must not be sent
//! again. A fold changes the prefix, and so does every text of ours that a request lacked: the system prompt of a
//! session that began without callstack, or the operations of a call that was answered too late.

use callstack_core::event::Event;
use callstack_core::session_state::StaleReach;
use callstack_core::transcript::Message;

use super::Conversation;
use super::copied::Copied;
use super::observed::Observed;
use super::snapshot::Snapshot;
use super::state::stale::{Stale, mark};
use crate::settings::Placement;

/// The events that mark the same in a fork.
pub(super) fn marks(stale: &Stale, fork: &str, copied: &Copied) -> Vec<Event> {
    let until = stale.until.iter().filter_map(|it| copied.up_to(it));
    let until =
        until.chain(copied.kept_after_summary()).map(|it| mark(fork, StaleReach::Until, it));
    let same = |reach, messages: &[String]| -> Vec<Event> {
        let there = messages.iter().filter_map(|message| copied.of(message));
        there.map(|message| mark(fork, reach, message)).collect()
    };
    [
        until.collect(),
        same(StaleReach::Step, &stale.steps),
        same(StaleReach::Summary, &stale.summaries),
    ]
    .concat()
}

impl Conversation {
    /// The last message up to which everything is stale.
    pub(super) fn stale_until(&self) -> Option<&str> {
        let place = |message: &str| self.order.get(message).copied();
        let before_summary = self.summary().and_then(|summary| place(summary)?.checked_sub(1));
        let marked = self.stale.until.iter().chain(&self.stale.until_system);
        let marked = marked.filter_map(|id| place(id)).max();
        let bound = before_summary.max(marked);
        let is_stale = |message: &&Message| place(&message.id) <= bound;
        self.messages().rfind(is_stale).map(|message| message.id.as_str())
    }

    /// Takes everything that was written so far for stale.
    pub(super) fn go_stale(&mut self) {
        if let Some(until) = self.written_until().map(str::to_owned) {
            self.stale.until.push(until);
        }
    }
}

/// Steps that are stale from this call on.
pub(super) struct NewMarks {
    /// The last of those that are marked once a system prompt of ours is built.
    until_system: Option<String>,
    steps: Vec<String>,
    /// The summary with which everything so far is stale, and the last message that is.
    summary: Option<(String, Option<String>)>,
    /// Whether the marks stay until something else happens.
    pub(super) is_steady: bool,
}

impl NewMarks {
    /// Returns the steps that are stale at a call.
    pub(super) fn at(
        conversation: &Conversation,
        observed: &Observed,
        snapshot: &Snapshot,
    ) -> Self {
        let placement = snapshot.settings.placement;
        let written = conversation.written_until().map(str::to_owned);
        // The request that this call is for will be the first with a system prompt of ours; the mark
        // is kept once that prompt is.
        if placement == Placement::Output && written.is_some() && snapshot.system.is_none() {
            let (steps, summary) = (Vec::new(), None);
            return Self { until_system: written, steps, summary, is_steady: false };
        }
        let known = &conversation.stale;
        let mut steps = observed.unwitnessed.clone();
        steps.retain(|step| !known.steps.contains(step));
        // A step that the host keeps after its summary may be shown there for the first time: by the order of first
        // appearance it is newer than the summary.
        let summary = conversation.summary().filter(|summary| {
            placement == Placement::System && known.summaries.iter().all(|it| it != summary)
        });
        let summary = summary.map(|summary| (summary.to_owned(), written));
        Self { until_system: None, steps, summary, is_steady: true }
    }

    /// Returns the events that keep the marks.
    pub(super) fn events(&self, session: &str) -> Vec<Event> {
        let mut marks: Vec<Event> =
            self.steps.iter().map(|step| mark(session, StaleReach::Step, step)).collect();
        if let Some((summary, until)) = &self.summary {
            marks.extend(until.iter().map(|until| mark(session, StaleReach::Until, until)));
            marks.push(mark(session, StaleReach::Summary, summary));
        }
        marks
    }
}

impl Stale {
    /// Adds marks that the store has; they may have been read from it already.
    pub(super) fn add(&mut self, marks: NewMarks) {
        let add = |known: &mut Vec<String>, new: String| {
            if !known.contains(&new) {
                known.push(new);
            }
        };
        self.until_system = marks.until_system;
        marks.steps.into_iter().for_each(|step| add(&mut self.steps, step));
        if let Some((summary, until)) = marks.summary {
            if let Some(until) = until {
                add(&mut self.until, until);
            }
            add(&mut self.summaries, summary);
        }
    }
}
