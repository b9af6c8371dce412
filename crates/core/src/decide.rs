//! Commands and the events that they lead to: `decide(neighbourhood, command) → events`.
//!
//! Nothing is changed here. A caller reads through a [`Neighbourhood`] inside its transaction, appends the events
//! that come back, and commits. The reads from a neighbourhood are bounded by the depth of the tree and by the frames
//! that the answer names, never by the number of frames.

mod automatic;
mod consolidate;
mod delegation;
mod import;
mod life;
mod manage;
mod plan;
mod recorded;
mod refusal;
mod since;
mod undo;
mod walk;

pub use automatic::{BeginTurn, EndTurn, Enframe};
pub use consolidate::{CONSOLIDATED, Consolidate};
pub use delegation::Delegate;
pub use import::{Import, ImportCounts, Imported, Takeover, import};
pub use life::{Activate, Invalidate, OpenRoot, Pop, Push, Reopen, unfinished_below};
pub use manage::Create;
pub use plan::{Plan, PlannedChild};
pub use recorded::GoOn;
pub use refusal::Refusal;
pub use since::PopSince;
pub use undo::{Fork, ForkedSpan, Reconcile};
pub use walk::{goes_on_in, nearest_chosen};

use crate::event::{Event, Session};
use crate::frame::{Artifact, Frame, FrameNum, Identity, Pin, Status};
use crate::limits::Limits;
use crate::transcript::{Span, SpanNum};

/// The part of the state that a decision may read.
pub trait Neighbourhood {
    /// The error of a read.
    type Error;

    /// A frame by its handle; one that does not exist is an error of the store, since handles are
    /// resolved before a command is made.
    fn frame(&self, num: FrameNum) -> Result<Frame, Self::Error>;
    /// The frame that an id or a former id means, detached ones among them.
    fn frame_by_id(&self, id: &str) -> Result<Option<FrameNum>, Self::Error>;
    /// A session by the host's id.
    fn session(&self, id: &str) -> Result<Option<Session>, Self::Error>;
    /// Attached children in progress; the first twenty are enough.
    fn running_children(&self, num: FrameNum) -> Result<Vec<Frame>, Self::Error>;
    /// Returns the number of a frame's children, or of roots.
    fn child_count(&self, num: Option<FrameNum>) -> Result<u64, Self::Error>;
    /// Frames in progress in the whole store.
    fn live_frames(&self) -> Result<u64, Self::Error>;
    /// Returns how many of these were left open in recorded sessions, so that nobody works in them. Reads all frames
    /// in progress.
    fn left_open_frames(&self) -> Result<u64, Self::Error>;
    /// Sessions of their own that work on a frame in progress, in the whole store.
    fn live_sessions(&self) -> Result<u64, Self::Error>;
    /// Attached children that are planned; the first twenty are enough.
    fn planned_children(&self, num: FrameNum) -> Result<Vec<Frame>, Self::Error>;
    /// Attached descendants with a status, however many. Walks the subtree: for invalidations only.
    fn descendants(&self, num: FrameNum, status: Status) -> Result<Vec<Frame>, Self::Error>;
    /// Returns a frame and everything below it by handle, detached frames included. For undo only.
    fn subtree(&self, num: FrameNum) -> Result<Vec<Frame>, Self::Error>;
    /// Spans of a session that are open, detached ones not among them, by number.
    fn open_spans(&self, session: &str) -> Result<Vec<Span>, Self::Error>;
    /// One span.
    fn span(&self, num: SpanNum) -> Result<Span, Self::Error>;
    /// All spans of a frame by number.
    fn spans_of(&self, frame: FrameNum) -> Result<Vec<Span>, Self::Error>;
    /// The handle that the next frame gets.
    fn next_frame(&self) -> Result<FrameNum, Self::Error>;
    /// The number that the next span gets.
    fn next_span(&self) -> Result<SpanNum, Self::Error>;
    /// The number that the next pin gets.
    fn next_pin(&self) -> Result<u64, Self::Error>;
}

/// A change that somebody asks for.
#[derive(Clone, Debug)]
pub enum Command {
    /// Make sure that a session has a frame to work in.
    OpenRoot(OpenRoot),
    /// Begin a child of the session's active frame.
    Push(Push),
    /// Begin a frame for work that nobody pushed.
    Enframe(Enframe),
    /// Begin the span of the turn with which a session's root began.
    BeginTurn(BeginTurn),
    /// End that span.
    EndTurn(EndTurn),
    /// End a frame with results.
    Pop(Pop),
    /// Make steps a finished child of the frame in which they were done.
    PopSince(PopSince),
    /// Define frames for later.
    Plan(Plan),
    /// Begin a planned frame, or take up a blocked one.
    Activate(Activate),
    /// Begin a planned frame, or take up a blocked one, in a session of its own.
    Delegate(Delegate),
    /// Declare a frame irrelevant, with the planned frames below it.
    Invalidate(Invalidate),
    /// Bring a terminal frame back.
    Reopen(Reopen),
    /// Go on with a recorded session that had ended.
    GoOn(GoOn),
    /// Put an outermost frame below the one whose work it turned out to be. One that has a parent stays.
    Place {
        /// The frame.
        frame: FrameNum,
        /// Its parent from now on.
        parent: FrameNum,
    },
    /// Begin a frame that has a session of its own, below a frame that is named.
    Create(Create),
    /// Give a frame another id; the old one stays an alias.
    Rename {
        /// The frame.
        frame: FrameNum,
        /// Its id from now on.
        id: String,
    },
    /// Make a frame in progress the active one of the session that works in it.
    Focus {
        /// The frame.
        frame: FrameNum,
    },
    /// Replace many finished frames by one.
    Consolidate(Consolidate),
    /// Follow an undo or redo of the host.
    Reconcile(Reconcile),
    /// Give a fork of a session frames of its own.
    Fork(Fork),
    /// Set the purpose of a frame whose identity was guessed.
    SetIdentity {
        /// The frame.
        frame: FrameNum,
        /// Its identity.
        identity: Identity,
        /// Whether this is a guess again.
        derived: bool,
        /// Whether an identity that is not provisional may be set again, while the frame has not ended.
        again: bool,
    },
    /// Put a planned frame directly before a planned sibling.
    OrderPlan {
        /// The frame.
        frame: FrameNum,
        /// The sibling.
        before: FrameNum,
    },
    /// Take a planned frame out of the tree, with everything below it.
    Unplan {
        /// The frame.
        frame: FrameNum,
    },
    /// Record an artifact of a frame.
    AddArtifact {
        /// The frame.
        frame: FrameNum,
        /// The artifact that it produced.
        artifact: Artifact,
    },
    /// Record a decision.
    AddDecision {
        /// The frame.
        frame: FrameNum,
        /// The decision.
        text: String,
    },
    /// State a constraint.
    Pin {
        /// The frame whose descendants see it.
        frame: FrameNum,
        /// The constraint.
        text: String,
    },
    /// Take a constraint back.
    Unpin {
        /// The frame that it stands in.
        frame: FrameNum,
        /// The pin's number.
        pin: u64,
    },
}

/// The outcome of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The changes, in order; empty when there is nothing to change.
    pub events: Vec<Event>,
    /// The frames that the command was about, the most important one first.
    pub frames: Vec<FrameNum>,
    /// Frames that were left unchanged, perhaps unexpectedly: descendants still in progress below an invalidated
    /// frame, children still planned below a finished one.
    pub left: Vec<Frame>,
}

/// Decides a command at the time `now` (milliseconds since 1970).
pub fn decide<N: Neighbourhood>(
    tree: &N,
    command: &Command,
    limits: &Limits,
    now: i64,
) -> Result<Decision, Refusal<N::Error>> {
    match command {
        Command::OpenRoot(command) => life::open_root(tree, command, limits, now),
        Command::Push(command) => life::push(tree, command, limits, now),
        Command::Enframe(command) => automatic::enframe(tree, command, limits, now),
        Command::BeginTurn(command) => automatic::begin_turn(tree, command),
        Command::EndTurn(command) => automatic::end_turn(tree, command),
        Command::Pop(command) => life::pop(tree, command),
        Command::PopSince(command) => since::pop_since(tree, command, limits, now),
        Command::Plan(command) => plan::plan(tree, command, limits, now),
        Command::Activate(command) => life::activate(tree, command, limits),
        Command::Delegate(command) => delegation::delegate(tree, command, limits),
        Command::Invalidate(command) => life::invalidate(tree, command),
        Command::Reopen(command) => life::reopen(tree, command, limits),
        Command::GoOn(command) => recorded::go_on(tree, command),
        Command::Place { frame, parent } => recorded::place(tree, *frame, *parent),
        Command::Create(command) => manage::create(tree, command, limits, now),
        Command::Rename { frame, id } => manage::rename(tree, *frame, id),
        Command::Focus { frame } => manage::focus(tree, *frame),
        Command::Consolidate(command) => consolidate::consolidate(tree, command, now),
        Command::Reconcile(command) => undo::reconcile(tree, command),
        Command::Fork(command) => undo::fork(tree, command, now),
        Command::SetIdentity { frame, identity, derived, again } => {
            set_identity(tree, *frame, identity, *derived, *again)
        }
        Command::OrderPlan { frame, before } => plan::order(tree, *frame, *before),
        Command::Unplan { frame } => plan::unplan(tree, *frame),
        Command::AddArtifact { frame, artifact } => add_artifact(tree, *frame, artifact),
        Command::AddDecision { frame, text } => add_decision(tree, *frame, text),
        Command::Pin { frame, text } => pin(tree, *frame, text),
        Command::Unpin { frame, pin } => unpin(tree, *frame, *pin),
    }
}

fn about(frame: FrameNum, events: Vec<Event>) -> Decision {
    Decision { events, frames: vec![frame], left: Vec::new() }
}

fn set_identity<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
    identity: &Identity,
    derived: bool,
    again: bool,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = tree.frame(num).map_err(Refusal::Store)?;
    if !frame.identity_derived && (!again || frame.status.is_terminal()) {
        return Err(Refusal::IdentityFixed(Box::new(frame)));
    }
    Ok(about(num, vec![Event::IdentitySet { frame: num, identity: identity.clone(), derived }]))
}

fn add_artifact<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
    artifact: &Artifact,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = tree.frame(num).map_err(Refusal::Store)?;
    let events = if frame.artifacts.contains(artifact) {
        Vec::new()
    } else {
        vec![Event::ArtifactRecorded { frame: num, artifact: artifact.clone() }]
    };
    Ok(about(num, events))
}

fn add_decision<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
    text: &str,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = tree.frame(num).map_err(Refusal::Store)?;
    let events = if frame.decisions.iter().any(|known| known == text) {
        Vec::new()
    } else {
        vec![Event::DecisionRecorded { frame: num, text: text.to_owned() }]
    };
    Ok(about(num, events))
}

fn pin<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
    text: &str,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = tree.frame(num).map_err(Refusal::Store)?;
    let events = if frame.pins.iter().any(|known| known.text == text) {
        Vec::new()
    } else {
        let pin = Pin { num: tree.next_pin().map_err(Refusal::Store)?, text: text.to_owned() };
        vec![Event::PinSet { frame: num, pin }]
    };
    Ok(about(num, events))
}

fn unpin<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
    pin: u64,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = tree.frame(num).map_err(Refusal::Store)?;
    if !frame.pins.iter().any(|known| known.num == pin) {
        return Err(Refusal::NoSuchPin { frame: Box::new(frame), pin });
    }
    Ok(about(num, vec![Event::PinRemoved { pin }]))
}
