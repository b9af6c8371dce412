//! Which results of calls a request holds as they are, and how much of the request stands in front of each.

use std::collections::HashMap;

use crate::text::estimate_tokens;
use crate::transcript::{FoldOp, Message, Role, Standing};

use super::Output;

/// What a message weighs, in estimated tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// All of it.
    pub all: usize,
    /// Results of its calls that may be masked, by the part's id; each is counted in `all`.
    pub results: Vec<(String, usize)>,
}

/// A result that is sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentResult<'a> {
    /// Id of the message with the call.
    pub message: &'a str,
    /// Id of the call's part.
    pub part: &'a str,
    /// Its weight and its place.
    pub output: Output,
}

/// A request as its weights tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request<'a> {
    /// The results that are sent as they are, in order.
    pub results: Vec<SentResult<'a>>,
    /// Estimated tokens in front of each message of the transcript, one number a message.
    pub in_front: Vec<usize>,
    /// Whether a message of the transcript is not sent, one answer a message.
    pub cut: Vec<bool>,
}

impl<'a> Request<'a> {
    /// The request that operations make of a transcript; `weights` are those of its messages.
    ///
    /// Parts that are left out weigh as if they were sent, unless they are calls with results: what
    /// is small enough to be left out of a message that stays does not move a boundary.
    pub fn of(transcript: &'a [Message], ops: &[FoldOp], weights: &'a [Weight]) -> Self {
        let mut of_message: HashMap<&str, Vec<&FoldOp>> = HashMap::new();
        for op in ops {
            of_message.entry(named(op)).or_default().push(op);
        }
        let read = newest_step(transcript).unwrap_or_default();
        let mut request = Self::default();
        let mut at = 0;
        let mut cut_to: Option<&str> = None;
        for (index, (message, weight)) in transcript.iter().zip(weights).enumerate() {
            let ops = of_message.get(message.id.as_str()).map_or(&[][..], Vec::as_slice);
            cut_to = cut_to.or_else(|| {
                ops.iter().find_map(|op| match op {
                    FoldOp::Cut { to, .. } => Some(to.as_str()),
                    _ => None,
                })
            });
            request.in_front.push(at);
            request.cut.push(cut_to.is_some());
            if cut_to.is_none() {
                let results: usize = weight.results.iter().map(|(_, tokens)| tokens).sum();
                // Results are what a message ends with.
                at += weight.all.saturating_sub(results);
                for (part, tokens) in &weight.results {
                    if is_as_it_was(ops, part) {
                        let output = Output { tokens: *tokens, at, unread: index >= read };
                        request.results.push(SentResult { message: &message.id, part, output });
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

    /// Estimated tokens of the request in front of the message at a place of the transcript, from 0. For a place
    /// behind all of them they are those in front of the last message: what that one adds is never counted.
    /// 0 where there is no message.
    pub fn up_to(&self, message: usize) -> usize {
        self.in_front.get(message).or(self.in_front.last()).copied().unwrap_or_default()
    }
}

/// The place of the newest step: everything in front of it was in the request that it answers.
pub fn newest_step(transcript: &[Message]) -> Option<usize> {
    transcript.iter().rposition(|message| {
        message.role == Role::Assistant && message.standing == Standing::Normal
    })
}

/// The message that an operation stands at.
fn named(op: &FoldOp) -> &str {
    match op {
        FoldOp::Cut { from, .. } => from,
        FoldOp::Keep { message, .. }
        | FoldOp::Output { message, .. }
        | FoldOp::Replace { message, .. }
        | FoldOp::Append { message, .. }
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
        | FoldOp::Append { text, .. }
        | FoldOp::Insert { text, .. } => estimate_tokens(text),
        FoldOp::Cut { .. } | FoldOp::Keep { .. } => 0,
    }
}

#[cfg(test)]
#[path = "outputs_tests.rs"]
mod tests;
