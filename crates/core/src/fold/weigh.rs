//! Decides which finished spans are worth their folds: each is weighed at the first call that could be sent without
//! the span, and once more when the provider has forgotten the request.

use crate::cost::{FoldCost, is_worth};
use crate::masking::outputs::{Request, Weight, newest_step};
use crate::text::estimate_tokens;
use crate::transcript::{Held, Message, PartBody, Role, Span, SpanNum};

use super::places::Places;
use super::region::{Region, find_all};
use super::select::is_due;
use super::{Input, fold};

/// A span that was weighed, and the reason if it is sent unfolded all the same.
pub type Weighed = (SpanNum, Option<Held>);

/// If the next turn is likely to continue from a span, and the span has at most this many estimated tokens, it is
/// folded only when that turn has ended. Sending so many cached tokens ten times costs about as much as one call that
/// reads a file again.
pub const RECENT: usize = 4_000;

/// Weighs the spans that wait for it, right before a call of the model. `weights` are those of the
/// transcript's messages; `is_cached` says whether the provider has the session's last request in its
/// cache.
///
/// Returns only spans whose [`Fold::held`](crate::transcript::Fold::held) changes. Each is weighed by itself, whether
/// or not it lies inside another one.
pub fn weigh<'a, M: AsRef<Message>>(
    input: &Input<'a, M>,
    weights: impl IntoIterator<Item = &'a Weight, IntoIter: Clone>,
    is_cached: bool,
) -> Vec<Weighed> {
    let weights = weights.into_iter();
    let all: Vec<usize> = weights.clone().map(|weight| weight.all).collect();
    let due = waiting(input, &all, is_cached);
    if due.is_empty() {
        return Vec::new();
    }
    // Spans that are weighed now were not folded in the last request either.
    let sent = Request::of(input.transcript, &fold(input).ops, weights);
    let tokens = newest_step(input.transcript).map_or(0, |step| sent.up_to(step));
    let messages = input.transcript.iter().map(AsRef::as_ref);
    let agent = messages.filter(|message| message.role == Role::Assistant);
    let last = Last { tokens, calls: agent.count() };
    weighed(input.transcript, &due, &all, last, is_cached)
}

/// The request before, against which spans are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// Its estimated tokens.
    pub tokens: usize,
    /// Calls of the model that were made so far.
    pub calls: usize,
}

/// [`weigh`] where the last request is known; `weights` are those of the messages. The transcript may begin anywhere
/// before the spans that wait.
pub fn weigh_against<M: AsRef<Message>>(
    input: &Input<'_, M>,
    weights: &[usize],
    last: Last,
    is_cached: bool,
) -> Vec<Weighed> {
    let due = waiting(input, weights, is_cached);
    weighed(input.transcript, &due, weights, last, is_cached)
}

/// The spans that wait to be weighed and could be folded now.
fn waiting<'a, M: AsRef<Message>>(
    input: &Input<'a, M>,
    weights: &[usize],
    is_cached: bool,
) -> Vec<(Region<'a>, Additions)> {
    let waits = |span: &Span| match span.fold.as_ref().and_then(|fold| fold.held) {
        Some(Held::Unweighed | Held::Recent) => span.live_close().is_some(),
        Some(Held::Light { .. }) => !is_cached && span.live_close().is_some(),
        Some(Held::Unfixed) | None => false,
    };
    if !input.spans.iter().any(waits) {
        return Vec::new();
    }
    let places = Places::of(input.transcript);
    let mut due = find_all(&places, input.spans);
    due.retain(|region| waits(region.span) && is_due(&places, region, input.reasoning));
    due.retain(|region| !is_needed(&places, region, weights));
    due.into_iter().map(|region| (region, Additions::of(&places, &region))).collect()
}

/// Whether the turn that is likely to continue from a span is not over yet.
fn is_needed(places: &Places<'_>, region: &Region<'_>, weights: &[usize]) -> bool {
    let is_recent = region.text().is_some_and(|fold| fold.held == Some(Held::Recent));
    let next = places.user_from(region.end);
    let is_over = next.is_some_and(|next| places.user_from(next + 1).is_some());
    is_recent && !is_over && tokens_of(region, weights) <= RECENT
}

/// As the messages were written.
fn tokens_of(region: &Region<'_>, weights: &[usize]) -> usize {
    weights.iter().take(region.end).skip(region.first).sum()
}

/// Estimated tokens of the host's additions to the message with which a turn began, and of the lines that would
/// replace them.
#[derive(Clone, Copy, Default)]
struct Additions {
    leave: usize,
    stand: usize,
}

/// The cost of a line that replaces an addition, and the characters of a text that make a token.
const LINE: usize = 40;
const CHARS: usize = 4;

impl Additions {
    fn of(places: &Places<'_>, region: &Region<'_>) -> Self {
        let Some(opener) = region.opener(places) else { return Self::default() };
        let added = places.transcript[opener].parts.iter().filter_map(|part| match part.body {
            PartBody::Text { synthetic: true, chars, .. } if chars > 0 => Some(chars / CHARS),
            _ => None,
        });
        added.fold(Self::default(), |all, tokens| Self {
            leave: all.leave + tokens,
            stand: all.stand + LINE,
        })
    }
}

fn weighed<M: AsRef<Message>>(
    transcript: &[M],
    due: &[(Region<'_>, Additions)],
    weights: &[usize],
    last: Last,
    is_cached: bool,
) -> Vec<Weighed> {
    let Last { tokens: request, calls } = last;
    let sent = newest_step(transcript).unwrap_or_default();
    let goes = |at: &usize| due.iter().any(|(it, _)| (it.first..it.end).contains(at));
    let weighed = due.iter().filter_map(|(region, additions)| {
        let span = tokens_of(region, weights) + additions.leave;
        let stands = standing_tokens(region)? + additions.stand;
        let stays = (region.end..sent).filter(|at| !goes(at));
        let after = stays.filter_map(|at| weights.get(at)).sum();
        let worth = is_worth(&FoldCost { span, stands, after, request, is_cached, calls });
        let held = (!worth).then_some(Held::Light { span, stands });
        let was_light = matches!(region.span.fold.as_ref()?.held, Some(Held::Light { .. }));
        (worth || !was_light).then_some((region.span.num, held))
    });
    weighed.collect()
}

/// Returns the tokens of the text that would replace a span and of the reply to the user that would stay.
fn standing_tokens(region: &Region<'_>) -> Option<usize> {
    let of_turn = region.span.outcome.as_ref().filter(|_| region.span.origin.is_turn());
    let reply = of_turn.and_then(|outcome| outcome.results.as_deref());
    Some(estimate_tokens(&region.text()?.text) + reply.map_or(0, estimate_tokens))
}
