//! A stored message as its readers know it, whichever program wrote it. What a host sends is stored byte for byte, in
//! the host's own shape; `stored/opencode.rs` alone knows that shape, and every reader is given a [`Message`].

mod lenient;
mod opencode;
mod sections;
mod unreadable;
mod written;

use serde_json::Value;

use crate::json::{counted, mended};
use crate::transcript::{MessageKind, Role, ToolCall};

pub use sections::{Sections, narrowed, record_values, records, without_records};
pub use unreadable::{beginning, is_stand_in, purged, with_bytes, without_message};

/// The field of a recorded session's stored message with its source: `by`, the program, and `records`, values byte
/// for byte, or texts where they are no JSON.
pub const RECORDED: &str = "recorded";

/// A stored message. What is missing in it, or is of another type than it should be, is none or empty here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// The host's id.
    pub id: String,
    /// The host's id of its session.
    pub session: Option<String>,
    /// Who wrote it.
    pub author: Option<Author>,
    /// When it was made; milliseconds since 1970, as all times here.
    pub created: Option<i64>,
    /// When it was complete.
    pub completed: Option<i64>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The provider of that model.
    pub provider: Option<String>,
    /// The model that it was written for.
    pub for_model: Option<String>,
    /// The host's name of the agent.
    pub agent: Option<String>,
    /// The tokens of its request and its answer.
    pub tokens: Tokens,
    /// The host's account of its costs, in the host's currency.
    pub cost: Option<f64>,
    /// Why the model stopped.
    pub finish: Option<String>,
    /// The error that it ended with.
    pub error: Option<Value>,
    /// Whether it was asked for as a summary of the messages before it; see [`Message::kind`] for one that is done.
    pub is_summary: bool,
    /// Its parts in order; none where it is no message.
    pub parts: Option<Vec<Part>>,
    /// Its source, where it was imported from another program's recording.
    pub recording: Option<Recording>,
}

/// The author of a stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// The user, or the host in the user's place.
    User,
    /// The model.
    Assistant,
    /// Another one, as the host calls it.
    Other(String),
}

impl Author {
    /// Returns the name of an author.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Other(name) => name,
        }
    }
}

/// Numbers of tokens as a provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens of the request that came from no cache.
    pub input: Option<u64>,
    /// Tokens of the answer, without reasoning.
    pub output: Option<u64>,
    /// Tokens of the reasoning.
    pub reasoning: Option<u64>,
    /// Tokens of the request that came from a cache.
    pub cache_read: Option<u64>,
    /// Tokens of the request that were put into a cache.
    pub cache_written: Option<u64>,
}

impl Tokens {
    /// Tokens of the whole request.
    pub fn sent(&self) -> u64 {
        counted(self.input) + counted(self.cache_read) + counted(self.cache_written)
    }

    /// Returns the tokens that the model read and wrote, as they were reported; none where that says nothing.
    pub fn read_and_written(&self) -> Option<(u64, u64)> {
        let (read, written) = self.input.zip(self.output)?;
        let read_all = read.saturating_add(self.cache_read.unwrap_or(0));
        (read.saturating_add(written) > 0).then_some((read_all, written))
    }
}

/// The source of a message that was imported from a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The program that recorded it.
    pub by: Option<String>,
    /// Whether it is on a branch that was left: its work does not count.
    pub is_aside: bool,
    /// The actions of its calls, by their ids.
    pub actions: Value,
}

/// A part of a stored message.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The host's id of it; empty where it has none.
    pub id: String,
    /// Its content.
    pub body: PartBody,
}

/// The content of a part of a stored message.
#[derive(Clone, Debug, PartialEq)]
pub enum PartBody {
    /// Words.
    Text {
        /// The words.
        text: String,
        /// Whether the host wrote them in their author's place.
        synthetic: bool,
        /// Whether they are for people alone and never sent to a model.
        ignored: bool,
    },
    /// The model's reasoning.
    Reasoning {
        /// Its words.
        text: String,
        /// Whether it is signed or encrypted, and so bound to its place.
        sealed: bool,
    },
    /// A call of a tool.
    Call(Box<Call>),
    /// A file that is attached.
    File {
        /// Its name.
        name: Option<String>,
        /// Its media type.
        mime: Option<String>,
    },
    /// A mark of the host's bookkeeping, which says nothing to a person.
    Mark,
    /// A text in place of something that can't be read.
    Unreadable(String),
    /// A request of the user's for work of the host's own, with all of its fields.
    Asked(Asked, Value),
    /// Something else, with all of its fields.
    Other(Value),
}

/// Work of a host's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A compaction.
    Compaction {
        /// The first of the messages that the host keeps word for word after the summary.
        kept_from: Option<String>,
    },
    /// A command that a subagent carries out.
    Subagent,
}

/// A call of a tool in a stored message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The call, whole but for what only the tool's meaning tells: its action, its edits and its division of work.
    pub made: ToolCall,
    /// The host's word for its state: pending, running, completed, error. None of a call of which nothing else is
    /// known.
    pub status: Option<String>,
    /// Whether the host no longer sends its output.
    pub is_cleared: bool,
    /// Whether files belong to its output.
    pub has_attachments: bool,
    /// The host's data beside its output.
    pub metadata: Value,
}

impl Call {
    /// Returns the name of its tool for people.
    pub fn tool(&self) -> &str {
        if self.made.tool.is_empty() { "tool" } else { &self.made.tool }
    }

    /// Returns its output; none where it failed.
    pub fn output(&self) -> Option<&str> {
        self.made.output.as_deref().filter(|_| !self.made.is_failed())
    }

    /// Returns its output or its error.
    pub fn result(&self) -> Option<&str> {
        self.made.output.as_deref()
    }
}

impl Part {
    /// The call, if it is one.
    pub fn call(&self) -> Option<&Call> {
        match &self.body {
            PartBody::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Returns its words as a text of the message, those of the host among them; none for another kind of part.
    pub fn text(&self) -> Option<&str> {
        match &self.body {
            PartBody::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns its words as its author wrote them for the conversation; none for another kind of part, and for words
    /// that the host added or does not send.
    pub fn own_text(&self) -> Option<&str> {
        match &self.body {
            PartBody::Text { text, synthetic: false, ignored: false } => Some(text),
            _ => None,
        }
    }

    /// Returns the words of a part of any kind; empty where it has none.
    pub fn words(&self) -> &str {
        match &self.body {
            PartBody::Text { text, .. }
            | PartBody::Reasoning { text, .. }
            | PartBody::Unreadable(text) => text,
            PartBody::Asked(_, fields) | PartBody::Other(fields) => {
                fields["text"].as_str().unwrap_or_default()
            }
            PartBody::Call(_) | PartBody::File { .. } | PartBody::Mark => "",
        }
    }
}

impl Message {
    /// Reads a stored message; none where it is no JSON.
    pub fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok().or_else(|| {
            // Mended or taken apart first: a name that stands twice, half a character.
            Some(Self::of(serde_json::from_str(&mended(json)).ok()?))
        })
    }

    /// Reads a stored message that has been parsed.
    pub fn of(json: Value) -> Self {
        serde_json::from_value(json).unwrap_or_default()
    }

    /// Its parts in order.
    pub fn parts(&self) -> &[Part] {
        self.parts.as_deref().unwrap_or_default()
    }

    /// Returns the part at a place; an empty one where there is none.
    pub fn part(&self, place: usize) -> &Part {
        static NONE: Part = Part { id: String::new(), body: PartBody::Other(Value::Null) };
        self.parts().get(place).unwrap_or(&NONE)
    }

    /// Its calls in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts().iter().filter_map(Part::call)
    }

    /// The name of the model that wrote it, or for which it was written.
    pub fn named_model(&self) -> Option<&str> {
        self.model.as_deref().or(self.for_model.as_deref())
    }

    /// Whether the user wrote it.
    pub fn is_of_user(&self) -> bool {
        self.author == Some(Author::User)
    }

    /// Whether the model wrote it.
    pub fn is_of_assistant(&self) -> bool {
        self.author == Some(Author::Assistant)
    }

    /// Returns its author as a conversation knows it: whoever is not the user is the model.
    pub fn role(&self) -> Role {
        if self.is_of_user() { Role::User } else { Role::Assistant }
    }

    /// Returns its role in the host's bookkeeping. A summary that was not finished, or failed, hides nothing: the host
    /// still sends the messages before it.
    pub fn kind(&self) -> MessageKind {
        let asks = |part: &Part| matches!(part.body, PartBody::Asked(Asked::Compaction { .. }, _));
        match self.role() {
            Role::User if self.parts().iter().any(asks) => MessageKind::CompactionRequest,
            Role::Assistant if self.is_summary && self.finish.is_some() && self.error.is_none() => {
                MessageKind::Summary
            }
            _ => MessageKind::Normal,
        }
    }

    /// Returns the first of the messages that the host keeps word for word after the summary that it asks for.
    pub fn kept_from(&self) -> Option<&str> {
        self.parts().iter().find_map(|part| match &part.body {
            PartBody::Asked(Asked::Compaction { kept_from }, _) => kept_from.as_deref(),
            _ => None,
        })
    }

    /// Whether it is on a branch of a recording that was left.
    pub fn is_aside(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.is_aside)
    }
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;
