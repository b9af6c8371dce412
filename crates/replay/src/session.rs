//! A recorded session as replays read it: the pieces of each message, and the calls of the model.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use callstack_core::evidence::terms::relative;
use callstack_core::evidence::{Action, Activity};
use callstack_core::framing::{Division, FramingMessage};
use callstack_core::masking::subject::Subject;
use callstack_core::named_steps::is_ours;
use callstack_core::transcript::{CallState, Message, MessageKind, Part, PartBody, Role, ToolCall};
use callstack_recordings::{Recorded, RecordedPart, Recording, Usage};
use serde_json::Value;

use crate::changes::{self, Change};
use crate::item::{ItemNum, Items};
use crate::sent_messages::SentMessages;

/// A session that can be replayed.
#[derive(Debug)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The folder that was worked in; may be empty.
    pub project: String,
    /// Whether another session started it.
    pub is_child: bool,
    /// All texts of it.
    pub items: Items,
    /// Its messages as folding reads them.
    pub transcript: Vec<Message>,
    /// The pieces of each message, in order.
    pub pieces: Vec<Vec<Piece>>,
    /// The divisions of work in each message.
    pub moments: Vec<FramingMessage>,
    /// The agent's words and calls, in order.
    activities: Vec<Activity>,
    /// The number of these up to the end of each message.
    happened: Vec<usize>,
    /// Which of the activities a part of a message is.
    tool_calls: HashMap<(usize, usize), usize>,
    /// The subjects of the results of calls, by message and part.
    subjects: HashMap<(usize, usize), Subject>,
    /// The time of each message: milliseconds since 1970.
    pub times: Vec<Option<i64>>,
    /// The calls of the model, in order.
    pub calls: Vec<Call>,
    /// The items that showed each file, in order: outputs of calls that read it, and calls that wrote it as a whole.
    pub(crate) reads: HashMap<String, Vec<ItemNum>>,
}

/// A piece of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The place of the part that it belongs to.
    pub part: usize,
    /// Its kind.
    pub kind: PieceKind,
    /// Its text.
    pub item: ItemNum,
}

/// The kind of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Words, or a file's name.
    Words,
    /// A tool call: its name and arguments.
    Call,
    /// The answer of a tool call.
    Result,
}

/// A call of the model.
#[derive(Clone, Debug)]
pub struct Call {
    /// The message that it answered; the request ends before it.
    pub message: usize,
    /// The messages that were sent, in order: all before it, or those that the recording's last compaction left and
    /// those after it.
    pub shown: SentMessages,
    /// The time of the answer: milliseconds since 1970.
    pub at: Option<i64>,
    /// The provider's report.
    pub usage: Option<Usage>,
    /// The model's name.
    pub model: Option<String>,
    /// The agent's output: its words, and of each call the values of its arguments. The names of the tool and of its
    /// arguments are in the tool's description, which every request has.
    pub output: ItemNum,
    /// The changes that it made to files.
    pub changes: Vec<Change>,
}

impl Session {
    /// Reads a recording.
    pub fn of(recording: &Recording) -> Self {
        let mut session = Self {
            id: recording.session.clone(),
            project: recording.project.clone(),
            is_child: recording.parent.is_some(),
            items: Items::default(),
            transcript: Vec::with_capacity(recording.messages.len()),
            pieces: Vec::new(),
            moments: Vec::new(),
            activities: Vec::new(),
            happened: Vec::new(),
            tool_calls: HashMap::new(),
            subjects: HashMap::new(),
            times: Vec::new(),
            calls: Vec::new(),
            reads: HashMap::new(),
        };
        // The messages that the last compaction left, and the first one after it.
        let mut left: (Arc<[usize]>, usize) = (Arc::default(), 0);
        for (at, recorded) in recording.messages.iter().enumerate() {
            if at > 0 && recording.messages[at - 1].standing == MessageKind::Summary {
                left = (recording.shown(at).into(), at);
            }
            session.read(at, recorded, &SentMessages::new(Arc::clone(&left.0), left.1..at));
        }
        session
    }

    /// The tool call that a part of a message is.
    pub(crate) fn called(&self, message: usize, part: usize) -> Option<&Activity> {
        let call = self.tool_calls.get(&(message, part))?;
        self.activities.get(*call)
    }

    /// Returns the subject of a call's result, where a newer one may replace it.
    pub(crate) fn subject(&self, message: usize, part: usize) -> Option<Subject> {
        self.subjects.get(&(message, part)).copied()
    }

    /// Returns the agent's words and calls in some messages.
    pub(crate) fn happened(&self, messages: Range<usize>) -> &[Activity] {
        let count_at = |message: usize| self.happened.get(message).copied();
        let from = messages.start.checked_sub(1).map_or(Some(0), count_at);
        let to = messages.end.checked_sub(1).map_or(Some(0), count_at);
        from.zip(to).and_then(|(from, to)| self.activities.get(from..to)).unwrap_or_default()
    }

    /// Whether frames were worked in: the agent called callstack's tools.
    pub fn had_frames(&self) -> bool {
        self.activities.iter().filter_map(Activity::call).any(|call| is_ours(&call.tool))
    }

    /// Returns the number of compactions in the recording.
    pub fn compactions(&self) -> usize {
        self.transcript.iter().filter(|message| message.standing == MessageKind::Summary).count()
    }

    fn read(&mut self, at: usize, recorded: &Recorded, shown: &SentMessages) {
        let message = message(recorded);
        let pieces = self.pieces_of(recorded);
        let changes = self.changes_of(recorded, &pieces);
        let texts = |kinds: &[PieceKind]| {
            let of_kind = pieces.iter().filter(|piece| kinds.contains(&piece.kind));
            of_kind.map(|piece| self.items.get(piece.item).estimated).sum::<u64>()
        };
        let weight =
            usize::try_from(texts(&[PieceKind::Call, PieceKind::Result])).unwrap_or(usize::MAX);
        let framing = FramingMessage::of(&message, words(recorded), weight, recorded.broken_off);
        self.moments.push(framing);
        let happened = recorded.activities();
        for (place, (part, activity)) in happened.iter().enumerate() {
            self.tool_calls.insert((at, *part), self.activities.len() + place);
            if let Activity::Called(call) = activity
                && !call.is_failed()
            {
                self.subjects.insert((at, *part), Subject::of(call));
            }
        }
        self.activities.extend(happened.into_iter().map(|(_, activity)| activity));
        self.happened.push(self.activities.len());
        self.times.push(recorded.at);
        if recorded.is_answer() {
            let output = self.items.add(format!("{}/output", recorded.id), output(recorded));
            self.calls.push(Call {
                message: at,
                shown: shown.clone(),
                at: recorded.at,
                usage: recorded.usage,
                model: recorded.model.clone(),
                output,
                changes,
            });
        }
        self.transcript.push(message);
        self.pieces.push(pieces);
    }

    /// Returns the changes in a message. Records the files that it shows, too.
    fn changes_of(&mut self, recorded: &Recorded, pieces: &[Piece]) -> Vec<Change> {
        let mut all = Vec::new();
        for piece in pieces {
            let Some(RecordedPart::Call(call)) = recorded.parts.get(piece.part) else { continue };
            let mut shows = |path: &str| {
                let file = relative(path, &self.project).to_owned();
                self.reads.entry(file).or_default().push(piece.item);
            };
            match (piece.kind, &call.action) {
                (PieceKind::Result, Action::Read(path)) if call.state == CallState::Completed => {
                    shows(path);
                }
                (PieceKind::Call, Action::Wrote(_)) => {
                    let changes = changes::changes(call, piece.item, &self.project);
                    let wholes = changes.iter().filter(|change| change.replaced.is_empty());
                    wholes.for_each(|change| shows(&change.file));
                    all.extend(changes);
                }
                _ => {}
            }
        }
        all
    }

    fn pieces_of(&mut self, recorded: &Recorded) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (part, body) in recorded.parts.iter().enumerate() {
            let mut add = |kind, of: &str, text: String| {
                let id = format!("{}/{part}{of}", recorded.id);
                let item = self.items.add(id, text);
                pieces.push(Piece { part, kind, item });
            };
            match body {
                RecordedPart::Text { text, .. } => add(PieceKind::Words, "", text.clone()),
                // Reasoning is not sent again after another prefix, so no way of sending may profit from it.
                RecordedPart::Reasoning(_) => {}
                RecordedPart::File { name, mime } => {
                    add(PieceKind::Words, "", format!("({name} {mime})"));
                }
                RecordedPart::Call(call) => {
                    add(PieceKind::Call, "", written(call));
                    if let Some(output) = &call.output {
                        add(PieceKind::Result, "/result", output.clone());
                    }
                }
            }
        }
        pieces
    }
}

fn message(recorded: &Recorded) -> Message {
    let part = |(at, body): (usize, &RecordedPart)| {
        let body = match body {
            RecordedPart::Text { text, synthetic } => {
                let text = text.trim();
                let head = text.chars().take(200).collect();
                PartBody::Text { synthetic: *synthetic, chars: text.chars().count(), head }
            }
            RecordedPart::Reasoning(_) => PartBody::Reasoning { sealed: false },
            RecordedPart::File { name, mime } => {
                PartBody::File { name: name.clone(), mime: mime.clone() }
            }
            RecordedPart::Call(call) => short(call).into(),
        };
        Part { id: at.to_string(), body }
    };
    Message {
        id: recorded.id.clone(),
        role: recorded.role,
        standing: recorded.standing,
        parts: recorded.parts.iter().enumerate().map(part).collect(),
    }
}

/// Returns the user's words, or the agent's last ones.
fn words(recorded: &Recorded) -> String {
    let mut texts = recorded.parts.iter().filter_map(|part| match part {
        RecordedPart::Text { text, synthetic: false } if !text.trim().is_empty() => {
            Some(text.trim())
        }
        _ => None,
    });
    match recorded.role {
        Role::User => texts.collect::<Vec<_>>().join("\n"),
        Role::Assistant => texts.next_back().unwrap_or_default().to_owned(),
    }
}

/// Returns a call in short, as a live session has it.
fn short(call: &ToolCall) -> ToolCall {
    let is_subagent = matches!(call.division, Some(Division::Subagent { .. }));
    let state = if call.output.is_some() { call.state } else { CallState::Open };
    ToolCall {
        output: call.output.clone().filter(|_| is_subagent),
        division: call.division.clone(),
        ..ToolCall::new(&call.id, &call.tool, state)
    }
}

/// Returns the agent's words and calls, without the names of tools and arguments.
fn output(recorded: &Recorded) -> String {
    let texts = recorded.parts.iter().filter_map(|part| match part {
        RecordedPart::Text { text, .. } => Some(text.clone()),
        RecordedPart::Call(call) => Some(call.input_text()),
        RecordedPart::Reasoning(_) | RecordedPart::File { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns a call as the model wrote it: the tool's name, and a line for each argument.
fn written(call: &ToolCall) -> String {
    let mut text = call.tool.clone();
    let mut line = |name: &str, value: &Value| {
        text.push('\n');
        if !name.is_empty() {
            text.push_str(name);
            text.push_str(": ");
        }
        match value {
            Value::String(value) => text.push_str(value),
            other => text.push_str(&other.to_string()),
        }
    };
    match &call.input {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| line(name, value)),
        Value::Null => {}
        other => line("", other),
    }
    text
}
