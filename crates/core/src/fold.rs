//! Folding: what the model is sent instead of the spans of finished frames.
//!
//! [`fold`] is a pure function of a session's transcript, its spans and the texts that stand for
//! them. It answers with a list of operations on the messages that the host is about to send, in the
//! order of the transcript, so that a longer transcript with the same folds gives the same list with
//! more behind it, and a new fold changes only the list's tail.
//!
//! | the frame | where what it returned stands | what stays of its span |
//! | --- | --- | --- |
//! | pushed by a call | in the push's result | nothing; of the push's step what stands in front of the push, and its words |
//! | steps that a pop closed after the fact | in the result of the first call of them | as with a push |
//! | pushed, and the user spoke in it | behind the last thing that the user said in it | the user's words, the agent's closing replies |
//! | a todo item that the list says is over | in the result of the list's call that took it up | the list's call that ended it |
//! | the same, and the user spoke in it | behind the last thing that the user said in it | that call, the user's words, the agent's closing replies |
//! | opened from outside, or by a user turn | behind the next thing that the user says | the user's words, the agent's closing replies |
//! | its push is hidden behind the host's compaction | behind the last thing that the user said in it, or behind the summary | the user's words, the agent's closing replies |
//!
//! Calls behind a pop stay a step, or join the step of the push where the model thought before both.
//!
//! Of a message of the user that stays, or with which a turn that is folded began, a line stands for what the host
//! added to the user's words (the content of a file, a list of skills, a reminder), and for files.
//!
//! No reasoning is sent behind a prefix other than the one it was made with: what was written
//! behind an unfolded span ([`Fold::settled_at`](crate::transcript::Fold::settled_at)) goes without.
//!
//! Not here: what a frame returned (`Fold::text` is handed in, finished), which spans are live, and
//! how operations reach the host.

mod places;
mod plan;
mod region;
mod select;
mod since;
mod turns;
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
pub use since::{Since, since};
pub use weigh::{Last, RECENT, Weighed, weigh, weigh_against};

use crate::transcript::{FoldOp, Message, Span, SpanNum};

/// What becomes of the reasoning in a step that pops and calls more behind the pop: the calls stay,
/// the reasoning may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReasoningPolicy {
    /// Fold at once; the step goes without its reasoning.
    #[default]
    Strip,
    /// Fold when the user has spoken again; until then the step stays whole. Only a step that has
    /// reasoning waits.
    Wait,
}

/// How a [`Note`] was put into the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// As a part at the end of a user message; it has no effect on another's.
    Append,
    /// As a message of its own behind a message.
    Insert,
    /// At the end of the result of a call, by the call's id. It goes with the result when what a frame returned
    /// takes its place.
    Output(String),
}

/// A text of ours that was sent once and is sent at the same place ever after: a reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Id of the message that it stands at.
    pub message: String,
    /// The text, with its mark.
    pub text: String,
    /// How it stands there.
    pub placement: Placement,
}

/// A line of ours that stands for the result of a call which no frame that is finished holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Id of the message with the call.
    pub message: String,
    /// Id of the call's part.
    pub part: String,
    /// The line.
    pub text: String,
    /// The last message that the transcript had when the line was first sent; none while it was not. As
    /// [`Fold::settled_at`](crate::transcript::Fold::settled_at).
    pub settled_at: Option<String>,
}

/// What a fold depends on.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The session as the host shows it, since its last compaction.
    pub transcript: &'a [Message],
    /// The session's spans, closed and open, whose anchors are live, in order of their numbers. One
    /// that is closed and has a `fold` that is not held is durable and may be folded.
    pub spans: &'a [Span],
    /// Notes, in the order in which they were first sent.
    pub notes: &'a [Note],
    /// Results of calls that are masked.
    pub masks: &'a [Mask],
    /// What becomes of the reasoning in a step that pops and goes on.
    pub reasoning: ReasoningPolicy,
    /// Id of the last message that was written before the host's last compaction and is still
    /// shown behind its summary: what was reasoned up to there had another prefix.
    pub stale_until: Option<&'a str>,
    /// Ids of further messages that were written behind another prefix, since the request for them
    /// went out without these operations.
    pub stale: &'a [String],
}

/// Operations, and whom they fold.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Folded {
    /// What to do to the messages, in this order.
    pub ops: Vec<FoldOp>,
    /// Spans whose own text stands in the request, in the order of their places.
    pub in_effect: Vec<SpanNum>,
    /// Those of `in_effect` that are not settled: they never were sent, or the message at which they
    /// settled was taken back. Once these operations go out with a request of the session (not with
    /// the host's request for a compaction, which lacks the newest messages), the transcript's last
    /// message is their `settled_at`.
    pub unsettled: Vec<SpanNum>,
    /// Closed spans that vanish inside one that is in effect.
    pub swallowed: Vec<SpanNum>,
}

/// Computes the operations that fold the finished spans of a session.
///
/// An anchor that is not there, or whose call has no result, folds nothing: there is no error and
/// never half a fold.
pub fn fold(input: &Input<'_>) -> Folded {
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
