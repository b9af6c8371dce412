//! The parts of the bill of a session in frames, in tokens of input.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use callstack_core::cost::{CACHED, NEW, PAUSE};
use callstack_core::framing::Speaker;
use callstack_core::transcript::{Anchor, SpanOrigin};
use callstack_replay::{Call, ItemNum, PieceKind, Replay, Requests, Strategy};

const NAMES: [&str; 8] = [
    "system prompt and tools",
    "the user's words",
    "closing replies",
    "what stands for finished work",
    "finished work that is not folded",
    "open work: calls and words",
    "open work: outputs that at most ten calls have seen",
    "open work: older outputs",
];

/// Returns what each part costs: new once, new again after a cut or a pause, and from the cache.
pub(crate) fn of(replay: &Replay) -> Vec<(&'static str, [f64; 3])> {
    let messages = Messages::of(replay);
    let tokens = |item: ItemNum| replay.fit.tokens(replay.session.items.get(item).estimated);
    let mut paid = [[0.0; 3]; NAMES.len()];
    let mut seen: HashSet<ItemNum> = HashSet::new();
    let (mut before, mut last): (Vec<ItemNum>, Option<i64>) = (Vec::new(), None);
    let beside = replay.figures(Strategy::Frames).beside;
    let requests = replay.framed().into_iter().flat_map(Requests::iter);
    for (call, request) in replay.session.calls.iter().zip(requests) {
        let is_cold = last.zip(call.at).is_some_and(|(last, at)| at.saturating_sub(last) > PAUSE);
        last = call.at.or(last);
        let common = before.iter().zip(&request).take_while(|(one, other)| one == other).count();
        let gone = messages.gone(&request);
        let mut add = |part: usize, tokens: u64, is_first: bool, is_cached: bool| {
            let price = if is_cached { CACHED } else { NEW };
            let kind = if is_first { 0 } else { 1 + usize::from(is_cached) };
            paid[part][kind] += tokens as f64 * price as f64 / 100.0;
        };
        add(0, beside, before.is_empty(), !is_cold && !before.is_empty());
        for (at, item) in request.iter().enumerate() {
            let is_first = seen.insert(*item);
            add(
                messages.part(call, *item, &gone),
                tokens(*item),
                is_first,
                !is_cold && at < common,
            );
        }
        before = request;
    }
    NAMES.into_iter().zip(paid).collect()
}

/// The places of things among a session's messages.
struct Messages<'a> {
    replay: &'a Replay,
    /// The message and the kind of each recorded item.
    of: HashMap<ItemNum, (usize, PieceKind)>,
    /// The messages of each span that has ended.
    spans: Vec<Range<usize>>,
    /// The spans by the texts that stand for them.
    texts: HashMap<&'a str, usize>,
}

impl<'a> Messages<'a> {
    fn of(replay: &'a Replay) -> Self {
        let session = &replay.session;
        let ids = session.transcript.iter().enumerate().map(|(at, it)| (it.id.as_str(), at));
        let ids: HashMap<&str, usize> = ids.collect();
        let place = |anchor: &Anchor| anchor.message.as_deref().and_then(|id| ids.get(id)).copied();
        let spans = replay.spans.iter().map(|span| {
            let begin = place(&span.open).unwrap_or_default();
            let Some(close) = &span.close else { return 0..0 };
            let end = place(close).unwrap_or_default();
            match span.origin {
                SpanOrigin::Todo => begin + 1..end + usize::from(close.call.is_none()),
                _ => begin..end + 1,
            }
        });
        let texts = replay.spans.iter().enumerate();
        let texts = texts.filter_map(|(at, it)| Some((it.fold.as_ref()?.text.as_str(), at)));
        let pieces = session.pieces.iter().enumerate();
        let of = pieces.flat_map(|(at, all)| all.iter().map(move |it| (it.item, (at, it.kind))));
        Self { replay, of: of.collect(), spans: spans.collect(), texts: texts.collect() }
    }

    /// Returns the messages of the finished work that a request was sent without.
    fn gone(&self, request: &[ItemNum]) -> Vec<&Range<usize>> {
        let items = &self.replay.session.items;
        let spans = request.iter().filter_map(|it| self.texts.get(items.get(*it).text.as_str()));
        spans.map(|span| &self.spans[*span]).collect()
    }

    /// Returns the part of the bill that an item of a request belongs to, by its place among the names.
    fn part(&self, call: &Call, item: ItemNum, gone: &[&Range<usize>]) -> usize {
        let session = &self.replay.session;
        let Some((message, kind)) = self.of.get(&item).copied() else { return 3 };
        let newest = call.shown.last().unwrap_or_default();
        let is_over = |span: &&Range<usize>| span.contains(&message) && span.end <= newest + 1;
        if session.moments[message].speaker == Speaker::User && kind == PieceKind::Words {
            return 1;
        }
        if gone.iter().any(|span| span.contains(&message)) {
            return 2;
        }
        if self.spans.iter().any(|span| is_over(&span)) {
            return 4;
        }
        let later =
            session.calls.iter().filter(|it| it.message > message && it.message < call.message);
        match kind {
            PieceKind::Result if later.count() >= 10 => 7,
            PieceKind::Result => 6,
            PieceKind::Words | PieceKind::Call => 5,
        }
    }
}
