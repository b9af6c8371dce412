//! The region of a transcript that a span takes.

use crate::frame::FrameNum;
use crate::transcript::{ADDITIONS_LEAVE, Anchor, CALLS_JOIN, CALLS_LEAVE, Fold, Span};

use super::places::{Anchored, PartIndex, Places};

/// A place in the transcript as a number to compare: message, then part. Part 0 is before a message's first part.
pub(super) type Edge = (usize, usize);

/// A span that was found in the transcript.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region<'a> {
    pub(super) span: &'a Span,
    /// The push call, where a call opened it and is still shown.
    pub(super) push: Option<PartIndex>,
    /// The pop call, where a call closed it.
    pub(super) pop: Option<PartIndex>,
    /// Whether a call closed it that stays: the todo list's.
    pub(super) listed: bool,
    /// The first message that belongs to it as a whole or up to the pop.
    pub(super) first: usize,
    /// The place after the last message that belongs to it, the pop's included and the todo list's not; the
    /// transcript's end while it is open. Never less than `first`.
    pub(super) end: usize,
    /// The message at which its fold settled, while that is still there.
    pub(super) settled: Option<usize>,
    /// Where it starts.
    pub(super) from: Edge,
    /// Where it ends.
    pub(super) to: Edge,
}

impl<'a> Region<'a> {
    /// Finds a span. None when an anchor is not there or the order makes no sense.
    fn of(places: &Places<'_>, span: &'a Span) -> Option<Self> {
        let returns = returns_to_its_call(span);
        let found = match places.find(&span.open) {
            Anchored::Call(place) if !returns => Anchored::After(place.message + 1),
            found => found,
        };
        let (push, first) = match found {
            Anchored::Call(place) => (Some(place), place.message + 1),
            Anchored::After(first) => (None, first),
            Anchored::Hidden => (None, places.summarised),
            Anchored::Nowhere => return None,
        };
        let from = push.map_or((first, 0), |push| (push.message, push.part + 1));
        let open = Self {
            span,
            push,
            pop: None,
            listed: false,
            first,
            end: places.transcript.len(),
            settled: places.settled(span),
            from,
            to: (usize::MAX, 0),
        };
        match span.live_close() {
            None => Some(open),
            Some(close) => open.closed(places, close),
        }
    }

    fn closed(self, places: &Places<'_>, close: &Anchor) -> Option<Self> {
        match places.find(close) {
            // The call that takes an item off the list often takes the next one up: it stays.
            Anchored::Call(list)
                if self.span.origin.is_automatic() && list.message >= self.first =>
            {
                let returns = returns_to_its_call(self.span);
                let end = list.message + usize::from(!returns);
                Some(Self { listed: returns, end, to: (end, 0), ..self })
            }
            Anchored::Call(pop)
                if pop.message >= self.first
                    || self.push.is_some_and(|push| push.message == pop.message) =>
            {
                Some(Self {
                    pop: Some(pop),
                    end: pop.message + 1,
                    to: (pop.message, pop.part + 1),
                    ..self
                })
            }
            Anchored::After(end) if close.message.is_some() && end >= self.first => {
                Some(Self { end, to: (end, 0), ..self })
            }
            _ => None,
        }
    }

    /// Returns the fold that replaces it, once it is closed and durable.
    pub(super) fn text(&self) -> Option<&'a Fold> {
        self.span.live_close().and(self.span.fold.as_ref())
    }

    /// Whether it is sent unchanged although a text could replace it.
    pub(super) fn is_held(&self) -> bool {
        self.text().is_some_and(|fold| fold.held.is_some())
    }

    /// Whether a call opened it, be it hidden by now.
    pub(super) fn pushed(&self) -> bool {
        self.span.open.call.is_some() && returns_to_its_call(self.span)
    }

    /// Whether the calls after the push in its step leave with the span. In folds by the rule of an earlier version
    /// they stay.
    pub(super) fn takes_calls(&self) -> bool {
        self.push.is_some()
            && !self.span.origin.is_automatic()
            && self.text().is_some_and(|fold| fold.renderer >= CALLS_LEAVE)
    }

    /// Whether calls after the pop may join the push's step. In folds by the rule of an earlier version they stay a
    /// step.
    pub(super) fn joins_calls(&self) -> bool {
        self.text().is_some_and(|fold| fold.renderer >= CALLS_JOIN)
    }

    /// Returns the user's message with which the turn began, if the host's additions to it leave with the turn. In
    /// folds by the rule of an earlier version they stay.
    pub(super) fn opener(&self, places: &Places<'_>) -> Option<usize> {
        let leaves = self.text().is_some_and(|fold| fold.renderer >= ADDITIONS_LEAVE);
        let before = self.first.checked_sub(1).filter(|_| leaves && self.span.origin.is_turn())?;
        (Some(&places.transcript[before].id) == self.span.open.message.as_ref()).then_some(before)
    }

    /// Whether push and pop are calls of one step.
    pub(super) fn in_one_step(&self) -> bool {
        match (self.push, self.pop) {
            (Some(push), Some(pop)) => push.message == pop.message,
            _ => false,
        }
    }
}

/// Whether the call that opened a span may hold the text that its frame returned: a push, or the todo list's call
/// with which an item was taken up, if another one took it off the list.
fn returns_to_its_call(span: &Span) -> bool {
    !span.origin.is_automatic() || span.live_close().is_none_or(|close| close.call.is_some())
}

/// The innermost frame in whose work a message stands.
pub(super) fn frame_at(places: &Places<'_>, spans: &[Span], message: usize) -> Option<FrameNum> {
    let regions = spans.iter().filter(|span| !span.detached);
    let regions = regions.filter_map(|span| Region::of(places, span));
    let around = regions.filter(|region| (region.first..region.end).contains(&message));
    around.max_by_key(|region| (region.first, region.span.num)).map(|region| region.span.frame)
}

/// Finds the spans that may ever be folded, outer ones before those in them.
pub(super) fn find_all<'a>(places: &Places<'_>, spans: &'a [Span]) -> Vec<Region<'a>> {
    let mut regions: Vec<_> = spans
        .iter()
        .filter(|span| span.foldable && !span.detached)
        .filter_map(|span| Region::of(places, span))
        .collect();
    regions.sort_by(|a, b| {
        a.from.cmp(&b.from).then(b.to.cmp(&a.to)).then(a.span.num.cmp(&b.span.num))
    });
    regions
}
