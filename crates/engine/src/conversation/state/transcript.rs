//! The content of a transcript, for the stages of a request and for evidence.

use callstack_core::framing::{FramingMessage, Speaker, open_items};
use callstack_core::masking::outputs::Weight;
use callstack_core::transcript::{MessageKind, Span};

use crate::calibration::Calibration;
use crate::conversation::Conversation;

impl Conversation {
    /// The messages as framing needs them.
    pub(crate) fn framing_messages(
        &self,
    ) -> impl DoubleEndedIterator<Item = &FramingMessage> + ExactSizeIterator {
        self.transcript.iter().map(|entry| &entry.framing)
    }

    /// The newest message, where the agent wrote its list in it.
    pub(crate) fn newest_list(&self) -> Option<&str> {
        let newest = self.framing_messages().next_back()?;
        newest.list().map(|_| newest.message.as_str())
    }

    /// Returns the agent's last words, if they were a closing reply and the user has not spoken since.
    pub(crate) fn closing_words(&self) -> Option<String> {
        let last = self.framing_messages().rfind(|it| it.speaker != Speaker::Host)?;
        (last.closes && !last.words.is_empty()).then(|| last.words.clone())
    }

    /// Returns the open items of the list that was last written after a message, or in all of the session; none where
    /// no list was.
    pub(crate) fn listed_items(&self, after: Option<&str>) -> Option<Vec<String>> {
        let all = self.framing_messages().chain(&self.framing.recorded).rev();
        let mut work = all.take_while(|it| after != Some(it.message.as_str()));
        work.find_map(FramingMessage::list).map(open_items)
    }

    /// The same, unless any message since was removed for good.
    pub(crate) fn open_items(&self, after: Option<&str>) -> Option<Vec<String>> {
        if self.has_purged(after) { None } else { self.listed_items(after) }
    }

    /// Whether the host shows a summary.
    pub(crate) fn is_compacted(&self) -> bool {
        self.messages().any(|message| message.standing == MessageKind::Summary)
    }

    /// Whether a message was removed for good.
    pub(crate) fn is_purged(&self, message: Option<&str>) -> bool {
        message.is_some_and(|message| self.purged.contains(message))
    }

    /// Whether any message was since one, or in all of the session.
    pub(crate) fn has_purged(&self, since: Option<&str>) -> bool {
        if self.purged.is_empty() {
            return false;
        }
        let newest = self.messages().rev().map(|message| message.id.as_str());
        newest.take_while(|id| since != Some(*id)).any(|id| self.purged.contains(id))
    }

    /// The span of the frame that the current step works in.
    pub(crate) fn open_span(&self) -> Option<Span> {
        let active = self.step_frame?;
        let open = self
            .spans
            .iter()
            .rfind(|span| span.frame == active && !span.detached && span.live_close().is_none());
        open.cloned()
    }

    /// The weight of each message of the transcript.
    pub(crate) fn weights(&self) -> impl Iterator<Item = &Weight> + Clone {
        self.transcript.iter().map(|entry| &entry.weight)
    }

    /// The calibration after the newest message.
    pub(crate) fn calibration(&self) -> Calibration {
        self.transcript.last().map(|entry| entry.calibration).unwrap_or_default()
    }
}
