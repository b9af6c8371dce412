//! The results of calls that a request holds unchanged, and how much of the request comes before each.

use std::collections::HashMap;

use crate::text::estimate_tokens;
use crate::transcript::{FoldOp, Message};

use super::Output;
use super::subject::{OutputSubject, Subject, replaced};

/// The weight of a message, in estimated tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// All of it.
    pub all: usize,
    /// Results of its calls that may be masked; each is counted in `all`.
    pub results: Vec<ResultWeight>,
}

/// The result of a call, in estimated tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultWeight {
    /// Id of the call's part.
    pub part: String,
    /// Its tokens.
    pub tokens: usize,
    /// Its subject, where a newer result may replace it.
    pub subject: Option<Subject>,
}

/// A result that is sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentResult<'a> {
    /// Id of the message with the call.
    pub message: &'a str,
    /// Id of the call's part.
    pub part: &'a str,
    /// The message's place in the transcript.
    pub at: usize,
    /// Its subject, where a newer result may replace it.
    pub subject: Option<Subject>,
    /// Its weight and its place.
    pub output: Output,
}

/// A request, by its weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request<'a> {
    /// The results that are sent as they are, in order.
    pub results: Vec<SentResult<'a>>,
    /// Estimated tokens before each message of the transcript, one number a message.
    pub in_front: Vec<usize>,
    /// Whether a message of the transcript is not sent, one answer a message.
    pub cut: Vec<bool>,
}

impl<'a> Request<'a> {
    /// The request that operations make of a transcript; `weights` are those of its messages.
    ///
    /// Measures a request. Parts that are left out count as if they were sent, unless they are calls with results:
    /// parts that are small enough to be left out of a message that stays do not move a boundary.
    pub fn of<M: AsRef<Message>>(
        transcript: &'a [M],
        ops: &[FoldOp],
        weights: impl IntoIterator<Item = &'a Weight>,
    ) -> Self {
        let transcript = transcript.iter().map(AsRef::as_ref);
        let mut of_message: HashMap<&str, Vec<&FoldOp>> = HashMap::new();
        for op in ops {
            of_message.entry(named(op)).or_default().push(op);
        }
        let mut steps_left = transcript.clone().filter(|message| message.is_step()).count();
        let mut request = Self::default();
        let mut at = 0;
        let mut cut_to: Option<&str> = None;
        for (index, (message, weight)) in transcript.zip(weights).enumerate() {
            let ops = of_message.get(message.id.as_str()).map_or(&[][..], Vec::as_slice);
            cut_to = cut_to.or_else(|| {
                ops.iter().find_map(|op| match op {
                    FoldOp::Cut { to, .. } => Some(to.as_str()),
                    _ => None,
                })
            });
            steps_left -= usize::from(message.is_step());
            request.in_front.push(at);
            request.cut.push(cut_to.is_some());
            if cut_to.is_none() {
                let results: usize = weight.results.iter().map(|result| result.tokens).sum();
                // Results come last in a message.
                at += weight.all.saturating_sub(results);
                for ResultWeight { part, tokens, subject } in &weight.results {
                    if is_as_it_was(ops, part) {
                        let output = Output {
                            tokens: *tokens,
                            at,
                            steps_since: steps_left,
                            is_replaced: false,
                        };
                        let (message, subject) = (message.id.as_str(), *subject);
                        let result = SentResult { message, part, at: index, subject, output };
                        request.results.push(result);
                        at += tokens;
                    }
                }
            }
            at += ops.iter().map(|op| added(op)).sum::<usize>();
            if cut_to == Some(message.id.as_str()) {
                cut_to = None;
            }
        }
        request
    }

    /// Marks the results that a newer one replaced. `frame_around` gives for a place of the transcript the one at
    /// which the innermost frame begins that is open around it; 0 without one.
    pub fn mark_replaced(&mut self, frame_around: impl Fn(usize) -> usize) {
        let shown = |result: &SentResult<'_>| OutputSubject {
            subject: result.subject,
            at: result.at,
            frame: frame_around(result.at),
        };
        let shown: Vec<OutputSubject> = self.results.iter().map(shown).collect();
        for (result, is_replaced) in self.results.iter_mut().zip(replaced(&shown)) {
            result.output.is_replaced = is_replaced;
        }
    }

    /// Returns the estimated tokens of the request before the message at a place of the transcript, from 0. For a
    /// place after all messages it is those before the last one, whose own are never counted. 0 where there is no
    /// message.
    pub fn up_to(&self, message: usize) -> usize {
        self.in_front.get(message).or(self.in_front.last()).copied().unwrap_or_default()
    }
}

/// Returns the place of the newest step: everything before it was in the request that it answers.
pub fn newest_step<M: AsRef<Message>>(transcript: &[M]) -> Option<usize> {
    transcript.iter().rposition(|message| message.as_ref().is_step())
}

/// The message that an operation stands at.
fn named(op: &FoldOp) -> &str {
    match op {
        FoldOp::Cut { from, .. } => from,
        FoldOp::Keep { message, .. }
        | FoldOp::Output { message, .. }
        | FoldOp::Replace { message, .. }
        | FoldOp::AddToOutput { message, .. }
        | FoldOp::Append { message, .. }
        | FoldOp::Join { message, .. }
        | FoldOp::Insert { after: message, .. } => message,
    }
}

fn is_as_it_was(ops: &[&FoldOp], result: &str) -> bool {
    ops.iter().all(|op| match op {
        FoldOp::Output { part, .. } => part != result,
        FoldOp::Keep { parts, .. } => parts.iter().any(|part| part == result),
        _ => true,
    })
}

fn added(op: &FoldOp) -> usize {
    match op {
        FoldOp::Output { text, .. }
        | FoldOp::Replace { text, .. }
        | FoldOp::AddToOutput { text, .. }
        | FoldOp::Append { text, .. }
        | FoldOp::Insert { text, .. } => estimate_tokens(text),
        FoldOp::Cut { .. } | FoldOp::Keep { .. } | FoldOp::Join { .. } => 0,
    }
}

#[cfg(test)]
#[path = "outputs_tests.rs"]
mod tests;
