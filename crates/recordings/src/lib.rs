//! Recorded sessions: reads agents' own files of a session, whichever program wrote them.
//!
//! A [`Recording`] is a session in one shape: messages in the order in which the model was shown them, one
//! for each call of the model, each with the records that it was read from. Records of a kind that is not
//! known are counted and otherwise passed over.
//!
//! [`read`] detects the format by a file's content, never by its name.
//!
//! Not here: the cost of the recorded work if it had been sent otherwise (`replay`), and its way into a store
//! (`hosts`).

mod claude_code;
mod codex;
mod detect;
mod disk;
mod error;
mod evidence;
mod lines;
mod link;
mod mini_swe_agent;
mod opencode;
mod pi;
mod shelves;
mod swe_agent;
pub mod tool_input;
mod tools;
mod transcript;

use std::collections::{BTreeMap, HashSet};

use callstack_core::framing::Division;
use callstack_core::transcript::{MessageKind, Role, ToolCall};
use serde_json::Value;

pub use claude_code::noted_in;
pub use disk::{Progress, is_recording, joined, parts, read, read_all};
pub use error::RecordingError;
pub use link::links;
pub use shelves::{Shelf, Shelved, shelves};
pub use tool_input::{Replaced, replaced_by};
pub use tools::open_call;

/// The program that wrote a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Claude Code's session files: JSON lines, with side chains and folders of subagents.
    ClaudeCode,
    /// OpenCode's `export`: one JSON document.
    OpenCode,
    /// Codex's rollout files: JSON lines.
    Codex,
    /// pi's session files: JSON lines that form a tree.
    Pi,
    /// SWE-agent's trajectories: one JSON document.
    SweAgent,
    /// mini-swe-agent's trajectories: one JSON document.
    MiniSweAgent,
}

impl Format {
    /// Returns the program's name in a store. A session that was exported from OpenCode is not one that was followed
    /// there.
    pub fn host(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::OpenCode => "opencode-export",
            Self::Codex => "codex",
            Self::Pi => "pi",
            Self::SweAgent => "swe-agent",
            Self::MiniSweAgent => "mini-swe-agent",
        }
    }
}

/// A recorded session.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The program that wrote it.
    pub format: Format,
    /// The session's id as recorded, or one made from the file's content where none is.
    pub session: String,
    /// The session that started it, and the call that did, as far as the recording shows.
    pub parent: Option<Parent>,
    /// The folder that was worked in, as recorded; empty where none is.
    pub project: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Its messages, in the order in which the model was shown them.
    pub messages: Vec<Recorded>,
    /// Those of branches that were left: they were said, and the model was not shown them any more.
    pub left: Vec<Left>,
    /// The records that were skipped.
    pub skipped: Skipped,
}

impl Recording {
    /// A recording with nothing in it yet.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            session: String::new(),
            parent: None,
            project: String::new(),
            title: None,
            messages: Vec::new(),
            left: Vec::new(),
            skipped: Skipped::default(),
        }
    }

    /// Returns the messages that the model was shown when it answered with the message at `at`, by their places and
    /// in the order in which they were shown: all before it, or those that a compaction left.
    pub fn shown(&self, at: usize) -> Vec<usize> {
        let before = &self.messages[..at.min(self.messages.len())];
        let Some(summary) = before.iter().rposition(|it| it.standing == MessageKind::Summary)
        else {
            return (0..before.len()).collect();
        };
        let asked = |place: &usize| before[*place].standing == MessageKind::CompactionRequest;
        let request = summary.checked_sub(1).filter(asked);
        let kept: HashSet<&String> = before[summary].kept.iter().collect();
        let kept = (0..summary).filter(|place| kept.contains(&before[*place].id));
        let kept: Vec<usize> = kept.collect();
        let left = match self.format {
            // The user's messages come before the summary there.
            Format::Codex => [kept, vec![summary]].concat(),
            _ => [vec![summary], kept].concat(),
        };
        request.into_iter().chain(left).chain(summary + 1..before.len()).collect()
    }

    /// How many calls of the model it holds.
    pub fn model_calls(&self) -> usize {
        self.messages.iter().filter(|message| message.is_answer()).count()
    }
}

/// How records of branches that were left are counted: they are only kept to be found and read.
const LEFT: &str = "of a branch that was left, kept for log and search only";

/// A message of a branch that was left.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// The place of the message after which the session was continued.
    pub before: usize,
    /// The message.
    pub message: Recorded,
}

/// The call that started a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parent {
    /// The id of the session.
    pub session: String,
    /// The id of the call in it.
    pub call: Option<String>,
}

/// A recorded message. One of [`Role::Assistant`] is the answer of one call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its id as recorded, or its place where none is; unique in its recording.
    pub id: String,
    /// Who it is from.
    pub role: Role,
    /// Part of the conversation, or of a compaction. A summary is always of [`Role::Assistant`], whoever
    /// its program says it is from.
    pub standing: MessageKind,
    /// Of a summary: the earlier messages that the model was still shown beside it, by their ids; none where the
    /// summary replaces all of them.
    pub kept: Vec<String>,
    /// When it was written, or its answer began: milliseconds since 1970.
    pub at: Option<i64>,
    /// Its parts, in order.
    pub parts: Vec<RecordedPart>,
    /// The provider's report on the call that it answers.
    pub usage: Option<Usage>,
    /// The model's name.
    pub model: Option<String>,
    /// Whether the program wrote it in the model's place, as for a command that the user ran: no call of the
    /// model is answered by it.
    pub of_program: bool,
    /// Whether it was aborted or ended with an error.
    pub broken_off: bool,
    /// The records that it was read from, byte for byte, those of its calls' results with them.
    pub records: Vec<String>,
}

impl Recorded {
    /// A message without anything in it yet.
    pub fn new(id: &str, role: Role, at: Option<i64>) -> Self {
        Self {
            id: id.to_owned(),
            role,
            standing: MessageKind::Normal,
            kept: Vec::new(),
            at,
            parts: Vec::new(),
            usage: None,
            model: None,
            of_program: false,
            broken_off: false,
            records: Vec::new(),
        }
    }

    /// Whether it is the answer of a call of the model in the conversation.
    pub fn is_answer(&self) -> bool {
        self.role == Role::Assistant && self.standing == MessageKind::Normal && !self.of_program
    }

    /// Whether the user says something in it, in words of their own.
    pub fn is_of_user(&self) -> bool {
        let own = |part: &RecordedPart| matches!(part, RecordedPart::Text { synthetic: false, .. });
        self.role == Role::User && self.parts.iter().any(own)
    }

    /// Its tool calls.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            RecordedPart::Call(call) => Some(call.as_ref()),
            _ => None,
        })
    }
}

/// Part of a recorded message.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedPart {
    /// Words. `synthetic` where the program put them in the user's mouth.
    Text {
        /// The words.
        text: String,
        /// Whether the program wrote them, not the user or the model.
        synthetic: bool,
    },
    /// The model's thoughts, as far as they were recorded.
    Reasoning(String),
    /// A tool call with its result; its edits only as far as the program noted their places.
    Call(Box<ToolCall>),
    /// A file or an image, without its content.
    File {
        /// Its name or path; empty where none is.
        name: String,
        /// Its media type; empty where none is.
        mime: String,
    },
}

/// Returns the work that a call of a program hands to a subagent, if it does.
pub fn handed_on(format: Format, tool: &str, input: &Value) -> Option<Division> {
    match format {
        Format::ClaudeCode => claude_code::handed_on(tool, input),
        Format::OpenCode => opencode::handed_on(tool, input),
        Format::Codex => codex::handed_on(tool, input),
        Format::Pi | Format::SweAgent | Format::MiniSweAgent => None,
    }
}

/// Tokens that a provider reported for one call of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All tokens of the request, those from a cache with them.
    pub input: u64,
    /// Those of `input` that came from a cache.
    pub cached: u64,
    /// Tokens of the answer, reasoning with them.
    pub output: u64,
}

/// The records of a file that were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many records there were of each kind that means nothing here, by its name.
    pub kinds: BTreeMap<String, usize>,
    /// How many lines could not be read at all, such as a last one that was cut off.
    pub unreadable: usize,
}

impl Skipped {
    fn count(&mut self, kind: impl Into<String>) {
        *self.kinds.entry(kind.into()).or_default() += 1;
    }

    /// Adds the counts of another part of the file.
    fn add(&mut self, other: Self) {
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.unreadable += other.unreadable;
    }
}
