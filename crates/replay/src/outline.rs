//! A replayed session as it is drawn: its frames over time and over tokens, and the size of each request.

use std::collections::HashMap;
use std::ops::Range;

use callstack_core::evidence::{Budget, span_tokens, take};
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::secrets::{mask, take_to_token_budget};
use callstack_core::transcript::{PartBody, Role, Span};

use crate::format::lines_of;
use crate::replay::Replay;
use crate::session::{PieceKind, Session};
use crate::ways::Strategy;

/// Tokens of a line of a frame's log.
const LINE: usize = 60;
/// Lines of a frame's log.
const LINES: usize = 40;

/// The drawing of a session.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Its frames, the root first, each after the one around it.
    pub frames: Vec<Bar>,
    /// The time of its beginning, in milliseconds since 1970; 0 where that is unknown.
    pub began: i64,
    /// Its duration in milliseconds, by the recording's clock; 0 where that is unknown.
    pub time: u64,
    /// Tokens of all that was said and done.
    pub tokens: u64,
    /// Tokens of each request, by way.
    pub curves: Vec<(Strategy, Vec<u64>)>,
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
    /// Its status.
    pub status: Status,
    /// The text that it returned.
    pub results: String,
    /// The files that it changed, frames inside it included, each with its lines, such as `src/a.rs +26 −3`.
    pub files: Vec<String>,
    /// The beginning of the words and calls in it, and in no frame inside it.
    pub log: Vec<Line>,
    /// The number of further lines.
    pub more: usize,
    /// Its beginning and end, in milliseconds since the session's beginning.
    pub time: (u64, u64),
    /// Its beginning and end, in tokens since the session's beginning.
    pub tokens: (u64, u64),
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The author, or that it is a call.
    pub who: &'static str,
    /// The beginning of it.
    pub text: String,
}

impl Replay {
    /// Returns the drawing of the session.
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
        let messages = self.session.transcript.len();
        let mut drawing = Drawing {
            session: &self.session,
            places: HashMap::with_capacity(messages),
            below: HashMap::new(),
            spans: self.spans.iter().rev().map(|span| (span.frame, span)).collect(),
            ends: HashMap::new(),
            began,
            bars: Vec::with_capacity(self.frames.len()),
        };
        for frame in &self.frames {
            drawing.below.entry(frame.parent).or_default().push(frame);
        }
        for ((at, message), end) in self.session.transcript.iter().enumerate().zip(ends).rev() {
            drawing.ends.insert(&message.id, end);
            drawing.places.insert(&message.id, at);
        }
        if let Some(root) = self.frames.first() {
            drawing.draw(root, (0, time), (0, sum), 0..messages);
        }
        let frames = drawing.bars;
        let curves = self.figures.iter().map(|(way, figures)| (*way, figures.curve.clone()));
        Outline { frames, began, time, tokens: sum, curves: curves.collect() }
    }
}

struct Drawing<'r> {
    session: &'r Session,
    /// The places of messages by their ids.
    places: HashMap<&'r str, usize>,
    below: HashMap<Option<FrameNum>, Vec<&'r Frame>>,
    spans: HashMap<FrameNum, &'r Span>,
    /// The tokens up to the end of each message.
    ends: HashMap<&'r str, u64>,
    began: i64,
    bars: Vec<Bar>,
}

impl Drawing<'_> {
    fn draw(
        &mut self,
        frame: &Frame,
        time: (u64, u64),
        tokens: (u64, u64),
        messages: Range<usize>,
    ) {
        let results = frame.results.as_deref().unwrap_or_default();
        let below = self.below.remove(&Some(frame.num)).unwrap_or_default();
        let inside: Vec<_> = below.iter().map(|it| self.messages(it.num, &messages)).collect();
        let (log, more) = self.log(&messages, &inside);
        self.bars.push(Bar {
            num: frame.num,
            depth: frame.depth,
            title: mask(&frame.identity.title).into_owned(),
            status: frame.status,
            results: mask(results).into_owned(),
            files: self.files(&messages),
            log,
            more,
            time,
            tokens,
        });
        for (inner, messages) in below.into_iter().zip(inside) {
            let ended = inner.ended_at.map_or(time.1, |ended| distance(self.began, ended));
            let within = |range: (u64, u64), from: u64, to: u64| {
                let from = from.clamp(range.0, range.1);
                (from, to.clamp(from, range.1))
            };
            let inner_time = within(time, distance(self.began, inner.created_at), ended);
            let span = self.spans.get(&inner.num);
            let (from, to) = span.map_or(tokens, |span| self.places(span, tokens));
            self.draw(inner, inner_time, within(tokens, from, to), messages);
        }
    }

    /// The messages of a frame inside another one.
    fn messages(&self, frame: FrameNum, around: &Range<usize>) -> Range<usize> {
        let Some(span) = self.spans.get(&frame) else { return around.end..around.end };
        let place_after = |id: &Option<String>| self.places.get(id.as_deref()?).map(|at| at + 1);
        let close = span.close.as_ref().and_then(|close| place_after(&close.message));
        let from = place_after(&span.open.message).unwrap_or(around.start);
        let from = from.clamp(around.start, around.end);
        from..close.unwrap_or(around.end).clamp(from, around.end)
    }

    fn files(&self, messages: &Range<usize>) -> Vec<String> {
        let happened = self.session.happened(messages.clone());
        let room = Budget::UNPUSHED.of(span_tokens(happened));
        let evidence = take(happened, "", &self.session.project, room, &|_| None);
        let file = |path: &str, lines: String| mask(&format!("{path} {lines}")).trim().to_owned();
        let changes = evidence.changes.iter();
        let mut files: Vec<_> = changes.map(|it| file(&it.path, lines_of(it))).collect();
        for written in &evidence.written {
            if !evidence.changes.iter().any(|change| change.path == written.path) {
                files.push(file(&written.path, String::new()));
            }
        }
        if evidence.more_changes > 0 {
            files.push(format!("and {} more", evidence.more_changes));
        }
        files
    }

    fn log(&self, messages: &Range<usize>, inside: &[Range<usize>]) -> (Vec<Line>, usize) {
        let (mut lines, mut more) = (Vec::new(), 0);
        let session = self.session;
        for at in messages.clone().filter(|at| !inside.iter().any(|range| range.contains(at))) {
            let (Some(message), Some(pieces)) =
                (session.transcript.get(at), session.pieces.get(at))
            else {
                continue;
            };
            for piece in pieces {
                let is_own = !matches!(
                    message.parts.get(piece.part).map(|part| &part.body),
                    Some(PartBody::Text { synthetic: true, .. })
                );
                let who = match (piece.kind, message.role) {
                    (PieceKind::Words, Role::User) if is_own => "user",
                    (PieceKind::Words, Role::Assistant) => "agent",
                    (PieceKind::Call, _) => "call",
                    _ => continue,
                };
                if lines.len() == LINES {
                    more += 1;
                    continue;
                }
                let text = &session.items.get(piece.item).text;
                lines.push(Line { who, text: take_to_token_budget(text.trim(), LINE, " …") });
            }
        }
        (lines, more)
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
