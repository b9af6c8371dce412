//! A transcript that is being read: messages, and the calls in them that wait for their results.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use callstack_core::evidence::Action;
use callstack_core::transcript::{CallState, MessageKind, ToolCall};

use super::{Recorded, RecordedPart};

/// Messages as they are read.
#[derive(Default)]
pub(super) struct Transcript {
    pub(super) messages: Vec<Recorded>,
    /// Where each call is: its message and its part.
    calls: HashMap<String, (usize, usize)>,
    ids: HashSet<String>,
    /// How many messages there have been, those that were taken back among them.
    pushed: usize,
}

/// The answer of a call.
pub(super) struct Answer {
    pub(super) output: String,
    pub(super) failed: bool,
    pub(super) exit: Option<i64>,
    pub(super) at: Option<i64>,
}

impl Transcript {
    /// Adds a message; its id is made unique.
    pub(super) fn push(&mut self, mut message: Recorded) -> usize {
        let place = self.messages.len();
        self.pushed += 1;
        if message.id.is_empty() {
            message.id = self.pushed.to_string();
        }
        if !self.ids.insert(message.id.clone()) {
            message.id = format!("{}#{}", message.id, self.pushed);
            self.ids.insert(message.id.clone());
        }
        let parts = std::mem::take(&mut message.parts);
        self.messages.push(message);
        for part in parts {
            self.add(place, part);
        }
        place
    }

    /// Adds a part to a message.
    pub(super) fn add(&mut self, place: usize, part: RecordedPart) {
        let Some(message) = self.messages.get_mut(place) else { return };
        if let RecordedPart::Call(call) = &part {
            self.calls.insert(call.id.clone(), (place, message.parts.len()));
        }
        message.parts.push(part);
    }

    /// The message that holds a call.
    pub(super) fn place_of(&self, call: &str) -> Option<usize> {
        self.calls.get(call).map(|(place, _)| *place)
    }

    pub(super) fn call(&mut self, id: &str) -> Option<&mut ToolCall> {
        let (place, part) = *self.calls.get(id)?;
        match self.messages.get_mut(place)?.parts.get_mut(part)? {
            // A message that was taken back may have left its place to another.
            RecordedPart::Call(call) if call.id == id => Some(call),
            _ => None,
        }
    }

    /// Adds the result of a call. False where there is no such call.
    pub(super) fn answer(&mut self, id: &str, answer: Answer, record: Option<&str>) -> bool {
        let Some(call) = self.call(id) else { return false };
        call.state = if answer.failed { CallState::Failed } else { CallState::Completed };
        call.exit = answer.exit.filter(|_| matches!(call.action, Action::Ran(_))).or(call.exit);
        call.output = Some(answer.output);
        call.ended = answer.at;
        if let (Some(place), Some(record)) = (self.place_of(id), record) {
            self.keep(place, record);
        }
        true
    }

    /// Returns the ids of those messages at these places that a later summary may leave: an older summary is always
    /// replaced.
    pub(super) fn ids(&self, places: Range<usize>) -> Vec<String> {
        let messages = self.messages.get(places).unwrap_or_default();
        let said = messages.iter().filter(|message| message.standing == MessageKind::Normal);
        said.map(|message| message.id.clone()).collect()
    }

    /// [`Self::ids`] from a place on.
    pub(super) fn ids_from(&self, place: usize) -> Vec<String> {
        self.ids(place..self.messages.len())
    }

    /// Keeps a record with a message, once.
    pub(super) fn keep(&mut self, place: usize, record: &str) {
        let Some(message) = self.messages.get_mut(place) else { return };
        if message.records.last().is_none_or(|last| last != record) {
            message.records.push(record.to_owned());
        }
    }

    /// Marks the agent's turn since the user's last message as broken off.
    pub(super) fn break_off(&mut self) {
        let last = self.messages.iter_mut().rfind(|it| it.is_answer() || it.is_of_user());
        if let Some(answer) = last.filter(|it| it.is_answer()) {
            answer.broken_off = true;
        }
    }
}
