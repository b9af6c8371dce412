//! The messages of a session's transcript, each with the data that the stages of a request need.

use callstack_core::autonomy::Seen;
use callstack_core::framing::FramingMessage;
use callstack_core::masking::outputs::Weight;
use callstack_core::transcript::{Message, Role};

use super::host_message::HostMessage;
use crate::calibration::Calibration;

/// A message of the transcript, with the data that were read when the host showed it at its place.
#[derive(Debug)]
pub(super) struct Entry {
    /// The message as folding needs it.
    pub(super) message: Message,
    /// The data that the heuristics need.
    pub(super) seen: Seen,
    /// The data that framing needs.
    pub(super) framing: FramingMessage,
    /// Its weight, and those of its results that may be masked.
    pub(super) weight: Weight,
    /// Tokens of the results that may be masked, up to and including this message.
    pub(super) results: usize,
    /// Characters that calls returned, up to and including this message.
    pub(super) returned: usize,
    /// The calibration after it: it is reset by a compaction, and is the same in every process that is shown the same
    /// messages.
    pub(super) calibration: Calibration,
}

impl AsRef<Message> for Entry {
    fn as_ref(&self) -> &Message {
        &self.message
    }
}

impl Entry {
    /// Reads a message that a host shows after another one, or as the first one.
    pub(super) fn after(before: Option<&Self>, shown: HostMessage) -> Self {
        let calibration = before.map(|before| before.calibration).unwrap_or_default();
        let calibration = calibration.after(&shown);
        let maskable: usize = shown.results.iter().map(|result| result.tokens).sum();
        Self {
            seen: seen(&shown),
            framing: framing_message(&shown),
            weight: Weight { all: shown.said + shown.heard, results: shown.results },
            results: before.map_or(0, |before| before.results) + maskable,
            returned: before.map_or(0, |before| before.returned) + shown.returned,
            calibration,
            message: shown.message,
        }
    }
}

/// Returns the data of a message that the heuristics need.
fn seen(shown: &HostMessage) -> Seen {
    let tokens = shown.said + shown.heard;
    if shown.message.role == Role::User {
        Seen::request(&shown.words, tokens)
    } else {
        Seen::step(shown.message.calls().map(AsRef::as_ref), tokens)
    }
}

/// Reads the data of a message that framing needs.
pub(super) fn framing_message(shown: &HostMessage) -> FramingMessage {
    let weight = shown.said + shown.heard;
    FramingMessage::of(&shown.message, shown.words.clone(), weight, shown.broken_off)
}

/// The numbers of messages when something was last looked for in them.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// The messages at the beginning of the transcript that were there.
    pub(super) old: usize,
    /// The messages that the session had shown by then, by first appearance. A call of the model that failed does not
    /// count: its messages come again with the next one.
    known: u64,
}

impl Looked {
    /// Records that `known` messages were shown when another process looked last.
    pub(super) fn know(&mut self, known: u64) {
        self.known = known;
    }

    pub(super) fn truncate(&mut self, keep: usize) {
        self.old = self.old.min(keep);
    }

    /// Takes over a message at the end of a transcript of `before`; `place` is where it stands by first appearance.
    pub(super) fn show(&mut self, before: usize, place: u64) {
        if place < self.known && self.old == before {
            self.old += 1;
        }
    }

    /// Records a look at a transcript of `messages`; the session has shown `known` by then.
    pub(super) fn looked(&mut self, messages: usize, known: u64) {
        self.old = messages;
        self.known = known;
    }
}
