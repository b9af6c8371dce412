//! Figures of a session's requests, as reported by its host, and estimates of what they would have been without folds
//! and masks.
//!
//! The host knows only the requests that were sent. Those that would have been sent are estimated: the same requests
//! with the messages and outputs that had left, without the texts that replaced them and callstack's own additions.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cost::{CACHED, NEW};

/// The most tokens of callstack's tools and guidance in each request, which a test checks.
pub const TOOLS_AND_GUIDANCE: u64 = 1_500;

/// Tokens that requests took and would have taken. Bills are in hundredths of a token of input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Saving {
    /// Requests that the host reports.
    pub requests: u64,
    /// Their tokens.
    pub sent: u64,
    /// Their cost: tokens from a cache count 0.1, the others 1.25.
    pub billed_hundredths: u64,
    /// Tokens that they would have taken.
    pub sent_without: u64,
    /// The cost that they would have had.
    pub billed_without_hundredths: u64,
}

impl Saving {
    /// Takes another session's to it.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.sent += other.sent;
        self.billed_hundredths += other.billed_hundredths;
        self.sent_without += other.sent_without;
        self.billed_without_hundredths += other.billed_without_hundredths;
    }
}

/// The size of a message of the session. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weighed {
    /// Its tokens.
    pub tokens: u64,
    /// Those of them that stay when it is folded: the user's words.
    pub stays: u64,
    /// Those of them that are calls of callstack's tools and their outputs.
    pub ours: u64,
    /// Whether the host compacts everything before it.
    pub compacts: bool,
    /// The host's report of the request that it answers.
    pub request: Option<Request>,
}

/// A request as its host reports it, in tokens of the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// All tokens of it.
    pub tokens: u64,
    /// Those of them that came from a cache.
    pub cached: u64,
}

/// Part of a message. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Tokens of calls of callstack's tools and of their outputs.
    pub ours: u64,
    /// Tokens of everything else.
    pub others: u64,
}

impl Share {
    /// Takes another part of the message to it.
    pub fn add(&mut self, other: Self) {
        self.ours += other.ours;
        self.others += other.others;
    }
}

/// Something that had left the requests. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The first and the last of the messages, by their places; the last one is before the first where none left
    /// whole.
    pub messages: (usize, usize),
    /// The part of the message before the first that left: calls after the one that opened a span, and the output
    /// that was replaced by the returned text.
    pub opening: Share,
    /// The part of the last message that stayed: calls after the one that closed the span.
    pub closing: Share,
    /// Tokens of it, where it is one output of a message; else all of the messages had left.
    pub output: Option<u64>,
    /// Tokens of the text that replaced it, and of its parts that stayed beside the user's words.
    pub stands: u64,
    /// The last message when it was first left out: later requests were sent without it.
    pub since: usize,
}

/// A request, and an estimate of what it would have been without folds. Bills are in hundredths of a token of input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The place of the message that answers it.
    pub place: usize,
    /// The host's report of it.
    pub request: Request,
    /// Its cost.
    pub billed_hundredths: u64,
    /// Tokens that it would have taken.
    pub without: u64,
    /// The cost that it would have had.
    pub billed_without_hundredths: u64,
}

impl Saving {
    /// Takes a request to it.
    fn count(&mut self, compared: &Compared) {
        self.requests += 1;
        self.sent += compared.request.tokens;
        self.billed_hundredths += compared.billed_hundredths;
        self.sent_without += compared.without;
        self.billed_without_hundredths += compared.billed_without_hundredths;
    }
}

/// Sums requests up.
pub fn sum(compared: &[Compared]) -> Saving {
    let mut saving = Saving::default();
    for compared in compared {
        saving.count(compared);
    }
    saving
}

/// Returns, for each message, the number of the provider's tokens in an estimated one, by the requests up to it. So what
/// was said of a request stays as it is, whatever later ones report.
pub fn factors(messages: &[Weighed]) -> Vec<f64> {
    const LEAST: u64 = 64;
    // Others come from hidden reasoning, images and folds.
    const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.4..=3.0;
    let (mut ratios, mut before, mut grown): (Vec<f64>, Option<u64>, u64) = (Vec::new(), None, 0);
    let mut factors = Vec::with_capacity(messages.len());
    for message in messages {
        if let Some(Request { tokens, .. }) = message.request {
            let added = before.and_then(|before| tokens.checked_sub(before));
            let ratio = added.filter(|_| grown >= LEAST).map(|added| added as f64 / grown as f64);
            if let Some(ratio) = ratio.filter(|ratio| PLAUSIBLE.contains(ratio)) {
                let at = ratios.partition_point(|known| *known < ratio);
                ratios.insert(at, ratio);
            }
            (before, grown) = (Some(tokens), 0);
        }
        grown += message.tokens;
        factors.push(ratios.get(ratios.len() / 2).copied().unwrap_or(1.0));
    }
    factors
}

/// Compares each request of a session with what it would have been without folds. `factors` has the number of the
/// provider's tokens in an estimated one for each message: see [`factors`].
pub fn compared(messages: &[Weighed], left: &[Left], factors: &[f64]) -> Vec<Compared> {
    let mut since: Vec<usize> = left.iter().map(|left| left.since).collect();
    since.sort_unstable();
    let mut all = Vec::new();
    let (mut begin, mut in_effect) = (0, usize::MAX);
    let mut out = Out::default();
    let mut before = None;
    for (place, message) in messages.iter().enumerate() {
        if message.compacts {
            (begin, in_effect, before) = (place, usize::MAX, None);
        }
        if let Some(request @ Request { tokens, cached }) = message.request {
            let count = since.partition_point(|since| *since < place);
            if count != in_effect {
                out = Out::of(&messages[..place], left, begin);
                in_effect = count;
            }
            let factor = factors.get(place).copied().unwrap_or(1.0);
            let net = scaled(out.gone, factor) - scaled(out.ours, factor);
            let without = i128::from(tokens) + net - i128::from(TOOLS_AND_GUIDANCE);
            let without = u64::try_from(without).unwrap_or_default();
            // The provider's cache would have expired without folds, too.
            let common = before.filter(|_| cached > 0).unwrap_or(cached);
            let common = common.max(cached).min(without);
            before = Some(without);
            all.push(Compared {
                place,
                request,
                billed_hundredths: bill(tokens, cached.min(tokens)),
                without,
                billed_without_hundredths: bill(without, common),
            });
        }
        out.ours += i128::from(message.ours);
    }
    all
}

fn bill(tokens: u64, cached: u64) -> u64 {
    cached * CACHED as u64 + (tokens - cached) * NEW as u64
}

/// The content that was left out of requests, and our content in them, in estimated tokens.
#[derive(Default)]
struct Out {
    gone: i128,
    ours: i128,
}

impl Out {
    /// Counts for a request after some messages, of which those from `begin` on are sent.
    fn of(messages: &[Weighed], left: &[Left], begin: usize) -> Self {
        let mut folded = vec![false; messages.len()];
        let (mut out, mut end) = (Self::default(), None);
        let counts = |left: &&Left| left.since < messages.len() && left.messages.1 >= begin;
        let mut spans: Vec<&Left> =
            left.iter().filter(counts).filter(|left| left.output.is_none()).collect();
        // Outer ones come before those within them.
        spans.sort_by_key(|left| (left.messages.0, std::cmp::Reverse(left.messages.1)));
        for left in spans {
            if end.is_some_and(|end| left.messages.1 <= end) {
                continue;
            }
            end = Some(left.messages.1);
            out.gone -= i128::from(left.stands) + i128::from(left.closing.others);
            out.ours += i128::from(left.closing.ours);
            if left.messages.0 > begin {
                out.gone += i128::from(left.opening.others);
                out.ours -= i128::from(left.opening.ours);
            }
            let (from, to) = (left.messages.0.max(begin), left.messages.1 + 1);
            for folded in folded.iter_mut().take(to).skip(from) {
                *folded = true;
            }
        }
        for (message, folded) in messages.iter().zip(&folded).skip(begin) {
            if *folded {
                let own = message.stays + message.ours;
                out.gone += i128::from(message.tokens.saturating_sub(own));
            } else {
                out.ours += i128::from(message.ours);
            }
        }
        for left in left.iter().filter(counts) {
            if let (Some(output), Some(false)) = (left.output, folded.get(left.messages.0)) {
                out.gone += i128::from(output) - i128::from(left.stands);
            }
        }
        out
    }
}

fn scaled(estimated: i128, factor: f64) -> i128 {
    #[expect(clippy::cast_possible_truncation, reason = "tokens of a session")]
    let tokens = (estimated as f64 * factor).round() as i128;
    tokens
}

#[cfg(test)]
#[path = "saving_tests.rs"]
mod tests;
