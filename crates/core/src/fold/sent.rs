//! A request as a host sends it: the transcript after operations, and the origin of every part of it.

use std::collections::HashMap;

use crate::transcript::{FoldOp, Message, Role};

/// A message as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// Its place in the transcript; for a message of ours that of the message after which it stands.
    pub place: usize,
    /// Whether it is a message of ours.
    pub is_ours: bool,
    /// Its parts in order.
    pub parts: Vec<SentPart>,
}

/// A part of a message as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentPart {
    /// A part of the transcript.
    Own {
        /// The place of the message that it was made in.
        message: usize,
        /// Its place there.
        part: usize,
        /// The result that replaces the call's own.
        output: Option<String>,
        /// The texts after the result.
        added: Vec<String>,
    },
    /// A text of ours.
    Ours {
        /// The text.
        text: String,
        /// The part that it replaces, by the place of its message and its own there, if it does.
        instead_of: Option<(usize, usize)>,
    },
}

/// Applies operations to a transcript, as a host does.
///
/// Operations that name what is not there, or what they can't be applied to, change nothing.
pub fn sent(transcript: &[Message], ops: &[FoldOp]) -> Vec<SentMessage> {
    let mut request = Request::of(transcript);
    for op in ops {
        request.apply(op);
    }
    request.messages()
}

/// The messages at their places, while operations are applied.
struct Request<'a> {
    transcript: &'a [Message],
    /// The place of each message; of several with one id the first.
    places: HashMap<&'a str, usize>,
    /// The parts of each message; none once it is cut or has joined another one.
    parts: Vec<Option<Vec<SentPart>>>,
    /// The texts of messages of ours, by the message after which they stand.
    inserted: HashMap<usize, Vec<String>>,
}

impl<'a> Request<'a> {
    fn of(transcript: &'a [Message]) -> Self {
        let mut places = HashMap::with_capacity(transcript.len());
        for (place, message) in transcript.iter().enumerate() {
            places.entry(message.id.as_str()).or_insert(place);
        }
        let own = |message: usize, part: usize| SentPart::Own {
            message,
            part,
            output: None,
            added: Vec::new(),
        };
        let parts = transcript.iter().enumerate();
        let parts = parts
            .map(|(at, message)| Some((0..message.parts.len()).map(|part| own(at, part)).collect()))
            .collect();
        Self { transcript, places, parts, inserted: HashMap::new() }
    }

    fn apply(&mut self, op: &FoldOp) {
        match op {
            FoldOp::Cut { from, to } => {
                let (Some(from), Some(to)) = (self.there(from), self.there(to)) else { return };
                for (place, parts) in self.parts.iter_mut().enumerate().take(to + 1).skip(from) {
                    *parts = None;
                    // A message of ours after the last one stands outside.
                    if place < to {
                        self.inserted.remove(&place);
                    }
                }
            }
            FoldOp::Keep { message, parts } => {
                let transcript = self.transcript;
                let id = |message: usize, part: usize| &transcript[message].parts[part].id;
                if let Some(sent) = self.parts_of(message) {
                    sent.retain(|it| match it {
                        SentPart::Own { message, part, .. } => parts.contains(id(*message, *part)),
                        SentPart::Ours { .. } => true,
                    });
                }
            }
            FoldOp::Output { message, part, text } => {
                if let Some(SentPart::Own { output, .. }) = self.part(message, part) {
                    *output = Some(text.clone());
                }
            }
            FoldOp::AddToOutput { message, part, text } => {
                if let Some(SentPart::Own { added, .. }) = self.part(message, part) {
                    added.push(text.clone());
                }
            }
            FoldOp::Replace { message, part, text } => {
                if let Some(part) = self.part(message, part) {
                    let instead_of = match part {
                        SentPart::Own { message, part, .. } => Some((*message, *part)),
                        SentPart::Ours { instead_of, .. } => *instead_of,
                    };
                    *part = SentPart::Ours { text: text.clone(), instead_of };
                }
            }
            FoldOp::Append { message, text } => {
                if let Some(parts) = self.parts_of(message) {
                    parts.push(SentPart::Ours { text: text.clone(), instead_of: None });
                }
            }
            FoldOp::Join { message, to } => {
                let (Some(from), Some(to)) = (self.there(message), self.there(to)) else { return };
                let is_step = |place: usize| self.transcript[place].role == Role::Assistant;
                if to >= from || !is_step(from) || !is_step(to) || self.parts[to].is_none() {
                    return;
                }
                let joined = self.parts[from].take().unwrap_or_default();
                self.parts[to].get_or_insert_default().extend(joined);
            }
            FoldOp::Insert { after, text } => {
                if let Some(after) = self.there(after) {
                    self.inserted.entry(after).or_default().insert(0, text.clone());
                }
            }
        }
    }

    /// The place of a message that is still there.
    fn there(&self, id: &str) -> Option<usize> {
        let place = self.places.get(id).copied()?;
        self.parts[place].is_some().then_some(place)
    }

    fn parts_of(&mut self, id: &str) -> Option<&mut Vec<SentPart>> {
        let place = self.there(id)?;
        self.parts[place].as_mut()
    }

    fn part(&mut self, message: &str, id: &str) -> Option<&mut SentPart> {
        let transcript = self.transcript;
        let is_it = |it: &SentPart| match it {
            SentPart::Own { message, part, .. } => transcript[*message].parts[*part].id == id,
            SentPart::Ours { .. } => false,
        };
        self.parts_of(message)?.iter_mut().find(|it| is_it(it))
    }

    fn messages(mut self) -> Vec<SentMessage> {
        let mut messages = Vec::new();
        for (place, parts) in self.parts.into_iter().enumerate() {
            messages.extend(parts.map(|parts| SentMessage { place, is_ours: false, parts }));
            for text in self.inserted.remove(&place).unwrap_or_default() {
                let parts = vec![SentPart::Ours { text, instead_of: None }];
                messages.push(SentMessage { place, is_ours: true, parts });
            }
        }
        messages
    }
}

#[cfg(test)]
#[path = "sent_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "shared_tests.rs"]
mod shared_tests;
