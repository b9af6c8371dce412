//! Compactions: a host replaces a session's messages so far by a summary. Here are the purpose of a summary, the
//! request to the summariser, and the results of a frame that ends with one.

mod prompt;
mod wording;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::frame::{FrameNum, Status};
use crate::transcript::Anchor;

pub use prompt::{PromptInput, generate_frame_compaction_prompt};
pub use wording::{
    Instead, REST_OF_SESSION, checkpoint_awaited, checkpoint_failed, checkpoint_made, combined,
    completion_awaited, frame_summary, not_completed, returned_above, summary_above,
};

/// The purpose of a compaction of a session.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CompactionType {
    /// The context is full, or the user wants it smaller: work goes on where it was.
    #[default]
    Overflow,
    /// A frame is popped, and its summary becomes part of its results.
    FrameCompletion,
    /// A checkpoint of a frame that stays open.
    ManualSummary,
}

impl CompactionType {
    /// All types.
    pub const ALL: [Self; 3] = [Self::Overflow, Self::FrameCompletion, Self::ManualSummary];

    /// The specification's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::FrameCompletion => "frame_completion",
            Self::ManualSummary => "manual_summary",
        }
    }

    /// Whether a prompt of ours takes the place of the host's own: the summary is then for a frame
    /// first, and for the session after that.
    pub fn replaces_prompt(self) -> bool {
        self != Self::Overflow
    }
}

impl fmt::Display for CompactionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CompactionType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| format!("`{text}` is no type of compaction"))
    }
}

/// The end of a frame that waits for its summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCompletion {
    /// Completed, failed or blocked.
    pub status: Status,
    /// Results in the words of whoever asked.
    pub results: Option<String>,
    /// The dense version of the results.
    pub results_compacted: Option<String>,
    /// The evidence until then; a compaction hides its source.
    #[serde(default)]
    pub seen: Evidence,
}

/// A compaction that was asked for and has not come yet. A session has one at most; it waits for as
/// long as it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCompaction {
    /// The session that is to be compacted.
    pub session: String,
    /// The frame that the summary is for.
    pub frame: FrameNum,
    /// The end of the frame with it; none where it stays open.
    pub completion: Option<PendingCompletion>,
    /// The focus of the summary, in the words of whoever asked for it.
    pub note: Option<String>,
    /// The call that asked.
    pub anchor: Anchor,
    /// Whether the host was asked to compact at once. Otherwise its next compaction counts.
    pub requested: bool,
}

impl PendingCompaction {
    /// Returns its purpose.
    pub fn kind(&self) -> CompactionType {
        match self.completion {
            Some(_) => CompactionType::FrameCompletion,
            None => CompactionType::ManualSummary,
        }
    }
}

/// A compaction that came, or was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// The session.
    pub session: String,
    /// Its purpose.
    pub kind: CompactionType,
    /// The frame that the summary is of; none where the session worked in none.
    pub frame: Option<FrameNum>,
    /// The host's message with the summary, where there is one.
    pub message: Option<String>,
    /// The summary.
    pub summary: Option<String>,
    /// Why there is no summary, or why the frame did not end with it.
    pub failure: Option<String>,
    /// The notice for the agent's next step; none if it was delivered, or is not needed.
    pub notice: Option<Notice>,
}

/// The notice for an agent that a compaction that it asked for is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The whole notice, for a reader who sees neither the frame's steps nor the text that replaces them.
    pub whole: String,
    /// The same in a line, for a reader who sees the text that the frame returned.
    pub brief: String,
    /// The call with which the frame ended: a transcript that shows it shows the text that the frame returned. None
    /// where no transcript ever does.
    pub call: Option<String>,
    /// Whether the agent waits for it: it stopped only because it had asked.
    pub awaited: bool,
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;
