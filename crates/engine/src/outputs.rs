//! The data of answers about frames that began, ended or returned.

use callstack_core::frame::{Frame, Status};
use callstack_core::results::ResultsSource;
use schemars::JsonSchema;
use serde::Serialize;

/// A frame in which work began, or goes on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BegunFrame {
    /// Handle such as f12
    handle: String,
    /// The frame's id
    #[serde(rename = "sessionID")]
    id: String,
    status: Status,
    title: String,
    /// Why it is worked on in the calling session although another one was asked for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_place: Option<String>,
    /// Handles of frames that were left on the way and are blocked now; only at a terminal
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) aside: Vec<String>,
}

impl BegunFrame {
    pub(crate) fn of(frame: &Frame) -> Self {
        Self {
            handle: frame.num.to_string(),
            id: frame.id.clone(),
            status: frame.status,
            title: frame.identity.title.clone(),
            in_place: None,
            aside: Vec::new(),
        }
    }
}

/// A frame that has ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndedFrame {
    /// Handle such as f12
    handle: String,
    /// The frame's id
    #[serde(rename = "sessionID")]
    id: String,
    status: Status,
    /// Who made the results
    results_source: Option<ResultsSource>,
    /// Handle of the frame above it
    parent: Option<String>,
    /// Why the model that was to write the results did not
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) summarizer_failure: Option<String>,
    /// Handles of frames that were left on the way and are blocked now; only at a terminal
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) aside: Vec<String>,
    /// Handles of the planned and blocked frames right below it, unless it is blocked itself; only at a terminal
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unfinished: Vec<String>,
    /// Handle and title of the frame that is open in the session now; only at a terminal
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) open: Option<String>,
}

impl EndedFrame {
    pub(crate) fn of(frame: &Frame) -> Self {
        Self {
            handle: frame.num.to_string(),
            id: frame.id.clone(),
            status: frame.status,
            results_source: frame.results_source,
            parent: frame.parent.map(|parent| parent.to_string()),
            summarizer_failure: None,
            aside: Vec::new(),
            unfinished: Vec::new(),
            open: None,
        }
    }
}

/// A frame that another session has worked on, and that returned to the one which waited for it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReturnedFrame {
    /// Handle such as f12
    handle: String,
    /// The frame's id
    #[serde(rename = "sessionID")]
    id: String,
    status: Status,
    results: Option<String>,
}

impl ReturnedFrame {
    pub(crate) fn of(frame: &Frame) -> Self {
        Self {
            handle: frame.num.to_string(),
            id: frame.id.clone(),
            status: frame.status,
            results: frame.results.clone(),
        }
    }
}

/// A frame that was begun: worked on here, or by a session of its own, which has returned.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Begun {
    Here(BegunFrame),
    Elsewhere(ReturnedFrame),
}

/// A frame whose summary is awaited.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct AwaitedSummary {
    /// Handle such as f12
    frame: String,
    /// Always true: the summary comes with the session's next compaction
    pending: bool,
}

impl AwaitedSummary {
    pub(crate) fn of(frame: &Frame) -> Self {
        Self { frame: frame.num.to_string(), pending: true }
    }
}
