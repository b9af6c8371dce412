//! Lines of the log of what callstack does, such as `Frame created { frame: "f2", title: "Lexer" }`. Changes of the
//! state are logged from their events, so that none is missing.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::compaction::CompactionType;
use crate::control::escape_json;
use crate::event::{Event, FileRestore};
use crate::frame::{Frame, FrameNum, Status};
use crate::results::ResultsSource;
use crate::secrets::mask_value;
use crate::subagent::Change;

/// Characters of a text that a line shows.
const SHOWN: usize = 200;

/// A constant description of what happened, and the data of this occurrence.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    message: Cow<'static, str>,
    data: Vec<(&'static str, Value)>,
}

impl LogLine {
    /// A line without data.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), data: Vec::new() }
    }

    /// The line with one more datum. Secrets in texts are masked, long texts are cut.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        let mut value = value.into();
        // First of all: half of a secret is not known by its form.
        mask_value(&mut value);
        let value = match value {
            Value::String(text) if text.chars().count() > SHOWN => {
                let head: String = text.chars().take(SHOWN).collect();
                Value::from(head + "…")
            }
            value => value,
        };
        self.data.push((name, value));
        self
    }

    fn of_frame(message: &'static str, frame: FrameNum) -> Self {
        Self::new(message).with("frame", frame.to_string())
    }

    fn with_some<V: Into<Value>>(self, name: &'static str, value: Option<V>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Returns the line of an event. None for events that only record: messages, the places of frames in them, texts
    /// as they were sent.
    #[expect(clippy::too_many_lines, reason = "one arm an event")]
    pub fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::SessionOpened { session } => Self::new("Session opened")
                .with("sessionID", session.id.as_str())
                .with_some("parentID", session.parent.as_deref()),
            Event::FrameCreated { frame } => created(frame),
            Event::FrameStarted { frame, id, session } => Self::of_frame("Frame activated", *frame)
                .with("id", id.as_str())
                .with("sessionID", session.as_str()),
            Event::FrameRenamed { frame, id } => {
                Self::of_frame("Frame ID replaced", *frame).with("id", id.as_str())
            }
            Event::FrameEnded { frame, outcome, reason } => {
                let message = match outcome.status {
                    Status::Completed => "Frame completed",
                    Status::Failed => "Frame failed",
                    Status::Blocked => "Frame blocked",
                    Status::Invalidated => "Frame invalidated",
                    Status::Planned | Status::InProgress => "Frame ended",
                };
                Self::of_frame(message, *frame)
                    .with_some("results", outcome.results.as_deref())
                    .with_some("source", outcome.source.map(ResultsSource::as_str))
                    .with_some("reason", reason.as_deref())
            }
            Event::FrameReopened { frame, status } => {
                Self::of_frame("Frame reopened", *frame).with("status", status.as_str())
            }
            Event::FramePlaced { frame, parent } => {
                Self::of_frame("Frame placed", *frame).with("parent", parent.to_string())
            }
            Event::FrameConsolidated { frame, into } => {
                Self::of_frame("Frame consolidated", *frame).with("into", into.to_string())
            }
            Event::FrameDetached { frame } => Self::of_frame("Frame undone", *frame),
            Event::FrameAttached { frame } => Self::of_frame("Frame redone", *frame),
            Event::PlanOrdered { frame, before } => {
                Self::of_frame("Plan ordered", *frame).with("before", before.to_string())
            }
            Event::IdentitySet { frame, identity, .. } => {
                Self::of_frame("Goal set", *frame).with("title", identity.title.as_str())
            }
            Event::ArtifactRecorded { frame, artifact } => {
                Self::of_frame("Artifact added", *frame).with("path", artifact.path.as_str())
            }
            Event::DecisionRecorded { frame, text } => {
                Self::of_frame("Decision added", *frame).with("decision", text.as_str())
            }
            Event::PinSet { frame, pin } => {
                Self::of_frame("Pin set", *frame).with("text", pin.text.as_str())
            }
            Event::Purged { by, messages, .. } => Self::new("Messages purged")
                .with("messages", messages.iter().map(|it| it.ids.len()).sum::<usize>())
                .with("by", by.as_str()),
            Event::FilesRestoring { frame, restore } => {
                files_restored("Files are being restored", *frame, restore)
            }
            Event::FilesRestored { frame, restore } => {
                files_restored("Files restored", *frame, restore)
            }
            Event::PinRemoved { pin } => Self::new("Pin removed").with("pin", format!("p{pin}")),
            Event::SuggestionMade { suggestion } => {
                Self::of_frame("Suggestion made", suggestion.frame)
                    .with("heuristic", suggestion.heuristic.as_str())
                    .with("confidence", suggestion.confidence)
                    .with("reason", suggestion.reason.as_str())
            }
            Event::SuggestionEnded { suggestion, end } => Self::new("Suggestion ended")
                .with("suggestion", format!("s{suggestion}"))
                .with("end", end.as_str()),
            Event::DelegationBegun { delegation } => {
                Self::of_frame("Frame handed to a session of its own", delegation.frame)
                    .with("sessionID", delegation.session.as_str())
                    .with("caller", delegation.caller.as_str())
            }
            Event::DelegationDelivered { .. } => Self::new("Results delivered to the caller"),
            Event::SettingSet { name, value } => Self::new("Setting changed")
                .with("name", name.as_str())
                .with_some("value", value.as_deref()),
            Event::CompactionAsked { compaction } => {
                compacted("Compaction asked for", compaction.kind(), &compaction.session)
                    .with("frame", compaction.frame.to_string())
            }
            Event::CompactionDropped { session, reason } => Self::new("Compaction given up")
                .with("sessionID", session.as_str())
                .with("reason", reason.as_str()),
            Event::CompactionSettled { compaction } => {
                let message = match compaction.summary {
                    Some(_) => "Summary extracted",
                    None => "Compaction without a summary",
                };
                compacted(message, compaction.kind, &compaction.session)
                    .with_some("frame", compaction.frame.map(|frame| frame.to_string()))
                    .with_some("characters", compaction.summary.as_ref().map(String::len))
                    .with_some("failure", compaction.failure.as_deref())
            }
            Event::CheckpointSet { frame, .. } => Self::of_frame("Checkpoint set", *frame),
            Event::Subagent { session, change } => of_subagent(session, change),
            Event::OutputsMasked { session, masks, .. } => Self::new("Tool outputs masked")
                .with("sessionID", session.as_str())
                .with("outputs", masks.len()),
            Event::RootSet { .. }
            | Event::SessionRecorded { .. }
            | Event::ActiveSet { .. }
            | Event::SpanOpened { .. }
            | Event::SpanClosed { .. }
            | Event::CloseUndone { .. }
            | Event::SpanDetached { .. }
            | Event::FoldSet { .. }
            | Event::EvidenceTaken { .. }
            | Event::StepsNamed { .. }
            | Event::Rendered { .. }
            | Event::SessionStateSet { .. }
            | Event::CallAnswered { .. }
            | Event::MessagesRecorded { .. }
            | Event::FilesRecorded { .. }
            | Event::FilesCorrected { .. }
            | Event::CompactionTold { .. } => return None,
        })
    }
}

fn files_restored(message: &'static str, frame: FrameNum, restore: &FileRestore) -> LogLine {
    LogLine::of_frame(message, frame)
        .with("files", restore.paths.len())
        .with("before", restore.before.as_str())
}

fn created(frame: &Frame) -> LogLine {
    let message = match frame.status {
        Status::Planned => "Frame planned",
        Status::InProgress => "Frame created",
        // The copy of one in a fork, one from a file, or one that replaces several.
        _ => "Frame added",
    };
    LogLine::of_frame(message, frame.num)
        .with("id", frame.id.as_str())
        .with_some("sessionID", frame.session.as_deref())
        .with("title", frame.identity.title.as_str())
        .with_some("parent", frame.parent.map(|parent| parent.to_string()))
}

fn compacted(message: &'static str, kind: CompactionType, session: &str) -> LogLine {
    LogLine::new(message).with("type", kind.as_str()).with("sessionID", session)
}

fn of_subagent(session: &str, change: &Change) -> LogLine {
    let line = match change {
        Change::Seen { parent, title, matches, .. } => {
            let message = if *matches { "Subagent detected" } else { "Child session seen" };
            LogLine::new(message).with("title", title.as_str()).with("parentID", parent.as_str())
        }
        Change::Idle { until, trouble } => LogLine::new("Subagent idle")
            .with_some("completesAt", *until)
            .with_some("trouble", trouble.as_ref().map(|trouble| trouble.message.as_str())),
        Change::Active => LogLine::new("Subagent active"),
        Change::Completed { by } => LogLine::new("Subagent completed").with("by", by.as_str()),
        Change::Forgotten => LogLine::new("Subagent cleaned up"),
    };
    line.with("sessionID", session)
}

impl fmt::Display for LogLine {
    /// One line whatever is in the data: texts are written as JSON writes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for (at, (name, value)) in self.data.iter().enumerate() {
            let between = if at == 0 { " { " } else { ", " };
            let value = value.to_string();
            write!(f, "{between}{name}: {}", escape_json(&value))?;
        }
        if self.data.is_empty() { Ok(()) } else { f.write_str(" }") }
    }
}

#[cfg(test)]
#[path = "log_line_tests.rs"]
mod tests;
