//! Sessions as other tools draw them: the frames with their times, the calls of the model and of tools, and their
//! tokens.
//!
//! These are plain data, put together from a store or from a recording. Not here: the formats of other tools, which
//! are the crate `exports`.

mod owners;

use crate::frame::{FrameNum, Status};
use crate::transcript::{Role, ToolCall};

pub use owners::{Owners, Place};

/// A session with the frames that were made in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionTrace {
    /// The host's id of it.
    pub id: String,
    /// The host, such as `opencode`.
    pub host: String,
    /// Its frames, parents before their children: those that it worked in, and what is planned below them.
    pub frames: Vec<FrameTrace>,
    /// Frames of other sessions that it worked in, too.
    pub guests: Vec<FrameTrace>,
    /// Its messages, in order.
    pub steps: Vec<Step>,
}

/// A frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameTrace {
    /// Its handle.
    pub num: FrameNum,
    /// Its id, by which other frames name it.
    pub id: String,
    /// The frame that it is part of, which may be another session's.
    pub parent: Option<ParentTrace>,
    /// The id of the outermost frame around it; its own id where it is part of none.
    pub root: String,
    /// Its title.
    pub title: String,
    /// Whether the title was guessed from the user's words.
    pub is_derived: bool,
    /// Its status.
    pub status: Status,
    /// When work in it first began; none while it is planned. Milliseconds since 1970.
    pub begun_at: Option<i64>,
    /// When it last ended. Milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// Its words, where they are asked for.
    pub content: Option<FrameContent>,
}

/// The frame around another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentTrace {
    /// Its handle.
    pub num: FrameNum,
    /// Its id.
    pub id: String,
    /// Whether work in it ever began.
    pub has_begun: bool,
}

/// The words of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameContent {
    /// The conditions under which it is done.
    pub criteria: String,
    /// Its results.
    pub results: Option<String>,
}

/// A message: the user's, or a step of the model with its calls of tools.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The host's id of the message.
    pub id: String,
    /// Its author.
    pub role: Role,
    /// When it began. Milliseconds since 1970.
    pub from: i64,
    /// The time at which it was complete. Milliseconds since 1970.
    pub to: i64,
    /// The innermost frame that was open when it began.
    pub frame: Option<FrameNum>,
    /// Estimated tokens of its words.
    pub tokens: u64,
    /// The call of the model that it answers.
    pub call: Option<ModelCall>,
    /// Its calls of tools, in order.
    pub tools: Vec<ToolStep>,
}

/// A call of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCall {
    /// The model's name.
    pub model: Option<String>,
    /// The provider's name, as the host has it.
    pub provider: Option<String>,
    /// The host's name of the agent.
    pub agent: Option<String>,
    /// Why the model stopped, as the host has it.
    pub finish: Option<String>,
    /// The name of the error that broke it off.
    pub error: Option<String>,
    /// The provider's report.
    pub usage: Usage,
    /// Its size with and without frames, where it is known.
    pub weighed: Option<WeighedCall>,
    /// The words of the answer, where they are asked for.
    pub words: Option<String>,
}

/// Tokens that a provider reported for one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All tokens of the request, those of the cache with them.
    pub input: u64,
    /// Those of `input` that came from the cache.
    pub cached: u64,
    /// Those of `input` that were written to the cache.
    pub cache_written: u64,
    /// Tokens of the answer, reasoning with them.
    pub output: u64,
    /// Those of `output` that are reasoning.
    pub reasoning: u64,
}

/// The size of a call's request, with frames and without. Bills are in hundredths of a token of input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WeighedCall {
    /// Its tokens with frames.
    pub with: u64,
    /// Its cost with frames.
    pub billed_with_hundredths: u64,
    /// Its tokens without frames.
    pub without: u64,
    /// Its cost without frames.
    pub billed_without_hundredths: u64,
}

/// A call of a tool, in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolStep {
    /// The call.
    pub call: ToolCall,
    /// The innermost frame that was open where it stands.
    pub frame: Option<FrameNum>,
    /// When it began, or the step, if that is not known. Milliseconds since 1970.
    pub from: i64,
    /// When it ended; no time before `from`. Milliseconds since 1970.
    pub to: i64,
    /// Estimated tokens of its arguments and its result.
    pub tokens: u64,
    /// Whether its arguments and its result were asked for. Otherwise `call` is without them.
    pub has_content: bool,
}

impl SessionTrace {
    /// Returns its frames, and those of other sessions that it worked in.
    pub fn all_frames(&self) -> impl Iterator<Item = &FrameTrace> {
        self.frames.iter().chain(&self.guests)
    }
}
