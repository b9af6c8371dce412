//! A host's side of folding: carries operations out on messages and shows what is left.

use std::fmt;

use super::super::wording;
use crate::frame::FrameNum;
use crate::transcript::{FoldOp, Message, MessageKind, PartBody, Role};

/// One part as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct SentPart {
    pub(in super::super) id: String,
    pub(in super::super) body: PartBody,
    /// The output that folding gave a call.
    pub(in super::super) output: Option<String>,
    /// The text after the output.
    pub(in super::super) added: Vec<String>,
}

/// One message as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Sent {
    pub(in super::super) id: String,
    pub(in super::super) role: Role,
    pub(in super::super) standing: MessageKind,
    pub(in super::super) parts: Vec<SentPart>,
}

impl Sent {
    /// The parts that reach the model.
    pub(in super::super) fn read(&self) -> impl Iterator<Item = &SentPart> {
        self.parts.iter().filter(|part| part.body != PartBody::Other)
    }
}

fn ours(id: &str, text: &str) -> SentPart {
    SentPart {
        id: format!("ours:{id}"),
        body: PartBody::Text {
            synthetic: true,
            chars: text.chars().count(),
            head: text.to_owned(),
        },
        output: None,
        added: Vec::new(),
    }
}

/// The request without any operation.
pub(in super::super) fn unfolded(transcript: &[Message]) -> Vec<Sent> {
    let parts = |message: &Message| {
        let parts = message.parts.iter();
        parts
            .map(|part| SentPart {
                id: part.id.clone(),
                body: part.body.clone(),
                output: None,
                added: Vec::new(),
            })
            .collect()
    };
    transcript
        .iter()
        .map(|message| Sent {
            id: message.id.clone(),
            role: message.role,
            standing: message.standing,
            parts: parts(message),
        })
        .collect()
}

/// Carries operations out. One that names what is not there fails the test.
pub(in super::super) fn apply(transcript: &[Message], ops: &[FoldOp]) -> Vec<Sent> {
    let mut sent = unfolded(transcript);
    for op in ops {
        apply_one(&mut sent, op);
    }
    sent
}

fn apply_one(sent: &mut Vec<Sent>, op: &FoldOp) {
    let at = |id: &str| {
        let found = sent.iter().position(|message| message.id == id);
        found.unwrap_or_else(|| panic!("{op:?}: there is no message {id}"))
    };
    match op {
        FoldOp::Cut { from, to } => {
            let run = at(from)..=at(to);
            assert!(!run.is_empty(), "{op:?} runs backwards");
            sent.drain(run);
        }
        FoldOp::Keep { message, parts } => {
            let at = at(message);
            for id in parts {
                assert!(sent[at].parts.iter().any(|part| &part.id == id), "{op:?}: no part {id}");
            }
            sent[at].parts.retain(|part| parts.contains(&part.id));
        }
        FoldOp::Output { message, part, text } => {
            let at = at(message);
            let part = part_of(&mut sent[at], part);
            assert!(matches!(part.body, PartBody::Tool(_)), "{op:?}: no call");
            part.output = Some(text.clone());
        }
        FoldOp::AddToOutput { message, part, text } => {
            let at = at(message);
            let part = part_of(&mut sent[at], part);
            assert!(matches!(part.body, PartBody::Tool(_)), "{op:?}: no call");
            part.added.push(text.clone());
        }
        FoldOp::Replace { message, part, text } => {
            let at = at(message);
            let part = part_of(&mut sent[at], part);
            part.body = ours("", text).body;
        }
        FoldOp::Append { message, text } => {
            let at = at(message);
            assert_eq!(sent[at].role, Role::User, "{op:?}");
            let id = format!("{message}.{}", sent[at].parts.len());
            sent[at].parts.push(ours(&id, text));
        }
        FoldOp::Join { message, to } => {
            let (at, to) = (at(message), at(to));
            assert!(to < at && sent[to].role == Role::Assistant, "{op:?}");
            let between = sent[to + 1..at].iter().map(|message| &message.id);
            assert_eq!(between.count(), 0, "{op:?}: something stands in between");
            let joined = sent.remove(at);
            sent[to].parts.extend(joined.parts);
        }
        FoldOp::Insert { after, text } => {
            let id = format!("ours:{after}");
            assert!(sent.iter().all(|message| message.id != id), "{op:?}: one is there");
            let parts = vec![ours(after, text)];
            let at = at(after);
            let message = Sent { id, role: Role::User, standing: MessageKind::Normal, parts };
            sent.insert(at + 1, message);
        }
    }
}

fn part_of<'s>(message: &'s mut Sent, id: &str) -> &'s mut SentPart {
    let found = message.parts.iter_mut().find(|part| part.id == id);
    found.unwrap_or_else(|| panic!("there is no part {id}"))
}

/// One line a message: its id, then its parts as the notation writes them; `+` is ours.
pub(in super::super) fn show(sent: &[Sent]) -> String {
    let lines: Vec<_> = sent.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.id)?;
        for part in self.read() {
            match &part.body {
                PartBody::Text { head, .. } if part.id.starts_with("ours:") => {
                    write!(f, " +{}", short(head))?;
                }
                PartBody::Text { synthetic: true, head, .. } if head.starts_with("[callstack]") => {
                    write!(f, " {}", short(head))?;
                }
                PartBody::Text { synthetic: true, head, .. } => write!(f, " ~\"{head}\"")?,
                PartBody::Text { head, .. } => write!(f, " \"{head}\"")?,
                PartBody::Reasoning { sealed: false } => f.write_str(" think")?,
                PartBody::Reasoning { sealed: true } => f.write_str(" seal")?,
                PartBody::Tool(call) => {
                    write!(f, " {}", call.id)?;
                    if let Some(output) = &part.output {
                        write!(f, "={}", short(output))?;
                    }
                    for text in &part.added {
                        write!(f, "+{}", short(text))?;
                    }
                }
                PartBody::File { name, .. } => write!(f, " @{name}")?,
                PartBody::Other => {}
            }
        }
        Ok(())
    }
}

/// The lines that folding words itself, by name instead of in full.
fn short(text: &str) -> String {
    for number in 1..=26 {
        let frame = FrameNum(number);
        if text == wording::returned_below(frame) {
            return "(see below)".to_owned();
        }
        if text == wording::taken_up(frame) {
            return format!("(taken up in {frame})");
        }
        for outer in (1..number).map(FrameNum) {
            if text == wording::ended_inside(frame, outer) {
                return format!("(ended inside {outer})");
            }
        }
    }
    text.replace('\n', "⏎")
}
