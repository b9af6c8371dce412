//! The content of each model call of a session, and its content without folding, from the messages and spans that are
//! stored.

use std::collections::HashMap;

use callstack_core::fold::{Input, ReasoningPolicy, fold};
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{FoldOp, Message, MessageKind, Role, Span};
use callstack_engine::{Engine, EngineError};
use serde_json::Value;

use super::decode::decode;

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
        let Some(shown) = decode(&stored.json, engine.project()) else { continue };
        let json = serde_json::from_str(&stored.json).unwrap_or_default();
        pieces.push(pieces_of(&shown.message, &json));
        transcript.push(shown.message);
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

/// A part of a message, or the result of a call: the part's id, and whether it is a result.
type Piece = (String, bool, Line);

fn pieces_of(message: &Message, json: &Value) -> Vec<Piece> {
    let author = if message.role == Role::User { "user" } else { "assistant" };
    let mut pieces = Vec::new();
    for part in json["parts"].as_array().into_iter().flatten() {
        let id = part["id"].as_str().unwrap_or_default().to_owned();
        let mut add = |from: &'static str, is_result: bool, text: String| {
            pieces.push((id.clone(), is_result, Line { from, text, fate: Fate::Sent }));
        };
        let text = || part["text"].as_str().unwrap_or_default().to_owned();
        match part["type"].as_str() {
            Some("text") if part["ignored"] != true => add(author, false, text()),
            Some("reasoning") => add("reasoning", false, text()),
            Some("file") => {
                add(author, false, format!("(file {})", part["filename"].as_str().unwrap_or("?")));
            }
            Some("tool") => {
                let state = &part["state"];
                let tool = part["tool"].as_str().unwrap_or("tool");
                add("call", false, format!("{tool} {}", state["input"]));
                let result = state["output"].as_str().or_else(|| state["error"].as_str());
                add("result", true, result.unwrap_or_default().to_owned());
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
    let mut sent: Vec<Vec<Piece>> = pieces[from..].to_vec();
    for op in &folded.ops {
        apply(op, &mut sent, &places);
    }
    let lines: Vec<Line> = sent.into_iter().flatten().map(|(_, _, line)| line).collect();
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

fn apply(op: &FoldOp, sent: &mut [Vec<Piece>], places: &HashMap<&str, usize>) {
    let added = |from: &'static str, text: &str| {
        (String::new(), false, Line { from, text: text.to_owned(), fate: Fate::Added })
    };
    let at = |id: &str| places.get(id).copied();
    match op {
        FoldOp::Cut { from, to } => {
            let (Some(from), Some(to)) = (at(from), at(to)) else { return };
            for message in sent.iter_mut().take(to + 1).skip(from) {
                for (_, _, line) in message {
                    line.fate = Fate::Folded;
                }
            }
        }
        FoldOp::Keep { message, parts } => {
            let Some(at) = at(message) else { return };
            for (id, _, line) in &mut sent[at] {
                if !parts.contains(id) {
                    line.fate = Fate::Folded;
                }
            }
        }
        FoldOp::Output { message, part, text } | FoldOp::Replace { message, part, text } => {
            let Some(at) = at(message) else { return };
            let is_output = matches!(op, FoldOp::Output { .. });
            let found =
                sent[at].iter().position(|(id, result, _)| id == part && *result == is_output);
            let Some(found) = found else { return };
            sent[at][found].2.fate = Fate::Folded;
            let from = sent[at][found].2.from;
            sent[at].insert(found + 1, added(from, text));
        }
        FoldOp::AddToOutput { message, part, text } => {
            let Some(at) = at(message) else { return };
            // After the text that replaces it, if there is one.
            let found = sent[at].iter().position(|(id, result, _)| id == part && *result);
            let Some(found) = found else { return };
            let from = sent[at][found].2.from;
            let behind = sent[at][found + 1..].iter().take_while(|(id, _, _)| id.is_empty());
            let place = found + 1 + behind.count();
            sent[at].insert(place, added(from, text));
        }
        // It stays where it was made.
        FoldOp::Join { .. } => {}
        FoldOp::Append { message, text } | FoldOp::Insert { after: message, text } => {
            if let Some(at) = at(message) {
                sent[at].push(added("user", text));
            }
        }
    }
}
