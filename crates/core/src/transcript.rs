//! A session's transcript as folding needs it: authors and kinds of messages in order. Bodies are in the store; here
//! are only the words that a fold keeps or points to.

mod tool_call;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::results::{ResultsSource, dense};

pub use tool_call::{ToolCall, texts};

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or the host in the user's place.
    User,
    /// The model: one message is one step of it.
    Assistant,
}

/// The role of a message in its host's bookkeeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Part of the conversation.
    Normal,
    /// The host's request for a compaction.
    CompactionRequest,
    /// The summary that a compaction produced.
    Summary,
}

/// The outcome of a tool call, as far as the transcript shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// Asked for or running.
    #[default]
    Open,
    /// It has a result.
    Completed,
    /// It failed, was refused or was aborted.
    Failed,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The host's id of the part.
    pub id: String,
    /// The content of the part.
    pub body: PartBody,
}

impl Part {
    /// The call, if it is one.
    pub fn call(&self) -> Option<&Arc<ToolCall>> {
        match &self.body {
            PartBody::Tool(call) => Some(call),
            _ => None,
        }
    }
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartBody {
    /// Words. `synthetic` when the host made them (a file's content, a reminder).
    Text {
        /// Whether the host wrote it, not the user or the model.
        synthetic: bool,
        /// Length in characters, without surrounding white space.
        chars: usize,
        /// The first characters, for a pointer; never longer than 200.
        head: String,
    },
    /// The model's reasoning, bound to the exact messages before it.
    Reasoning {
        /// Whether it is signed or encrypted, and so bound to its very place in its step. Other reasoning of a step
        /// is sent before all of the step's calls.
        sealed: bool,
    },
    /// A tool call with its result, in short.
    Tool(Arc<ToolCall>),
    /// A file that the user attached.
    File {
        /// Its name or path as the host gives it.
        name: String,
        /// Its media type.
        mime: String,
    },
    /// Bookkeeping that never reaches the model (step markers, snapshots, patches).
    Other,
}

impl From<ToolCall> for PartBody {
    fn from(call: ToolCall) -> Self {
        Self::Tool(Arc::new(call))
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The host's id.
    pub id: String,
    /// The author.
    pub role: Role,
    /// The role of the message in the host's bookkeeping.
    pub standing: MessageKind,
    /// Its parts in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// Its calls, in order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &Arc<ToolCall>> {
        self.parts.iter().filter_map(Part::call)
    }

    /// Returns the last of its calls that has an id.
    pub fn call(&self, id: &str) -> Option<&ToolCall> {
        self.calls().rfind(|call| call.id == id).map(AsRef::as_ref)
    }

    /// Whether it is a step of the model.
    pub fn is_step(&self) -> bool {
        self.role == Role::Assistant && self.standing == MessageKind::Normal
    }

    /// Whether the user says something in it.
    pub fn is_user_turn(&self) -> bool {
        self.role == Role::User
            && self.standing == MessageKind::Normal
            && self
                .parts
                .iter()
                .any(|part| matches!(part.body, PartBody::Text { synthetic: false, .. }))
    }
}

impl AsRef<Self> for Message {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Returns the place of the newest summary of a transcript. A host that keeps the last messages word for word puts
/// its newest summary before these, and an earlier summary may be among them. One that shows the whole history has
/// the newest last.
pub fn newest_summary<'m>(transcript: impl IntoIterator<Item = &'m Message>) -> Option<usize> {
    let mut newest = None;
    let mut is_front = true;
    for (place, message) in transcript.into_iter().enumerate() {
        match message.standing {
            MessageKind::CompactionRequest => {}
            MessageKind::Summary if is_front => return Some(place),
            MessageKind::Summary => newest = Some(place),
            MessageKind::Normal => is_front = false,
        }
    }
    newest
}

/// Where in a transcript something happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Anchor {
    /// The message that holds the call, or after which a boundary from outside lies; none for the start of the
    /// session.
    pub message: Option<String>,
    /// The tool call's id; none for a boundary that no call made (a user turn, a command from
    /// outside).
    pub call: Option<String>,
}

/// A span's number in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpanNum(pub u64);

/// From this renderer version on, a fold also removes the calls that follow the push in the same step. Folds of earlier
/// versions keep those calls, so that requests stay as they were.
pub const CALLS_LEAVE: u32 = 2;

/// From this renderer version on, the fold of a user turn also removes what the host added to the message that began
/// the turn. Folds of earlier versions keep these additions, so that requests stay as they were.
pub const ADDITIONS_LEAVE: u32 = 3;

/// The first version of the renderer in whose folds the calls after the pop in its step join the push's step where
/// the model thought before both. In earlier versions they stayed a step, without thinking.
pub const CALLS_JOIN: u32 = 4;

/// The replacement of a span once it is folded: fixed before it is first sent, replayed ever after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    /// The result that the frame returned, as the model reads it.
    pub text: String,
    /// The id (not a time) of the message that was last in the transcript when the first answer with this fold was
    /// given, or, if that answer never arrived, the next one. `None` until then. The model wrote the messages from the
    /// span up to and including this one while it still saw the span unfolded, so they are sent without their
    /// reasoning.
    pub settled_at: Option<String>,
    /// The serial of that answer. If the host's next request went out with an older one, the model wrote another step
    /// after the unfolded span, and the fold settles again with the next answer.
    pub settled_serial: Option<i64>,
    /// The version of the renderer that made `text`, which also determines the parts that leave with the span: see
    /// [`CALLS_LEAVE`].
    pub renderer: u32,
    /// The reason why the span is sent unfolded all the same; none where it is folded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

impl Fold {
    /// Returns a fold that was never sent.
    pub fn new(text: String, renderer: u32) -> Self {
        Self { text, settled_at: None, settled_serial: None, renderer, held: None }
    }

    /// Returns a fold that was never sent and whose text is fixed only when the calls beside its end have results.
    pub fn unfixed(text: String, renderer: u32) -> Self {
        Self { held: Some(Held::Unfixed), ..Self::new(text, renderer) }
    }

    /// The same for one whose fold is sent only if it is worth it.
    pub fn unweighed(text: String, renderer: u32) -> Self {
        Self { held: Some(Held::Unweighed), ..Self::new(text, renderer) }
    }

    /// The same for one that the next turn is likely to go on from.
    pub fn recent(text: String, renderer: u32) -> Self {
        Self { held: Some(Held::Recent), ..Self::new(text, renderer) }
    }
}

/// Why a span that has ended is still sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Held {
    /// Its text is not fixed yet: calls of the step that ended it may still be going on. It is fixed at the first
    /// request that shows their results.
    Unfixed,
    /// It is weighed at the first call that could be sent without it.
    Unweighed,
    /// Its last calls changed files, and the next turn is likely to go on from that text. It is weighed when that
    /// turn is over, or at once where it is large.
    Recent,
    /// It was weighed, and folding it was not worth it: it goes with a frame around it, or once the
    /// provider has forgotten the request. Tokens are estimated ones.
    Light {
        /// Tokens of its messages.
        span: usize,
        /// Tokens of the text that would replace it and of its parts that would stay.
        stands: usize,
    },
}

/// The opening of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanOrigin {
    /// The session's own beginning: its root frame.
    Root,
    /// A push, which made the frame.
    Push,
    /// The activation of a planned or blocked frame.
    Activate,
    /// A finished frame was opened again.
    Reopen,
    /// Nobody: the user's message turned out to be the beginning of work.
    Turn,
    /// The same for the message with which the session's root began, which is the frame of that work, too:
    /// the root goes on when the span ends.
    FirstTurn,
    /// Nobody: the agent took up an item of its todo list.
    Todo,
    /// A pop closed steps for which no frame had been opened. The call of the anchor is the first of them and
    /// belongs to the span, which came to be with its close.
    Since,
}

impl SpanOrigin {
    /// Whether no call opened the span: it begins after the message of its anchor, whatever call stands there, and no
    /// call's result can hold the text that it returned.
    pub fn is_automatic(self) -> bool {
        matches!(self, Self::Turn | Self::FirstTurn | Self::Todo)
    }

    /// Whether the span is that of a user turn.
    pub fn is_turn(self) -> bool {
        matches!(self, Self::Turn | Self::FirstTurn)
    }

    /// Whether the frame came to be with the span.
    pub fn made_frame(self) -> bool {
        matches!(self, Self::Root | Self::Push | Self::Turn | Self::Todo | Self::Since)
    }

    /// Whether the call of the anchor that a span opens at is part of its work.
    pub fn has_its_call(self) -> bool {
        self == Self::Since
    }
}

/// The state of a frame at the close of a span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The status that it took.
    pub status: crate::frame::Status,
    /// The work that was accomplished.
    pub results: Option<String>,
    /// The dense version of the results.
    pub results_compacted: Option<String>,
    /// Their author; none where there are no results, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ResultsSource>,
}

impl Outcome {
    /// Returns an outcome with results; a missing dense version is derived from them.
    pub fn with(
        status: crate::frame::Status,
        results: String,
        results_compacted: Option<String>,
        source: ResultsSource,
    ) -> Self {
        let given = results_compacted.filter(|text| !text.trim().is_empty());
        Self {
            status,
            results_compacted: Some(given.unwrap_or_else(|| dense(&results))),
            results: Some(results),
            source: Some(source),
        }
    }

    /// An end without a word.
    pub fn without_results(status: crate::frame::Status) -> Self {
        Self { status, results: None, results_compacted: None, source: None }
    }
}

/// The stretch of a session's transcript in which a frame was worked on, from its push (or
/// activation) to its pop. A frame that was blocked and taken up again has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Its number; spans of a session are opened in the order of their numbers.
    pub num: SpanNum,
    /// The frame.
    pub frame: crate::frame::FrameNum,
    /// The session.
    pub session: String,
    /// Where it begins: after the step of the push call.
    pub open: Anchor,
    /// Its opening.
    pub origin: SpanOrigin,
    /// Where it ends, including the pop call; none while it is open.
    pub close: Option<Anchor>,
    /// The outcome that its frame returned at the close; kept while the close is undone, so that it can be redone.
    pub outcome: Option<Outcome>,
    /// Whether the close was undone: the span counts as open again.
    pub close_undone: bool,
    /// Whether the call that opened it was undone: the span counts as never opened.
    pub detached: bool,
    /// Whether it is ever folded. A session's root is not.
    pub foldable: bool,
    /// Its fold; made when it closes.
    pub fold: Option<Fold>,
}

impl Span {
    /// The close that counts: none while the span is open or its close is undone.
    pub fn live_close(&self) -> Option<&Anchor> {
        self.close.as_ref().filter(|_| !self.close_undone)
    }

    /// Whether the calls after the one that opened it, in the same step, are its own: see [`CALLS_LEAVE`].
    pub fn takes_calls(&self) -> bool {
        !self.origin.is_automatic()
            && self.open.call.is_some()
            && self.fold.as_ref().is_none_or(|fold| fold.renderer >= CALLS_LEAVE)
    }
}

/// One change to the host's messages. Changes are applied in order, to messages named by id, so that a list stays
/// right when messages are appended to the transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum FoldOp {
    /// Remove the messages from `from` to `to`, both included, in the transcript's order.
    Cut {
        /// First message to go.
        from: String,
        /// Last message to go.
        to: String,
    },
    /// Keep of `message` only these parts, in the order that they have.
    Keep {
        /// The message.
        message: String,
        /// Ids of the parts that stay.
        parts: Vec<String>,
    },
    /// Make `text` the result of a tool call.
    Output {
        /// The message with the call.
        message: String,
        /// The call's part.
        part: String,
        /// The result that the model is to read.
        text: String,
    },
    /// Put a text in the place of a part.
    Replace {
        /// The message.
        message: String,
        /// The part.
        part: String,
        /// The text that replaces it.
        text: String,
    },
    /// Add `text` at the end of the result of a tool call.
    AddToOutput {
        /// The message with the call.
        message: String,
        /// The call's part.
        part: String,
        /// The text.
        text: String,
    },
    /// Add a text part, marked as ours, at the end of a user message.
    Append {
        /// The user message.
        message: String,
        /// The text.
        text: String,
    },
    /// Put all parts that are left of a step at the end of an earlier one, which takes its place.
    Join {
        /// The step.
        message: String,
        /// The earlier one.
        to: String,
    },
    /// Add a user message of ours after a message.
    Insert {
        /// The message after which it stands.
        after: String,
        /// The text.
        text: String,
    },
}
