//! The content of each model call of a session, and its content without folding, from the messages and spans that are
//! stored.

use std::collections::{HashMap, HashSet};

use callstack_core::fold::{Input, ReasoningPolicy, SentMessage, SentPart, fold, sent};
use callstack_core::stored::{self, PartBody};
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{Message, MessageKind, Role, Span};
use callstack_engine::{Engine, EngineError};

use super::decode::shown;

/// One model call.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// The conversation, in order, with the fate of each piece.
    pub lines: Vec<Line>,
    /// Estimated tokens of the conversation as it was sent; without system prompt and tools.
    pub sent_tokens: usize,
    /// Estimated tokens of the conversation as it would have been sent without folding.
    pub whole_tokens: usize,
}

/// One piece of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its kind: `user`, `assistant`, `reasoning`, `call`, `result`.
    pub from: &'static str,
    /// Its text, whole.
    pub text: String,
    /// Its fate.
    pub fate: Fate,
}

/// The fate of a piece of a conversation in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was sent as it is.
    Sent,
    /// It was folded away.
    Folded,
    /// It is callstack's own, and replaces folded messages.
    Added,
}

/// The model calls of a session, in order.
pub fn calls(engine: &Engine, session: &str) -> Result<Vec<ModelCall>, EngineError> {
    let mut transcript = Vec::new();
    let mut pieces = Vec::new();
    for stored in engine.messages(session)? {
        // Only messages are sent.
        let read = stored::Message::read(&stored.json).filter(|it| !it.id.is_empty());
        let Some(read) = read else { continue };
        pieces.push(pieces_of(&read));
        transcript.push(shown(&read, engine.project()).message);
    }
    let spans = engine.spans(session)?;
    let reasoning = engine.current_settings()?.reasoning;
    let mut calls = Vec::new();
    for (at, message) in transcript.iter().enumerate() {
        if message.role == Role::Assistant && message.standing == MessageKind::Normal {
            calls.push(call(&transcript[..at], &pieces[..at], &spans, reasoning));
        }
    }
    Ok(calls)
}

/// A part of a message, or the result of a call.
struct Piece {
    id: String,
    is_result: bool,
    from: &'static str,
    text: String,
}

impl Piece {
    fn line(&self, fate: Fate) -> Line {
        Line { from: self.from, text: self.text.clone(), fate }
    }
}

fn pieces_of(message: &stored::Message) -> Vec<Piece> {
    let author = if message.role() == Role::User { "user" } else { "assistant" };
    let mut pieces = Vec::new();
    for part in message.parts() {
        let mut add = |from: &'static str, is_result: bool, text: String| {
            pieces.push(Piece { id: part.id.clone(), is_result, from, text });
        };
        match &part.body {
            PartBody::Text { text, ignored: false, .. } => add(author, false, text.clone()),
            PartBody::Reasoning { text, .. } => add("reasoning", false, text.clone()),
            PartBody::File { name, .. } => {
                add(author, false, format!("(file {})", name.as_deref().unwrap_or("?")));
            }
            PartBody::Call(call) => {
                add("call", false, format!("{} {}", call.tool(), call.made.input));
                add("result", true, call.result().unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }
    pieces
}

fn call(
    transcript: &[Message],
    pieces: &[Vec<Piece>],
    spans: &[Span],
    reasoning: ReasoningPolicy,
) -> ModelCall {
    // OpenCode does not send messages from before its compaction.
    let from =
        transcript.iter().rposition(|message| message.standing == MessageKind::CompactionRequest);
    let from = from.unwrap_or(0);
    let transcript = &transcript[from..];
    let places: HashMap<&str, usize> =
        transcript.iter().enumerate().map(|(at, message)| (message.id.as_str(), at)).collect();
    let spans: Vec<Span> = spans.iter().filter_map(|span| as_of(span, &places)).collect();
    let folded = fold(&Input {
        transcript,
        spans: &spans,
        notes: &[],
        masks: &[],
        reasoning,
        stale_until: None,
        stale: &[],
    });
    let lines = lines(transcript, &pieces[from..], &sent(transcript, &folded.ops));
    let tokens = |fates: [Fate; 2]| {
        let counted = lines.iter().filter(|line| fates.contains(&line.fate));
        counted.map(|line| estimate_tokens(&line.text)).sum()
    };
    ModelCall {
        sent_tokens: tokens([Fate::Sent, Fate::Added]),
        whole_tokens: tokens([Fate::Sent, Fate::Folded]),
        lines,
    }
}

/// Returns a span as it was when the session had only the messages of `places`; none if it had not begun.
fn as_of(span: &Span, places: &HashMap<&str, usize>) -> Option<Span> {
    let said = |id: &Option<String>| id.as_deref().is_none_or(|id| places.contains_key(id));
    if span.detached || !said(&span.open.message) {
        return None;
    }
    let mut span = span.clone();
    span.close = span.live_close().filter(|close| said(&close.message)).cloned();
    if span.close.is_none() {
        span.fold = None;
    }
    if let Some(fold) = &mut span.fold
        && !said(&fold.settled_at)
    {
        fold.settled_at = None;
    }
    Some(span)
}

/// Returns the pieces of a transcript in its order, with their fates in a request, and what is callstack's own among them.
fn lines(transcript: &[Message], pieces: &[Vec<Piece>], sent: &[SentMessage]) -> Vec<Line> {
    let own = sent.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        SentPart::Own { message, part, .. } => Some((*message, *part)),
        SentPart::Ours { .. } => None,
    });
    let own: HashSet<(usize, usize)> = own.collect();
    let mut lines = Vec::new();
    let mut sent = sent.iter().peekable();
    for (place, message) in transcript.iter().enumerate() {
        let mut left = message.parts.iter().enumerate().peekable();
        // What left stands where it was, in front of what came into its place.
        let mut leave = |until: usize, lines: &mut Vec<Line>| {
            while let Some((part, gone)) = left.next_if(|(part, _)| *part < until) {
                if !own.contains(&(place, part)) {
                    let gone = pieces[place].iter().filter(|piece| piece.id == gone.id);
                    lines.extend(gone.map(|piece| piece.line(Fate::Folded)));
                }
            }
        };
        while let Some(message) = sent.next_if(|message| message.place == place) {
            let next_own = |at: usize| {
                let own = message.parts[at..].iter().find_map(|part| match part {
                    SentPart::Own { message, part, .. } => (*message == place).then_some(*part),
                    SentPart::Ours { .. } => None,
                });
                own.unwrap_or(usize::MAX)
            };
            for (at, part) in message.parts.iter().enumerate() {
                leave(next_own(at), &mut lines);
                match part {
                    SentPart::Ours { text, .. } => lines.push(added("user", text)),
                    SentPart::Own { message, part, output, added: more } => {
                        let id = &transcript[*message].parts[*part].id;
                        for piece in pieces[*message].iter().filter(|piece| piece.id == *id) {
                            let output = output.as_ref().filter(|_| piece.is_result);
                            let fate = if output.is_some() { Fate::Folded } else { Fate::Sent };
                            lines.push(piece.line(fate));
                            lines.extend(output.map(|text| added(piece.from, text)));
                            let more = more.iter().filter(|_| piece.is_result);
                            lines.extend(more.map(|text| added(piece.from, text)));
                        }
                    }
                }
            }
        }
        leave(usize::MAX, &mut lines);
    }
    lines
}

fn added(from: &'static str, text: &str) -> Line {
    Line { from, text: text.to_owned(), fate: Fate::Added }
}
