//! Whether a transcript shows calls and messages still, hides them, or has lost them to an undo.

use std::collections::HashMap;

use callstack_core::transcript::{Anchor, CallState, Message, MessageKind};

use super::Conversation;

/// The standing of a call or a message in a transcript.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    There,
    Gone,
    /// Hidden by a compaction, or a place that no call and no message made: leave it as it is.
    Unknown,
}

/// The calls and messages that a transcript shows, and how far back it reaches.
pub(super) struct Seen<'a> {
    pub(super) messages: HashMap<&'a str, &'a Message>,
    order: &'a HashMap<String, u64>,
    oldest: Option<u64>,
    /// Whether the host has compacted the session.
    compacted: bool,
}

impl<'a> Seen<'a> {
    pub(super) fn of(
        transcript: impl Iterator<Item = &'a Message> + Clone,
        order: &'a HashMap<String, u64>,
    ) -> Self {
        let conversation = transcript.clone().filter(|it| it.standing == MessageKind::Normal);
        let compacted = transcript.clone().any(|it| it.standing == MessageKind::Summary);
        Self {
            messages: transcript.map(|message| (message.id.as_str(), message)).collect(),
            order,
            compacted,
            oldest: conversation.filter_map(|message| order.get(&message.id).copied()).min(),
        }
    }

    pub(super) fn state_of(&self, anchor: &Anchor) -> State {
        self.state_where(anchor, |call| call != CallState::Failed)
    }

    /// The same, where a failed call has begun something all the same.
    pub(super) fn of_call(&self, anchor: &Anchor) -> State {
        self.state_where(anchor, |_| true)
    }

    fn state_where(&self, anchor: &Anchor, counts: impl Fn(CallState) -> bool) -> State {
        let Some(message) = &anchor.message else { return State::Unknown };
        let shown = self.messages.get(message.as_str());
        let Some(call) = &anchor.call else {
            return if shown.is_some() { State::There } else { self.state_of_missing(message) };
        };
        let state = shown.and_then(|message| message.call(call)).map(|call| call.state);
        match state {
            // The model knows the call as failed, so for it nothing began or ended.
            Some(call) if !counts(call) => State::Gone,
            Some(_) => State::There,
            None if shown.is_some() => State::Gone,
            None => self.state_of_missing(message),
        }
    }

    pub(super) fn state_of_missing(&self, message: &str) -> State {
        match (self.order.get(message), self.oldest) {
            (Some(place), Some(oldest)) if oldest > *place => State::Unknown,
            (_, None) => State::Unknown,
            // A compaction may follow the very step that pops: nothing ever showed it.
            (None, _) if self.compacted => State::Unknown,
            _ => State::Gone,
        }
    }
}

impl Conversation {
    /// Whether the transcript shows that a call was undone.
    pub(super) fn has_undone(&self, anchor: &Anchor) -> bool {
        Seen::of(self.messages(), &self.order).state_of(anchor) == State::Gone
    }
}
