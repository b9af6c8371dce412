//! The data of operations' answers, as far as they are shown.

use std::collections::BTreeMap;

use callstack_engine::{FrameMetadata, NearFrames};
use serde::Deserialize;

/// Everything about a frame: `stack_frame_details`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    #[serde(flatten)]
    pub(crate) frame: FrameMetadata,
    #[serde(default)]
    pub(crate) still_sent: Option<StillSent>,
    /// Files that were changed since the frame ended, with the kind of change.
    #[serde(default)]
    pub(crate) changed_artifacts: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) imported: bool,
    #[serde(default)]
    pub(crate) view: Option<Figures>,
    /// The frames around it.
    #[serde(default)]
    pub(crate) near: NearFrames,
}

/// Why the steps of a finished frame are still sent.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct StillSent {
    pub(crate) told: String,
}

/// Figures of a frame.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Figures {
    pub(crate) tokens: u64,
    pub(crate) messages: u64,
    pub(crate) host: Option<String>,
    /// The session that started its session.
    pub(crate) session_parent: Option<String>,
}

/// The parts of a session's next request: `stack_window`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Window {
    pub(crate) session: String,
    pub(crate) model: Option<String>,
    pub(crate) limit: Option<u64>,
    pub(crate) tokens: u64,
    /// Whether the host has reported a count: `reported` or `estimated`.
    pub(crate) basis: String,
    pub(crate) parts: Vec<WindowPart>,
}

/// A part of a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WindowPart {
    pub(crate) kind: String,
    pub(crate) tokens: u64,
    pub(crate) messages: Vec<WindowMessage>,
}

/// A message in a part of a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WindowMessage {
    pub(crate) role: String,
    /// Its first line.
    pub(crate) line: String,
    pub(crate) tokens: u64,
    pub(crate) frame: Option<String>,
}

/// Changes of the project's files: `stack_diff`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Diff {
    /// `states` of all files, or put together from the frame's `calls`.
    pub(crate) source: String,
    /// `begun`, or `before` where the state is older than the frame.
    pub(crate) since: String,
    pub(crate) total: u64,
    pub(crate) more: Option<u64>,
    pub(crate) files: Vec<DiffFile>,
    /// Why there are no files.
    pub(crate) why: Option<String>,
}

/// A changed file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DiffFile {
    pub(crate) path: String,
    pub(crate) kind: String,
    /// Lines that were added, where that is known.
    pub(crate) added: Option<u64>,
    pub(crate) removed: Option<u64>,
    pub(crate) binary: bool,
    /// Whether a tool of the frame was seen writing it.
    pub(crate) seen: bool,
    pub(crate) patch: Option<String>,
    pub(crate) cut: bool,
}

/// The text that replaces a finished frame: `stack_folded`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Folded {
    #[serde(rename = "folded")]
    pub(crate) has_left: bool,
    pub(crate) told: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    pub(crate) total: u64,
    pub(crate) from: u64,
    pub(crate) more: Option<u64>,
    pub(crate) left: Vec<super::messages::Message>,
}
