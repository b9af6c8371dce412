//! Events: every change of the state, as it is appended to the event log. The tables of a store are
//! derived from them and from nothing else.

mod subject;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::autonomy::{Suggestion, SuggestionEnd};
use crate::compaction::{Compaction, PendingCompaction};
use crate::evidence::Evidence;
use crate::frame::{Artifact, Frame, FrameNum, Identity, Pin, Status};
use crate::named_steps::NamedSteps;
use crate::rendered_slot::RenderedSlot;
use crate::session_state::SessionState;
use crate::subagent;
use crate::transcript::{Anchor, Fold, Outcome, Span, SpanNum};

/// A conversation of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The host's id of it.
    pub id: String,
    /// The host: `opencode`, `cli`.
    pub host: String,
    /// The session that started it, for a child session.
    pub parent: Option<String>,
    /// Its first root frame.
    pub root: Option<FrameNum>,
    /// The frame that it works in: always one that is in progress. None before the first user
    /// message and after the root was popped.
    pub active: Option<FrameNum>,
}

/// A frame that a session of its own works on, and the call of another session that waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// The frame.
    pub frame: FrameNum,
    /// The session that works on it.
    pub session: String,
    /// The span in which it does.
    pub span: SpanNum,
    /// The session that made the call.
    pub caller: String,
    /// The call.
    pub call: Anchor,
}

/// A stored message, as the event log names it. The body is a blob outside the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRef {
    /// The host's id of the message.
    pub id: String,
    /// SHA-256 of its body in hex.
    pub hash: String,
}

/// Messages of a session that were removed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgedMessages {
    /// The session.
    pub session: String,
    /// The host's ids of the messages.
    pub ids: Vec<String>,
}

/// The moment of a recorded state of the project's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileMoment {
    /// When work in a frame began for the first time.
    Begun,
    /// When it last ended.
    Ended,
    /// Some time before it began, the nearest that is known: of a frame that was made after the fact.
    Before,
}

impl FileMoment {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Ended => "ended",
            Self::Before => "before",
        }
    }
}

/// Files of the project that are restored to an earlier state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRestore {
    /// The state of all files before.
    pub before: String,
    /// A state in which they are as they are afterwards.
    pub after: String,
    /// The files, relative to the project.
    pub paths: Vec<String>,
    /// Whether this takes back an earlier restore.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_undo: bool,
}

/// A line that replaces the result of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedOutput {
    /// The host's id of the message with the call.
    pub message: String,
    /// The host's id of the call's part.
    pub part: String,
    /// The line.
    pub text: String,
}

/// The answer that a call was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenAnswer {
    /// A short description of the change.
    pub title: String,
    /// The answer as an agent reads it.
    pub text: String,
    /// The answer as a program reads it.
    pub data: Value,
    /// The frame in which work ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<FrameNum>,
}

/// The figures of a recorded session, as far as its recording has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedFigures {
    /// Calls of the model.
    pub calls: u64,
    /// When it began and when it ended; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<(i64, i64)>,
    /// Tokens of the largest request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<u64>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// A session was seen for the first time, or work in it begins here after it was only known from a recording.
    SessionOpened {
        /// The session, without frames yet.
        session: Session,
    },
    /// The session's first root frame is known.
    RootSet {
        /// The session.
        session: String,
        /// Its root.
        frame: FrameNum,
    },
    /// The session was recorded by another program: nobody works in it here.
    SessionRecorded {
        /// The session.
        session: String,
        /// Its figures, once the whole recording was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        figures: Option<RecordedFigures>,
    },
    /// The session works in another frame now, or in none.
    ActiveSet {
        /// The session.
        session: String,
        /// The frame.
        frame: Option<FrameNum>,
    },
    /// A frame came to be, planned or in progress (or as the copy of one, in a fork).
    FrameCreated {
        /// The whole frame.
        frame: Box<Frame>,
    },
    /// Work in a planned or blocked frame began.
    FrameStarted {
        /// The frame.
        frame: FrameNum,
        /// Its id from now on; the old one stays an alias.
        id: String,
        /// The session that works in it.
        session: String,
    },
    /// A frame has another id from now on; the old one stays an alias.
    FrameRenamed {
        /// The frame.
        frame: FrameNum,
        /// Its id.
        id: String,
    },
    /// A frame ended, for good or for now.
    FrameEnded {
        /// The frame.
        frame: FrameNum,
        /// Status and results.
        outcome: Outcome,
        /// Why, for an invalidation.
        reason: Option<String>,
    },
    /// A frame that had ended is open again, by undo or reopen.
    FrameReopened {
        /// The frame.
        frame: FrameNum,
        /// The status that it has again.
        status: Status,
    },
    /// An outermost frame turned out to be part of another one's work.
    FramePlaced {
        /// The frame.
        frame: FrameNum,
        /// Its parent from now on.
        parent: FrameNum,
    },
    /// Another frame replaces a finished one from now on, until it is open again.
    FrameConsolidated {
        /// The frame.
        frame: FrameNum,
        /// The frame that replaces it.
        into: FrameNum,
    },
    /// The push that made the frame was undone.
    FrameDetached {
        /// The frame.
        frame: FrameNum,
    },
    /// The undo of the push was taken back.
    FrameAttached {
        /// The frame.
        frame: FrameNum,
    },
    /// A planned frame comes directly before a planned sibling from now on.
    PlanOrdered {
        /// The frame.
        frame: FrameNum,
        /// The sibling.
        before: FrameNum,
    },
    /// The identity of a frame was set that had been guessed.
    IdentitySet {
        /// The frame.
        frame: FrameNum,
        /// Its identity.
        identity: Identity,
        /// Whether it is still a guess.
        derived: bool,
    },
    /// An artifact of the frame was recorded, or its content has changed.
    ArtifactRecorded {
        /// The frame.
        frame: FrameNum,
        /// The artifact that it produced.
        artifact: Artifact,
    },
    /// A decision was taken in the frame.
    DecisionRecorded {
        /// The frame.
        frame: FrameNum,
        /// The decision.
        text: String,
    },
    /// A constraint was stated.
    PinSet {
        /// The frame whose descendants see it.
        frame: FrameNum,
        /// The pin.
        pin: Pin,
    },
    /// A constraint was taken back.
    PinRemoved {
        /// The pin's number.
        pin: u64,
    },
    /// Work in a frame began at a place of a transcript.
    SpanOpened {
        /// The span.
        span: Box<Span>,
    },
    /// Work in a frame ended at a place of a transcript.
    SpanClosed {
        /// The span.
        span: SpanNum,
        /// Where.
        close: Anchor,
        /// The outcome that the frame returned.
        outcome: Outcome,
    },
    /// The close was undone (`undone`), or the undo was taken back.
    CloseUndone {
        /// The span.
        span: SpanNum,
        /// Whether it counts as open now.
        undone: bool,
    },
    /// The call that opened the span was undone (`detached`), or the undo was taken back.
    SpanDetached {
        /// The span.
        span: SpanNum,
        /// Whether it counts as never opened now.
        detached: bool,
    },
    /// The fold of a closed span was set.
    FoldSet {
        /// The span.
        span: SpanNum,
        /// The text, the place and the answer at which it settled, and why it is held, if it is.
        fold: Fold,
    },
    /// The evidence of the work in a frame, taken when a span of it was closed. It replaces that of an earlier close.
    EvidenceTaken {
        /// The frame.
        frame: FrameNum,
        /// The span; none where the frame came from elsewhere.
        span: Option<SpanNum>,
        /// The evidence; empty where it was purged.
        evidence: Box<Evidence>,
    },
    /// Lines replace results of calls in a session's requests from the next answer on, while the work goes on. It is
    /// appended again with the same lines when that answer never arrived or the message `settled_at` was undone.
    OutputsMasked {
        /// The session.
        session: String,
        /// The lines that replace them. A result that has a line keeps it.
        masks: Vec<MaskedOutput>,
        /// The last message of the transcript when that answer was about to be given.
        settled_at: String,
        /// The serial of that answer.
        settled_serial: i64,
    },
    /// Steps were named, so that a pop can close them after the fact; or a fork shows the name that its original gave
    /// them. The text with the names is [`Event::Rendered`].
    StepsNamed {
        /// The session.
        session: String,
        /// The steps.
        steps: NamedSteps,
    },
    /// A text was sent to the model and is kept byte for byte.
    Rendered {
        /// The session that it was sent in.
        session: String,
        /// The text's slot.
        slot: RenderedSlot,
        /// The text.
        text: String,
        /// The version of the renderer that made it.
        renderer: u32,
    },
    /// A part of the state that is kept of a session beside texts has changed.
    SessionStateSet {
        /// The session.
        session: String,
        /// The part as it is now.
        state: SessionState,
    },
    /// Messages were stored, in this order.
    MessagesRecorded {
        /// The session.
        session: String,
        /// The messages.
        messages: Vec<MessageRef>,
    },
    /// Messages were removed for good, with their entries in the search index and the hashes in earlier events. They
    /// are not stored again when the host shows them again.
    Purged {
        /// The name of the person or program that removed them.
        by: String,
        /// The frames whose logs went with them.
        frames: Vec<FrameNum>,
        /// The messages.
        messages: Vec<PurgedMessages>,
        /// The sessions that went as a whole, with what was not stored of them yet.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sessions: Vec<String>,
    },
    /// A push or a pop was suggested.
    SuggestionMade {
        /// The suggestion.
        suggestion: Box<Suggestion>,
    },
    /// A suggestion was acted on or cleared. Expiry is not recorded: it follows from the clock.
    SuggestionEnded {
        /// Its number.
        suggestion: u64,
        /// Its end.
        end: SuggestionEnd,
    },
    /// A session of its own began to work on a frame for a call, which gets the result.
    #[serde(rename = "errand_begun")]
    DelegationBegun {
        /// The delegation.
        #[serde(rename = "errand")]
        delegation: Box<Delegation>,
    },
    /// The result of a delegation was delivered to its caller.
    #[serde(rename = "errand_delivered")]
    DelegationDelivered {
        /// The span in which the delegation was worked on.
        span: SpanNum,
    },
    /// A call has made a change that doesn't show which call made it. When the call is repeated because its answer
    /// was lost, it gets the same answer.
    CallAnswered {
        /// The session that made the call.
        session: String,
        /// The call.
        call: Anchor,
        /// The answer that it was given.
        answer: Box<GivenAnswer>,
    },
    /// A setting of the store has another value, or no longer has one.
    SettingSet {
        /// Its name.
        name: String,
        /// Its value.
        value: Option<String>,
    },
    /// A compaction of a session was asked for, in place of one that was asked for before.
    CompactionAsked {
        /// The compaction that was asked for.
        compaction: Box<PendingCompaction>,
    },
    /// A compaction that was asked for is no longer waited for.
    CompactionDropped {
        /// The session.
        session: String,
        /// Why.
        reason: String,
    },
    /// A session was compacted, or the request for it was given up: nothing is waited for any more.
    CompactionSettled {
        /// The compaction as it ended.
        compaction: Box<Compaction>,
    },
    /// The agent of a session was informed of all compactions so far.
    CompactionTold {
        /// The session.
        session: String,
    },
    /// An open frame has a summary of the work so far.
    CheckpointSet {
        /// The frame.
        frame: FrameNum,
        /// The summary.
        results: String,
        /// The dense version of the results.
        results_compacted: String,
    },
    /// The state of the project's files was recorded where a frame began or ended.
    FilesRecorded {
        /// The frame.
        frame: FrameNum,
        /// Which of both.
        moment: FileMoment,
        /// The state, by the name that its recorder gave it.
        state: String,
    },
    /// The state of the files recorded where a frame began is not the one that the frame found, since calls that
    /// write were going on.
    FilesCorrected {
        /// The frame.
        frame: FrameNum,
        /// The state from before the step in which it began; none where that is not known.
        state: Option<String>,
    },
    /// Files are about to be restored to the state in which a frame began, or such a restore is about to be taken
    /// back. Perhaps only some of them were.
    FilesRestoring {
        /// The frame.
        frame: FrameNum,
        /// The files, and the state that they are restored to.
        restore: Box<FileRestore>,
    },
    /// A restore of files was completed.
    FilesRestored {
        /// The frame.
        frame: FrameNum,
        /// Which files.
        restore: Box<FileRestore>,
    },
    /// Something has become known of a child session.
    Subagent {
        /// The session.
        session: String,
        /// The change.
        change: subagent::Change,
    },
}
