//! Places in a transcript: looked up once, used for every span.

use std::collections::HashMap;

use crate::transcript::{
    Anchor, CallState, Message, MessageKind, PartBody, Role, Span, newest_summary,
};

/// A part of a message, both as indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartIndex {
    pub(super) message: usize,
    pub(super) part: usize,
}

/// The place that an anchor resolves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchored {
    /// A call that has a result.
    Call(PartIndex),
    /// After that many messages.
    After(usize),
    /// Its message is hidden by the host's compaction.
    Hidden,
    /// Nowhere, or a call without a result.
    Nowhere,
}

/// A transcript with the indexes that folding uses repeatedly.
pub(super) struct Places<'a> {
    pub(super) transcript: Vec<&'a Message>,
    by_id: HashMap<&'a str, usize>,
    /// For each message, and the end: the next one, itself included, in which the user speaks.
    next_user: Vec<usize>,
    /// The same for the agent's messages.
    next_agent: Vec<usize>,
    /// The number of messages in front that the host's compaction replaces; 0 without one.
    pub(super) summarised: usize,
}

impl<'a> Places<'a> {
    pub(super) fn of<M: AsRef<Message>>(transcript: &'a [M]) -> Self {
        let transcript: Vec<&Message> = transcript.iter().map(AsRef::as_ref).collect();
        let end = transcript.len();
        let mut by_id = HashMap::with_capacity(end);
        let mut next_user = vec![end; end + 1];
        let mut next_agent = vec![end; end + 1];
        let summarised =
            newest_summary(transcript.iter().copied()).map_or(0, |summary| summary + 1);
        for (index, &message) in transcript.iter().enumerate().rev() {
            by_id.insert(message.id.as_str(), index);
            next_user[index] = if user_speaks(message) { index } else { next_user[index + 1] };
            next_agent[index] = if agent_speaks(message) { index } else { next_agent[index + 1] };
        }
        Self { transcript, by_id, next_user, next_agent, summarised }
    }

    pub(super) fn index_of(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The first message from `from` on in which the user speaks.
    pub(super) fn user_from(&self, from: usize) -> Option<usize> {
        self.next_user.get(from).copied().filter(|&index| index < self.transcript.len())
    }

    /// Whether the agent wrote something from `from` on before the user spoke again.
    pub(super) fn agent_goes_on(&self, from: usize) -> bool {
        match (self.next_agent.get(from), self.next_user.get(from)) {
            (Some(agent), Some(user)) => agent < user,
            _ => false,
        }
    }

    /// The message at which the span's fold settled, while it is still there.
    pub(super) fn settled(&self, span: &Span) -> Option<usize> {
        self.index_of(span.fold.as_ref()?.settled_at.as_deref()?)
    }

    pub(super) fn find(&self, anchor: &Anchor) -> Anchored {
        let Some(id) = &anchor.message else {
            return match anchor.call {
                None => Anchored::After(self.summarised),
                Some(_) => Anchored::Nowhere,
            };
        };
        let Some(message) = self.index_of(id) else {
            return if self.summarised > 0 { Anchored::Hidden } else { Anchored::Nowhere };
        };
        let Some(call) = &anchor.call else {
            return Anchored::After(message + 1);
        };
        let parts = &self.transcript[message].parts;
        match parts.iter().position(|part| is_result_of(&part.body, call)) {
            Some(part) => Anchored::Call(PartIndex { message, part }),
            None => Anchored::Nowhere,
        }
    }
}

fn is_result_of(body: &PartBody, wanted: &str) -> bool {
    matches!(body, PartBody::Tool(call) if call.state == CallState::Completed && call.id == wanted)
}

/// Whether the user speaks in it: words of their own, or a file. A message that only the host wrote in the user's
/// place starts no turn.
pub(crate) fn user_speaks(message: &Message) -> bool {
    message.role == Role::User
        && message.standing == MessageKind::Normal
        && message.parts.iter().any(|part| match &part.body {
            PartBody::Text { synthetic, chars, .. } => !synthetic && *chars > 0,
            PartBody::File { .. } => true,
            PartBody::Reasoning { .. } | PartBody::Tool(_) | PartBody::Other => false,
        })
}

/// Whether it is a step of the agent in the conversation that came to say or call something.
pub(super) fn agent_speaks(message: &Message) -> bool {
    message.role == Role::Assistant
        && message.standing == MessageKind::Normal
        && message.parts.iter().any(|part| says_something(&part.body))
}

/// Whether the model reads anything of it that is not reasoning.
pub(super) fn says_something(body: &PartBody) -> bool {
    match body {
        PartBody::Text { chars, .. } => *chars > 0,
        PartBody::Tool(_) | PartBody::File { .. } => true,
        PartBody::Reasoning { .. } | PartBody::Other => false,
    }
}
