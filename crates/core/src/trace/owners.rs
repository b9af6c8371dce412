//! The frames to which the parts of a transcript belong.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::vec::IntoIter;

use crate::frame::FrameNum;
use crate::transcript::{Anchor, Span};

/// A part of a message: the places of both.
pub type Place = (usize, usize);

/// The innermost frames of a session's parts, asked for in order.
#[derive(Debug)]
pub struct Owners {
    begins: Peekable<IntoIter<(Place, usize)>>,
    ends: Peekable<IntoIter<(Place, usize)>>,
    frames: Vec<FrameNum>,
    /// The spans that are open: the one that began last is innermost.
    open: BTreeSet<(Place, usize)>,
    /// Where each began.
    began: Vec<Place>,
}

impl Owners {
    /// Places the spans of a session by two functions: `message` returns the place of a message by its id, `call`
    /// that of a call in a message. A span whose beginning or end is not found reaches from or to the end of the
    /// transcript.
    pub fn new(
        spans: &[Span],
        message: impl Fn(&str) -> Option<usize>,
        call: impl Fn(usize, &str) -> Option<usize>,
    ) -> Self {
        let place = |anchor: &Anchor, by_call: bool, has_call: bool| {
            let at = message(anchor.message.as_deref()?)?;
            let id = anchor.call.as_deref().filter(|_| by_call);
            let part = id.and_then(|id| call(at, id));
            Some(part.map_or((at + 1, 0), |part| (at, part + usize::from(!has_call))))
        };
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        let (mut frames, mut began) = (Vec::new(), Vec::new());
        for span in spans.iter().filter(|span| !span.detached) {
            let by_call = !span.origin.is_automatic();
            let from = place(&span.open, by_call, span.origin.has_its_call()).unwrap_or_default();
            let to = span.live_close().and_then(|close| place(close, true, false));
            if to.is_some_and(|to| to <= from) {
                continue;
            }
            begins.push((from, frames.len()));
            ends.extend(to.map(|to| (to, frames.len())));
            frames.push(span.frame);
            began.push(from);
        }
        begins.sort_unstable();
        ends.sort_unstable();
        let (begins, ends) = (begins.into_iter().peekable(), ends.into_iter().peekable());
        Self { begins, ends, frames, open: BTreeSet::new(), began }
    }

    /// Returns the innermost frame at a place. Places before the last one that was asked for are not found again.
    pub fn at(&mut self, place: Place) -> Option<FrameNum> {
        while let Some((from, span)) = self.begins.next_if(|(from, _)| *from <= place) {
            self.open.insert((from, span));
        }
        while let Some((_, span)) = self.ends.next_if(|(to, _)| *to <= place) {
            self.open.remove(&(self.began[span], span));
        }
        self.open.last().map(|(_, span)| self.frames[*span])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{SpanNum, SpanOrigin};

    /// Messages `m0`, `m1` … with calls `c0`, `c1` …, each at the place of its number.
    fn owners(spans: &[Span]) -> Owners {
        let number = |id: &str| id[1..].parse().ok();
        Owners::new(spans, number, |_, call| number(call))
    }

    fn anchor(at: &str) -> Anchor {
        let mut words = at.split(' ').map(str::to_owned);
        Anchor { message: words.next().filter(|it| !it.is_empty()), call: words.next() }
    }

    fn span(frame: u64, origin: SpanOrigin, open: &str, close: Option<&str>) -> Span {
        Span {
            num: SpanNum(frame),
            frame: FrameNum(frame),
            session: "s".to_owned(),
            open: anchor(open),
            origin,
            close: close.map(anchor),
            outcome: None,
            close_undone: false,
            detached: false,
            foldable: true,
            fold: None,
        }
    }

    fn all(spans: &[Span], places: &[Place]) -> Vec<Option<u64>> {
        let mut owners = owners(spans);
        places.iter().map(|place| owners.at(*place).map(|frame| frame.0)).collect()
    }

    #[test]
    fn calls_after_the_push_and_up_to_the_pop_are_the_frames() {
        let spans = [
            span(1, SpanOrigin::Root, "", None),
            span(2, SpanOrigin::Push, "m1 c1", Some("m3 c0")),
            span(3, SpanOrigin::Push, "m2 c0", Some("m2 c2")),
        ];
        let places =
            [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3), (3, 0), (3, 1)];
        let expected = [1, 1, 1, 2, 2, 3, 3, 2, 2, 1].map(Some);
        assert_eq!(all(&spans, &places), expected);
    }

    #[test]
    fn automatic_frames_begin_after_their_message_and_steps_with_their_call() {
        let spans = [
            span(1, SpanOrigin::Root, "", None),
            span(2, SpanOrigin::Todo, "m1 c0", Some("m3 c0")),
            span(3, SpanOrigin::Since, "m2 c1", Some("m2 c2")),
        ];
        let places = [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3), (3, 0), (3, 1)];
        assert_eq!(all(&spans, &places), [1, 1, 2, 3, 3, 2, 2, 1].map(Some));
    }

    #[test]
    fn spans_that_were_undone_or_are_empty_own_nothing() {
        let undone =
            Span { close_undone: true, ..span(2, SpanOrigin::Push, "m0 c0", Some("m1 c0")) };
        let detached = Span { detached: true, ..span(3, SpanOrigin::Push, "m1 c0", None) };
        let empty = span(4, SpanOrigin::Turn, "m1", Some("m1"));
        let spans = [undone, detached, empty];
        assert_eq!(
            all(&spans, &[(0, 0), (0, 1), (1, 1), (9, 0)]),
            [None, Some(2), Some(2), Some(2)]
        );
    }
}
