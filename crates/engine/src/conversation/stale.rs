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
use crate::error::EngineError;
use crate::kernel::Kernel;
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

/// Marks the steps that are stale at this call. Returns whether the marks stay until something else happens.
pub(super) fn mark_stale(
    kernel: &Kernel,
    conversation: &mut Conversation,
    observed: &Observed,
    snapshot: &Snapshot,
) -> Result<bool, EngineError> {
    // The request that this call is for will be the first with a system prompt of ours; the mark
    // is kept once that prompt is.
    let placement = snapshot.settings.placement;
    if placement == Placement::Output
        && let Some(until) = conversation.written_until().map(str::to_owned)
        && snapshot.system.is_none()
    {
        conversation.stale.until_system = Some(until);
        return Ok(false);
    }
    conversation.stale.until_system = None;
    let Observed { session, unwitnessed, .. } = observed;
    let mut steps = unwitnessed.clone();
    steps.retain(|step| !conversation.stale.steps.contains(step));
    let mut marks: Vec<_> =
        steps.iter().map(|step| mark(session, StaleReach::Step, step)).collect();
    conversation.stale.steps.extend(steps);
    // A step that the host keeps after its summary may be shown there for the first time: by the order of first
    // appearance it is newer than the summary.
    if placement == Placement::System
        && let Some(summary) = conversation.summary().map(str::to_owned)
        && !conversation.stale.summaries.contains(&summary)
    {
        marks.extend(conversation.mark_for_new_system(session));
        marks.push(mark(session, StaleReach::Summary, &summary));
        conversation.go_stale();
        conversation.stale.summaries.push(summary);
    }
    if !marks.is_empty() {
        kernel.write(|change| change.append(kernel.now(), &marks))?;
    }
    Ok(true)
}
