//! What was written behind another prefix than it would be sent behind now: its reasoning must not be
//! sent again. A fold changes the prefix, and so does everything else of ours that a request went
//! without: the system prompt of a session that began before us, or a call that we were too late for.

use callstack_core::event::Event;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::transcript::{Message, Role, Standing};
use callstack_store::{StoreError, View};

use super::copied::Copied;
use super::{Conversation, SyncRequest};
use crate::conversation::sync::Conversations;
use crate::error::EngineError;
use crate::settings::Placement;

const SLOT: &str = "stale:";
/// Marks a message up to which everything is stale.
const UNTIL: &str = "until:";
/// Marks a single step.
const STEP: &str = "step:";
/// Marks a summary of which it is settled what is stale behind it.
const SUMMARY: &str = "summary:";

/// The stale messages of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Stale {
    /// Messages up to which everything is stale.
    until: Vec<String>,
    /// The same until a system prompt of ours is built, with which the mark is kept.
    until_system: Option<String>,
    /// Single steps.
    pub(super) steps: Vec<String>,
    /// Summaries behind which everything that was shown with them at first is marked.
    summaries: Vec<String>,
}

impl Stale {
    pub(super) fn kept(view: &View<'_>, session: &str) -> Result<Self, StoreError> {
        let mut stale = Self::default();
        for (mark, ..) in view.renders(session, SLOT)? {
            if let Some(message) = mark.strip_prefix(UNTIL) {
                stale.until.push(message.to_owned());
            } else if let Some(message) = mark.strip_prefix(STEP) {
                stale.steps.push(message.to_owned());
            } else if let Some(message) = mark.strip_prefix(SUMMARY) {
                stale.summaries.push(message.to_owned());
            }
        }
        Ok(stale)
    }

    /// Takes over what the store has of it.
    pub(super) fn know(&mut self, kept: Self) {
        *self = Self { until_system: self.until_system.take(), ..kept };
    }

    /// The events that mark the same in a fork.
    pub(super) fn marks(&self, fork: &str, copied: &Copied) -> Vec<Event> {
        let until = self.until.iter().filter_map(|it| copied.up_to(it));
        let until = until.chain(copied.kept_behind_summary()).map(|it| mark(fork, UNTIL, it));
        let same = |kind, messages: &[String]| -> Vec<Event> {
            let there = messages.iter().filter_map(|message| copied.of(message));
            there.map(|message| mark(fork, kind, message)).collect()
        };
        [until.collect(), same(STEP, &self.steps), same(SUMMARY, &self.summaries)].concat()
    }
}

fn mark(session: &str, kind: &str, message: &str) -> Event {
    Event::Rendered {
        session: session.to_owned(),
        slot: format!("{SLOT}{kind}{message}"),
        text: String::new(),
        renderer: RENDERER_VERSION,
    }
}

/// The steps of which it is not known that the requests for them went out with what is ours: the last
/// one, when the host says so, and those that nobody told us of while they were made. A host that goes
/// on with an answer of ours has had it for all of them.
pub(super) fn unwitnessed(conversation: &Conversation, request: &SyncRequest) -> Vec<String> {
    let cold = conversation.transcript.is_empty();
    if request.applied > 0 || (request.applied == 0 && !cold) {
        return Vec::new();
    }
    let steps = request.shown.iter().map(|shown| &shown.message).filter(|it| is_step(it));
    let last = steps.clone().next_back().filter(|_| request.applied == -1);
    let unknown = steps.filter(|step| !conversation.order.contains_key(&step.id));
    let mut found: Vec<String> = unknown.chain(last).map(|step| step.id.clone()).collect();
    found.dedup();
    found
}

pub(super) fn is_step(message: &Message) -> bool {
    message.role == Role::Assistant && message.standing == Standing::Normal
}

impl Conversation {
    /// The last message, if the model has written anything yet.
    fn written_until(&self) -> Option<&str> {
        let any = self.transcript.iter().any(is_step);
        self.transcript.last().filter(|_| any).map(|message| message.id.as_str())
    }

    /// The last message up to which everything is stale.
    pub(super) fn stale_until(&self) -> Option<&str> {
        let place = |message: &str| self.order.get(message).copied();
        let before_summary = self.summary().and_then(|summary| place(summary)?.checked_sub(1));
        let marked = self.stale.until.iter().chain(&self.stale.until_system);
        let marked = marked.filter_map(|id| place(id)).max();
        let bound = before_summary.max(marked);
        let is_stale = |message: &&Message| place(&message.id) <= bound;
        self.transcript.iter().rfind(is_stale).map(|message| message.id.as_str())
    }

    /// Takes everything that was written so far for stale.
    pub(super) fn go_stale(&mut self) {
        if let Some(until) = self.written_until().map(str::to_owned) {
            self.stale.until.push(until);
        }
    }

    /// What is to be marked when a system prompt is built: nothing written so far had it.
    pub(crate) fn mark_for_new_system(&self, session: &str) -> Option<Event> {
        self.written_until().map(|message| mark(session, UNTIL, message))
    }
}

impl Conversations {
    /// Marks what is stale at this call. Whether it stays so until something else happens.
    pub(super) fn mark_stale(
        &self,
        conversation: &mut Conversation,
        session: &str,
        mut unwitnessed: Vec<String>,
    ) -> Result<bool, EngineError> {
        // The request that this call is for will be the first with a system prompt of ours; the mark
        // is kept once that prompt is.
        let placement = self.kernel.current_settings()?.placement;
        if placement == Placement::Output
            && let Some(until) = conversation.written_until().map(str::to_owned)
            && !self.queries.has_system(session, conversation.epoch())?
        {
            conversation.stale.until_system = Some(until);
            return Ok(false);
        }
        conversation.stale.until_system = None;
        unwitnessed.retain(|step| !conversation.stale.steps.contains(step));
        let mut marks: Vec<_> = unwitnessed.iter().map(|step| mark(session, STEP, step)).collect();
        conversation.stale.steps.extend(unwitnessed);
        // A step that the host keeps behind its summary may be shown there for the first time: by the order of
        // first appearance it is newer than the summary.
        if placement == Placement::System
            && let Some(summary) = conversation.summary().map(str::to_owned)
            && !conversation.stale.summaries.contains(&summary)
        {
            marks.extend(conversation.mark_for_new_system(session));
            marks.push(mark(session, SUMMARY, &summary));
            conversation.go_stale();
            conversation.stale.summaries.push(summary);
        }
        if !marks.is_empty() {
            self.kernel.write(|change| change.append(self.kernel.now(), &marks))?;
        }
        Ok(true)
    }
}
