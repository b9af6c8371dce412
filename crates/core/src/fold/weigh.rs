//! Which finished spans are worth their folds: weighed at the first call that could be sent without the
//! span, and once more when the provider has forgotten the request.

use crate::cost::{Exchange, is_worth};
use crate::masking::outputs::{Request, Weight, newest_step};
use crate::text::estimate_tokens;
use crate::transcript::{Held, Role, Span, SpanNum, SpanOrigin};

use super::places::Places;
use super::region::{Region, find_all};
use super::select::is_due;
use super::{Input, fold};

/// A span that was weighed, and why it is sent as it is all the same, if it is.
pub type Weighed = (SpanNum, Option<Held>);

/// Weighs the spans that wait for it, right before a call of the model. `weights` are those of the
/// transcript's messages; `is_cached` says whether the provider has the session's last request in its
/// cache.
///
/// Only spans are named whose [`Fold::held`](crate::transcript::Fold::held) changes. Each is weighed by
/// itself, be it inside another one or not.
pub fn weigh(input: &Input<'_>, weights: &[Weight], is_cached: bool) -> Vec<Weighed> {
    let due = waiting(input, is_cached);
    if due.is_empty() {
        return Vec::new();
    }
    // What is weighed now was not folded in the last request either.
    let sent = Request::of(input.transcript, &fold(input).ops, weights);
    let tokens = newest_step(input.transcript).map_or(0, |step| sent.up_to(step));
    let agent = input.transcript.iter().filter(|message| message.role == Role::Assistant);
    let last = Last { tokens, calls: agent.count() };
    let weights: Vec<usize> = weights.iter().map(|weight| weight.all).collect();
    weighed(&due, &weights, last, is_cached)
}

/// The request before, which spans are weighed against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// Its estimated tokens.
    pub tokens: usize,
    /// Calls of the model that were made so far.
    pub calls: usize,
}

/// [`weigh`] where the last request is known; `weights` are those of the messages. The transcript may begin
/// anywhere in front of the spans that wait.
pub fn weigh_against(
    input: &Input<'_>,
    weights: &[usize],
    last: Last,
    is_cached: bool,
) -> Vec<Weighed> {
    let due = waiting(input, is_cached);
    weighed(&due, weights, last, is_cached)
}

/// The spans that wait to be weighed and could be folded now.
fn waiting<'a>(input: &Input<'a>, is_cached: bool) -> Vec<Region<'a>> {
    let waits = |span: &Span| match span.fold.as_ref().and_then(|fold| fold.held) {
        Some(Held::Unweighed) => span.live_close().is_some(),
        Some(Held::Light { .. }) => !is_cached && span.live_close().is_some(),
        Some(Held::Unfixed) | None => false,
    };
    if !input.spans.iter().any(waits) {
        return Vec::new();
    }
    let places = Places::of(input.transcript);
    let mut due = find_all(&places, input.spans);
    due.retain(|region| waits(region.span) && is_due(&places, region, input.reasoning));
    due
}

fn weighed(due: &[Region<'_>], weights: &[usize], last: Last, is_cached: bool) -> Vec<Weighed> {
    let Last { tokens: request, calls } = last;
    let weighed = due.iter().filter_map(|region| {
        // As they were written.
        let span = weights.iter().take(region.end).skip(region.first).sum();
        let stands = standing_tokens(region)?;
        let worth = is_worth(&Exchange { span, stands, request, is_cached, calls });
        let held = (!worth).then_some(Held::Light { span, stands });
        let was_light = region.span.fold.as_ref()?.held != Some(Held::Unweighed);
        (worth || !was_light).then_some((region.span.num, held))
    });
    weighed.collect()
}

/// The tokens of what would stand for a span and of the reply to the user that would stay of it.
fn standing_tokens(region: &Region<'_>) -> Option<usize> {
    let of_turn = region.span.outcome.as_ref().filter(|_| region.span.origin == SpanOrigin::Turn);
    let reply = of_turn.and_then(|outcome| outcome.results.as_deref());
    Some(estimate_tokens(&region.text()?.text) + reply.map_or(0, estimate_tokens))
}
