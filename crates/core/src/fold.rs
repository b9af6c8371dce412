//! Folding: the operations that replace the spans of finished frames in a request.
//!
//! [`fold`] is a pure function of a session's transcript, its spans and the texts that replace them. It returns a
//! list of operations on the messages that the host is about to send, in the order of the transcript, so that a
//! longer transcript with the same folds gives the same list with more at its end, and a new fold changes only the
//! list's tail.
//!
//! | the frame | place of the text that it returned | parts of its span that stay |
//! | --- | --- | --- |
//! | pushed by a call | in the push's result | nothing; of the push's step all before the push, and after it words and unsigned reasoning |
//! | steps that a pop closed after the fact | in the result of the first call of them | as with a push |
//! | pushed, and the user spoke in it | after the last words of the user in it | the user's words, the agent's closing replies |
//! | a todo item that the list says is over | in the result of the list's call that took it up | the list's call that ended it |
//! | the same, and the user spoke in it | after the last words of the user in it | that call, the user's words, the agent's closing replies |
//! | opened from outside, or by a user turn | after the next words of the user | the user's words, the agent's closing replies |
//! | its push is hidden by the host's compaction | after the last words of the user in it, or after the summary | the user's words, the agent's closing replies |
//!
//! Calls after a pop stay a step, or join the step of the push where the model thought before both.
//!
//! In a message of the user that stays, or with which a folded turn began, a line replaces everything that the host
//! added to the user's words (the content of a file, a list of skills, a reminder), and files.
//!
//! Reasoning is sent only behind the prefix that the model saw when it wrote it. The messages from the beginning of a
//! folded span to [`Fold::settled_at`](crate::transcript::Fold::settled_at) were written when the span was still
//! unfolded, so those of them that stay are sent without their reasoning.
//!
//! Not here: the text that a frame returned (`Fold::text` is given), which spans are live, and how operations reach
//! the host.

mod places;
mod plan;
mod region;
mod select;
mod sent;
mod since;
mod user_turns;
mod weigh;
mod wording;
mod write;

#[cfg(test)]
mod batch_tests;
#[cfg(test)]
mod boundary_tests;
#[cfg(test)]
mod compaction_tests;
#[cfg(test)]
mod frame_tests;
#[cfg(test)]
mod item_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod since_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod turn_tests;
#[cfg(test)]
mod weigh_tests;

pub(crate) use places::user_speaks;
pub use sent::{SentMessage, SentPart, sent};
pub use since::{Since, since};
pub use weigh::{Last, RECENT, Weighed, weigh, weigh_against};

use crate::transcript::{FoldOp, Message, Span, SpanNum};

/// The treatment of the reasoning in a step that pops and makes further calls: the calls stay, the reasoning may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReasoningPolicy {
    /// Fold at once; the step goes without its reasoning.
    #[default]
    Strip,
    /// Fold when the user has spoken again; until then the step stays whole. Only a step that has
    /// reasoning waits.
    Wait,
}

/// The place of a [`Note`] in the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// A part at the end of a user message; without effect at other messages.
    Append,
    /// A message of its own after a message.
    Insert,
    /// The end of the result of a call, by the call's id. The note leaves with the result when the text that a frame
    /// returned replaces it.
    Output(String),
}

/// A text of callstack's own, such as a reminder, that was sent once and is sent at the same place from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Id of the message that it stands at.
    pub message: String,
    /// The text, with its mark.
    pub text: String,
    /// Its placement.
    pub placement: Placement,
}

/// A line that replaces the result of a call that no finished frame holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Id of the message with the call.
    pub message: String,
    /// Id of the call's part.
    pub part: String,
    /// The line.
    pub text: String,
    /// The id of the transcript's last message at the time of the first answer with the line; none until then. See
    /// [`Fold::settled_at`](crate::transcript::Fold::settled_at).
    pub settled_at: Option<String>,
}

/// The input of a fold. The transcript's items are messages, or something that holds one each.
#[derive(Debug)]
pub struct Input<'a, M = Message> {
    /// The session as the host shows it, since its last compaction.
    pub transcript: &'a [M],
    /// The session's spans, closed and open, whose anchors are live, in order of their numbers. One
    /// that is closed and has a `fold` that is not held is durable and may be folded.
    pub spans: &'a [Span],
    /// Notes, in the order in which they were first sent.
    pub notes: &'a [Note],
    /// Results of calls that are masked.
    pub masks: &'a [Mask],
    /// The treatment of the reasoning in a step that pops and makes further calls.
    pub reasoning: ReasoningPolicy,
    /// Id of the last message that was written before the host's last compaction and is still shown after its
    /// summary: reasoning up to it had another prefix.
    pub stale_until: Option<&'a str>,
    /// Ids of further messages that were written after another prefix, since the request for them went out without
    /// these operations.
    pub stale: &'a [String],
}

/// Operations, and the spans that they fold.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Folded {
    /// The operations, in the order in which they are applied.
    pub ops: Vec<FoldOp>,
    /// Spans whose own text is in the request, in the order of their places.
    pub in_effect: Vec<SpanNum>,
    /// Those of `in_effect` that are not settled: they were never sent, or the message in their `settled_at` was
    /// undone. The caller must set their `settled_at` to the transcript's last message before it answers with these
    /// operations. A request for a compaction does not settle them, since it lacks the newest messages.
    pub unsettled: Vec<SpanNum>,
    /// Closed spans that are inside one that is in effect.
    pub swallowed: Vec<SpanNum>,
}

/// Computes the operations that fold the finished spans of a session.
///
/// An anchor that is missing, or whose call has no result, folds nothing: that is no error, and no fold is ever
/// partial.
pub fn fold<M: AsRef<Message>>(input: &Input<'_, M>) -> Folded {
    let places = places::Places::of(input.transcript);
    let regions = region::find_all(&places, input.spans);
    let selection = select::outermost(&places, regions, input.reasoning);
    let plan = plan::Plan::of(&places, &selection.outermost, input.spans);
    let ops = write::ops(&places, &selection.outermost, plan, input);

    let mut folded = Folded { ops, swallowed: selection.swallowed, ..Folded::default() };
    for region in selection.outermost.iter().flat_map(select::Chosen::with_text) {
        folded.in_effect.push(region.span.num);
        if region.settled.is_none() {
            folded.unsettled.push(region.span.num);
        }
    }
    folded
}
