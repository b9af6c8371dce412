//! A replayed session as it is drawn: its frames over time and over tokens, and the size of each request.

use std::collections::HashMap;

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::secrets::mask;
use callstack_core::transcript::Span;

use crate::replay::Replay;
use crate::ways::Way;

/// What is drawn of a session.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Its frames, the root first, each behind the one around it.
    pub frames: Vec<Bar>,
    /// Milliseconds that it took, by the recording's clock; 0 where that tells nothing.
    pub time: u64,
    /// Tokens of all that was said and done.
    pub tokens: u64,
    /// Tokens of each request, by way.
    pub curves: Vec<(Way, Vec<u64>)>,
}

/// A frame that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Its handle.
    pub num: FrameNum,
    /// Frames around it.
    pub depth: u32,
    /// Its title.
    pub title: String,
    /// How it ended.
    pub status: Status,
    /// What it returned.
    pub results: String,
    /// From when to when, in milliseconds since the session's beginning.
    pub time: (u64, u64),
    /// From where to where, in tokens since the session's beginning.
    pub tokens: (u64, u64),
}

impl Replay {
    /// What is drawn of the session.
    pub fn outline(&self) -> Outline {
        let (mut ends, mut sum) = (Vec::with_capacity(self.session.pieces.len()), 0);
        for pieces in &self.session.pieces {
            let items = pieces.iter().map(|piece| self.session.items.get(piece.item).estimated);
            sum += items.map(|estimated| self.fit.tokens(estimated)).sum::<u64>();
            ends.push(sum);
        }
        let times = || self.session.times.iter().flatten().copied();
        let began = times().min().unwrap_or_default();
        let time = distance(began, times().max().unwrap_or_default());
        let mut drawing = Drawing {
            below: HashMap::new(),
            spans: self.spans.iter().rev().map(|span| (span.frame, span)).collect(),
            ends: HashMap::new(),
            began,
            bars: Vec::with_capacity(self.frames.len()),
        };
        for frame in &self.frames {
            drawing.below.entry(frame.parent).or_default().push(frame);
        }
        for (message, end) in self.session.transcript.iter().zip(ends).rev() {
            drawing.ends.insert(&message.id, end);
        }
        if let Some(root) = self.frames.first() {
            drawing.draw(root, (0, time), (0, sum));
        }
        let frames = drawing.bars;
        let curves = self.figures.iter().map(|(way, figures)| (*way, figures.curve.clone()));
        Outline { frames, time, tokens: sum, curves: curves.collect() }
    }
}

struct Drawing<'r> {
    below: HashMap<Option<FrameNum>, Vec<&'r Frame>>,
    spans: HashMap<FrameNum, &'r Span>,
    /// The tokens up to the end of each message.
    ends: HashMap<&'r str, u64>,
    began: i64,
    bars: Vec<Bar>,
}

impl Drawing<'_> {
    fn draw(&mut self, frame: &Frame, time: (u64, u64), tokens: (u64, u64)) {
        let results = frame.results.as_deref().unwrap_or_default();
        self.bars.push(Bar {
            num: frame.num,
            depth: frame.depth,
            title: mask(&frame.identity.title).into_owned(),
            status: frame.status,
            results: mask(results).into_owned(),
            time,
            tokens,
        });
        for inner in self.below.remove(&Some(frame.num)).unwrap_or_default() {
            let ended = inner.ended_at.map_or(time.1, |ended| distance(self.began, ended));
            let within = |range: (u64, u64), from: u64, to: u64| {
                let from = from.clamp(range.0, range.1);
                (from, to.clamp(from, range.1))
            };
            let inner_time = within(time, distance(self.began, inner.created_at), ended);
            let span = self.spans.get(&inner.num);
            let (from, to) = span.map_or(tokens, |span| self.places(span, tokens));
            self.draw(inner, inner_time, within(tokens, from, to));
        }
    }

    fn places(&self, span: &Span, around: (u64, u64)) -> (u64, u64) {
        let at = |id: &Option<String>| self.ends.get(id.as_deref()?).copied();
        let from = at(&span.open.message).unwrap_or(around.0);
        let to = span.close.as_ref().and_then(|close| at(&close.message));
        (from, to.unwrap_or(around.1))
    }
}

fn distance(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or_default()
}
