//! Transcripts as short text.
//!
//! One line a message, its id first: `u` the user, `a` the agent, `c` the host's request for a
//! compaction, `s` its summary. In it, one word a part:
//!
//! - `"words"` text, `~"words"` text of the host, `@name` an attached picture, or a file `.rs`, `think` reasoning, `seal` such that is signed, `.`
//!   bookkeeping;
//! - `push:A`, `pop:A` calls that open and close the span A (`take:A` is an activation); any other word is a call;
//!   `!` after it marks a failed one, `?` an unfinished one. A frame is the capital letter of its spans: `A` and `A2`
//!   are spans of one frame.
//!
//! A line `- …` is a message that the host hides. `[open A]` and `[close A]` are boundaries from outside after the
//! message above, `[append u1 words]` and `[insert a1 words]` are notes, `[mask a1.0 words]` masks the result of a
//! call. `list:A` is a call of the todo list with which the item A is taken up, `list:/A` one with which it is over,
//! `list:/A+B` both. `since:A:call` is a pop that closes the span A, whose first call is the one that is named;
//! `[named call words]` is a note at the end of its result.

use super::super::{Folded, Input, Mask, Note, Placement, ReasoningPolicy, fold};
use super::{host, new_fold, open_span};
use crate::frame::FrameNum;
use crate::transcript::{
    Anchor, CallState, Message, MessageKind, Part, PartBody, Role, Span, SpanNum, SpanOrigin,
    ToolCall,
};

/// A session in the making.
#[derive(Clone, Debug)]
pub(in super::super) struct Session {
    pub(in super::super) transcript: Vec<Message>,
    pub(in super::super) spans: Vec<Span>,
    pub(in super::super) notes: Vec<Note>,
    pub(in super::super) masks: Vec<Mask>,
    pub(in super::super) reasoning: ReasoningPolicy,
    pub(in super::super) stale_until: Option<String>,
    pub(in super::super) stale: Vec<String>,
    /// The spans' names, in their order.
    names: Vec<String>,
}

impl Session {
    pub(in super::super) fn read(text: &str) -> Self {
        let mut session = Self {
            transcript: Vec::new(),
            spans: Vec::new(),
            notes: Vec::new(),
            masks: Vec::new(),
            reasoning: ReasoningPolicy::Strip,
            stale_until: None,
            stale: Vec::new(),
            names: Vec::new(),
        };
        session.extend(text);
        session
    }

    /// Reads further lines.
    pub(in super::super) fn extend(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(inner) = line.strip_prefix('[') {
                self.boundary_or_note(inner.trim_end_matches(']'));
            } else if let Some(hidden) = line.strip_prefix("- ") {
                self.message(hidden);
                self.transcript.pop();
            } else {
                self.message(line);
            }
        }
    }

    fn boundary_or_note(&mut self, text: &str) {
        let message = self.transcript.last().map(|message| message.id.clone());
        let anchor = Anchor { message, call: None };
        let words: Vec<_> = text.splitn(3, ' ').collect();
        match words[..] {
            ["open", name] => self.open(name, anchor),
            ["close", name] => self.close(name, anchor),
            ["mask", part, text] => self.masks.push(Mask {
                message: part.split('.').next().unwrap_or_default().to_owned(),
                part: part.to_owned(),
                text: text.to_owned(),
                settled_at: None,
            }),
            ["named", call, text] => self.notes.push(Note {
                message: self.anchor_of(call).message.unwrap_or_default(),
                text: text.to_owned(),
                placement: Placement::Output(call.to_owned()),
            }),
            [how @ ("append" | "insert"), message, text] => self.notes.push(Note {
                message: message.to_owned(),
                text: text.to_owned(),
                placement: if how == "append" { Placement::Append } else { Placement::Insert },
            }),
            _ => panic!("cannot read [{text}]"),
        }
    }

    fn message(&mut self, line: &str) {
        let (id, rest) = line.split_once(':').expect("a message begins with its id");
        let (role, standing) = match &id[..1] {
            "u" => (Role::User, MessageKind::Normal),
            "a" => (Role::Assistant, MessageKind::Normal),
            "c" => (Role::User, MessageKind::CompactionRequest),
            "s" => (Role::Assistant, MessageKind::Summary),
            _ => panic!("whose message is {id}?"),
        };
        let mut parts = Vec::new();
        for word in words(rest) {
            let body = self.part(id, &word);
            parts.push(Part { id: format!("{id}.{}", parts.len()), body });
        }
        self.transcript.push(Message { id: id.to_owned(), role, standing, parts });
    }

    fn part(&mut self, message: &str, word: &str) -> PartBody {
        let text = |quoted: &str, synthetic| PartBody::Text {
            synthetic,
            chars: quoted.trim_matches('"').chars().count(),
            head: quoted.trim_matches('"').to_owned(),
        };
        match word {
            "think" => return PartBody::Reasoning { sealed: false },
            "seal" => return PartBody::Reasoning { sealed: true },
            "." => return PartBody::Other,
            _ if word.starts_with('"') => return text(word, false),
            _ => {}
        }
        if let Some(synthetic) = word.strip_prefix('~') {
            return text(synthetic, true);
        }
        if let Some(name) = word.strip_prefix('@') {
            let mime = match name.split_once('.') {
                Some((_, "rs")) => "text/plain",
                _ => "image/png",
            };
            return PartBody::File { name: name.to_owned(), mime: mime.to_owned() };
        }
        let state = match word.chars().last() {
            Some('!') => CallState::Failed,
            Some('?') => CallState::Open,
            _ => CallState::Completed,
        };
        let call = word.to_owned();
        let anchor = Anchor { message: Some(message.to_owned()), call: Some(call.clone()) };
        let tool = match word.trim_end_matches(['!', '?']).split_once(':') {
            Some(("push" | "take", name)) => {
                self.open(name, anchor);
                "stack_frame_push"
            }
            Some(("pop", name)) => {
                self.close(name, anchor);
                "stack_frame_pop"
            }
            Some(("since", closed)) => {
                let (name, first) = closed.split_once(':').expect("the first call is named");
                self.open(name, self.anchor_of(first));
                self.span(name).origin = SpanOrigin::Since;
                self.close(name, anchor);
                "stack_frame_pop"
            }
            Some(("list", items)) => {
                for item in items.split('+') {
                    if let Some(name) = item.strip_prefix('/') {
                        self.close(name, anchor.clone());
                    } else {
                        self.open(item, anchor.clone());
                        self.span(item).origin = SpanOrigin::Todo;
                    }
                }
                "todowrite"
            }
            _ => "tool",
        };
        ToolCall::new(call, tool, state).into()
    }

    /// Where a call stands that was made.
    pub(in super::super) fn anchor_of(&self, wanted: &str) -> Anchor {
        let made = |message: &&Message| {
            let is_it = |body: &PartBody| matches!(body, PartBody::Tool(call) if call.id == wanted);
            message.parts.iter().any(|part| is_it(&part.body))
        };
        let message = self.transcript.iter().find(made).map(|message| message.id.clone());
        Anchor { message, call: Some(wanted.to_owned()) }
    }

    fn open(&mut self, name: &str, open: Anchor) {
        let frame = u64::from(name.as_bytes()[0] - b'A') + 1;
        self.names.push(name.to_owned());
        let num = self.names.len() as u64;
        self.spans.push(open_span(num, FrameNum(frame), open));
    }

    fn close(&mut self, name: &str, close: Anchor) {
        let text = format!("<{name} returned>");
        let span = self.span(name);
        span.close = Some(close);
        span.fold = Some(new_fold(text));
    }

    pub(in super::super) fn span(&mut self, name: &str) -> &mut Span {
        let at = self.names.iter().position(|known| known == name);
        &mut self.spans[at.unwrap_or_else(|| panic!("there is no span {name}"))]
    }

    pub(in super::super) fn settle(&mut self, name: &str, at: &str) {
        self.span(name).fold.as_mut().expect("the span is closed").settled_at = Some(at.to_owned());
    }

    pub(in super::super) fn input(&self) -> Input<'_> {
        Input {
            transcript: &self.transcript,
            spans: &self.spans,
            notes: &self.notes,
            masks: &self.masks,
            reasoning: self.reasoning,
            stale_until: self.stale_until.as_deref(),
            stale: &self.stale,
        }
    }

    pub(in super::super) fn fold(&self) -> Folded {
        fold(&self.input())
    }

    /// The request that folding makes, as lines.
    pub(in super::super) fn request(&self) -> String {
        host::show(&host::apply(&self.transcript, &self.fold().ops))
    }

    /// Names of the spans in effect, unsettled ones with `*`, then `/` and the swallowed ones.
    pub(in super::super) fn effects(&self) -> String {
        let folded = self.fold();
        let name = |num: &SpanNum| self.names[usize::try_from(num.0).unwrap() - 1].clone();
        let in_effect = folded.in_effect.iter().map(|num| {
            let star = if folded.unsettled.contains(num) { "*" } else { "" };
            format!("{}{star}", name(num))
        });
        let swallowed = folded.swallowed.iter().map(name);
        let in_effect = in_effect.collect::<Vec<_>>().join(" ");
        let swallowed = swallowed.collect::<Vec<_>>().join(" ");
        format!("{in_effect} / {swallowed}").trim().to_owned()
    }
}

/// Splits at white space outside of quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        quoted ^= c == '"';
        if c.is_whitespace() && !quoted {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The request for a session, as lines.
pub(in super::super) fn request(text: &str) -> String {
    Session::read(text).request()
}
