//! A log as a person reads it: whole messages, each with what has to be known to show it.

use callstack_core::frame::{FrameNum, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LogEntry;

/// A part of a frame's log with whole messages. Positions count from 1.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WholeLog {
    /// Handle of the frame
    #[serde(with = "crate::handles::one")]
    #[schemars(with = "String")]
    pub frame: FrameNum,
    /// Handle and title of the frame
    pub label: String,
    /// Title of the frame
    pub title: String,
    /// Status of the frame
    pub status: Status,
    /// Whether the frame never ended in a session that was imported
    pub left_open: bool,
    /// Number of the frame's messages
    pub total: u64,
    /// Position of the message to go on with
    pub next: Option<u64>,
    /// The messages, in the order of the log
    pub entries: Vec<LoggedMessage>,
}

/// A message in a log, in the form that was asked for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedMessage {
    /// Place in the log
    pub position: u64,
    /// Id of the session
    pub session: String,
    /// Version of the message; the newest is the highest
    pub version: u64,
    /// When it was stored, or purged; milliseconds since 1970
    pub at: i64,
    /// Whether it was removed for good
    pub purged: bool,
    /// Why this is not the original, and where that is
    pub notice: Option<String>,
    /// The message as its host wrote it; a text if it is no JSON
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Value>,
    /// The message as a section of a document
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// The stored JSON of the message, or the records that it was read from, a line each
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_lines: Option<String>,
}

impl LoggedMessage {
    /// Returns a message of a log without its content, which has one of several forms.
    pub(crate) fn of(entry: &LogEntry) -> Self {
        Self {
            position: entry.position,
            session: entry.session.clone(),
            version: entry.message.version,
            at: entry.message.at,
            purged: entry.message.purged,
            notice: entry.unreadable(),
            message: None,
            markdown: None,
            stored_lines: None,
        }
    }
}
