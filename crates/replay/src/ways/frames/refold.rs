//! The part of a session that has to be folded again when a span is folded: everything before the previous turn stays
//! as it is.

use callstack_core::transcript::{Held, Span, SpanOrigin};

use super::Work;

/// The part that is folded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// The place of the first message that may be sent differently.
    pub from: usize,
    /// The place of the first message that has to be read for that, not after it.
    pub window: usize,
}

/// The changes since the call before.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Spans that are folded from now on.
    pub spans: Vec<usize>,
    /// Those before them that may have to wait until the user speaks.
    waiting: Vec<usize>,
    /// Spans that have ended and were not weighed yet.
    pub unweighed: Vec<usize>,
    /// The number of these at the call before.
    looked_at: usize,
    /// Spans that are sent unfolded until the provider has forgotten the request.
    light: Vec<usize>,
    /// Whether the user has spoken.
    pub user_spoke: bool,
    /// Whether all messages are others.
    pub everything: bool,
}

impl Due {
    /// Takes in that a span was weighed.
    pub(super) fn weighed(&mut self, span: usize, held: Option<Held>) {
        self.unweighed.retain(|unweighed| *unweighed != span);
        self.looked_at = self.unweighed.len();
        match held {
            None => self.spans.push(span),
            // A span that is shorter than its replacement never folds alone.
            Some(Held::Light { span: tokens, stands }) if stands < tokens => self.light.push(span),
            Some(_) => {}
        }
    }
}

impl Work<'_> {
    /// Returns the first message from which on spans are to be weighed; none if no span is.
    pub(super) fn weighing(&mut self) -> Option<usize> {
        let due = &mut self.due;
        let light = if self.paused { std::mem::take(&mut due.light) } else { Vec::new() };
        let new = due.unweighed.len() > std::mem::replace(&mut due.looked_at, due.unweighed.len());
        let unweighed = if due.user_spoke {
            let all = std::mem::take(&mut due.unweighed);
            // Any other that could not be weighed now never can.
            let is_recent = |span: &usize| {
                let fold = self.spans[*span].fold.as_ref();
                fold.is_some_and(|fold| fold.held == Some(Held::Recent))
            };
            due.unweighed.extend(all.iter().copied().filter(is_recent));
            due.looked_at = due.unweighed.len();
            all
        } else if new || due.everything {
            due.unweighed.clone()
        } else {
            Vec::new()
        };
        let all = unweighed.iter().chain(&light).map(|span| &self.spans[*span]);
        all.map(|span| self.place_of_open(span).unwrap_or(0)).min()
    }

    /// Returns the part that has to be folded again; none where messages were only added.
    pub(super) fn reach(&mut self) -> Option<Reach> {
        let mut spans = std::mem::take(&mut self.due.spans);
        self.due.waiting.extend(&spans);
        if self.due.user_spoke {
            spans = std::mem::take(&mut self.due.waiting);
            spans.retain(|span| {
                let fold = self.spans[*span].fold.as_ref();
                fold.is_some_and(|fold| fold.held.is_none() && fold.settled_at.is_none())
            });
        }
        if std::mem::take(&mut self.due.everything) {
            return Some(Reach { from: 0, window: 0 });
        }
        let all = spans.into_iter().map(|span| self.reach_of(span));
        all.reduce(|one, other| Reach {
            from: one.from.min(other.from),
            window: one.window.min(other.window),
        })
    }

    fn reach_of(&self, span: usize) -> Reach {
        let all = Reach { from: 0, window: 0 };
        let span = &self.spans[self.outermost(span)];
        let Some(open) = self.place_of_open(span) else { return all };
        let is_listed = span.close.as_ref().is_some_and(|close| close.call.is_some());
        if span.origin == SpanOrigin::Todo && is_listed {
            // The replacing text stands in the call that opened it, whose message stays.
            return Reach { from: open, window: open };
        }
        let users = &self.sent.users;
        let Some(turn) = users.partition_point(|user| *user <= open).checked_sub(1) else {
            return all;
        };
        let from = users[turn];
        let Some(before) = turn.checked_sub(1).map(|before| users[before]) else {
            return Reach { from, window: 0 };
        };
        // The result of the previous turn stands in the message with which this one begins.
        let mut window = from;
        for span in self.closed.iter().rev().map(|span| &self.spans[*span]) {
            let close = span.close.as_ref().map(|close| self.place(close));
            if close.and_then(|close| self.sent.place(close)).is_none_or(|close| close < before) {
                break;
            }
            if is_folded(span) {
                window = window.min(self.place_of_open(span).unwrap_or(0));
            }
        }
        Reach { from, window }
    }

    /// The outermost folded span around one, or itself.
    fn outermost(&self, span: usize) -> usize {
        let mut found = span;
        let begins = self.place_of_open(&self.spans[span]);
        let mut around = self.frame(self.spans[span].frame).parent;
        while let Some(frame) = around {
            // Each frame has the span that was begun with it, and the root that of its first turn, if any.
            let outer = self.spans.partition_point(|outer| outer.frame < frame);
            if let Some(it) = self.spans.get(outer).filter(|outer| outer.frame == frame)
                && is_folded(it)
                && self
                    .place_of_close(it)
                    .is_none_or(|end| begins.is_none_or(|begins| begins < end))
            {
                found = outer;
            }
            around = self.frame(frame).parent;
        }
        found
    }

    fn place_of_close(&self, span: &Span) -> Option<usize> {
        let close = span.close.as_ref()?.message.as_ref()?;
        self.sent.place(*self.places.get(close)?)
    }

    fn place_of_open(&self, span: &Span) -> Option<usize> {
        let number = self.places.get(span.open.message.as_ref()?)?;
        self.sent.place(*number)
    }

    /// Returns the spans that begin at a message or after it.
    pub(super) fn spans_from(&self, place: usize) -> &[Span] {
        if place == 0 {
            return &self.spans;
        }
        let is_after = |span: &&Span| self.place_of_open(span).is_some_and(|open| open >= place);
        let count = self.spans.iter().rev().take_while(is_after).count();
        &self.spans[self.spans.len() - count..]
    }
}

fn is_folded(span: &Span) -> bool {
    span.fold.as_ref().is_some_and(|fold| fold.held.is_none())
}
