//! Why a command is not carried out.

use crate::frame::{Frame, Status};

/// A command that the state does not allow. `E` is the error of a read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal<E> {
    /// The neighbourhood could not be read.
    #[error(transparent)]
    Store(E),
    /// The change of status is not legal.
    #[error("frame {} is {}", .frame.label(), standing(.frame, *.next))]
    Transition {
        /// The frame.
        frame: Box<Frame>,
        /// The status asked for.
        next: Status,
    },
    /// The call that made the frame was undone: the frame is in no tree until that is redone.
    #[error("frame {} was undone with the call that made it", .0.label())]
    Undone(Box<Frame>),
    /// The session works in no frame.
    #[error("no frame is open in session {session}")]
    NothingOpen {
        /// The session.
        session: String,
    },
    /// Children of the frame are still being worked in.
    #[error("frame {} has open children: {}", .frame.label(), labels(.open))]
    OpenChildren {
        /// The frame.
        frame: Box<Frame>,
        /// Its open children.
        open: Vec<Frame>,
    },
    /// A frame began in the steps that are to be closed, and is open.
    #[error("frame {} is open and began in the steps that are to be closed", .0.label())]
    BegunSince(Box<Frame>),
    /// Work goes depth-first, and another frame is open.
    #[error("frame {} is not the one to begin now: {} is open", .frame.label(), .open.label())]
    NotOnTop {
        /// The frame to be begun.
        frame: Box<Frame>,
        /// The session's active frame.
        open: Box<Frame>,
    },
    /// The parent has not begun, or has ended.
    #[error("frame {} can't begin: its parent {} is {}", .frame.label(), .parent.label(), .parent.status)]
    ParentNotOpen {
        /// The frame to be begun.
        frame: Box<Frame>,
        /// Its parent.
        parent: Box<Frame>,
    },
    /// A terminal frame takes no further children.
    #[error("frame {} is {} and takes no further children", .parent.label(), .parent.status)]
    ParentEnded {
        /// The frame.
        parent: Box<Frame>,
    },
    /// Only planned frames can be changed.
    #[error("frame {} is {} and no plan any more", .0.label(), .0.status)]
    NotPlanned(Box<Frame>),
    /// Only finished children of one parent are consolidated, each once.
    #[error("frame {} is {} and can't be consolidated", .0.label(), .0.status)]
    NotConsolidable(Box<Frame>),
    /// A frame that only replaces others has no work of its own.
    #[error("frame {} stands for several finished ones", .0.label())]
    StandsForOthers(Box<Frame>),
    /// Frames have an order only among those with the same parent.
    #[error("frame {} does not stand beside {}", .frame.label(), .other.label())]
    NoSibling {
        /// The frame.
        frame: Box<Frame>,
        /// The other one.
        other: Box<Frame>,
    },
    /// A limit of the tree is reached.
    #[error("{what} would be {found}, and the limit is {limit}")]
    Limit {
        /// The limited quantity.
        what: &'static str,
        /// The number that there would be.
        found: u64,
        /// The number that is allowed.
        limit: u64,
    },
    /// Identity is fixed at creation.
    #[error("title and criteria of frame {} are fixed", .0.label())]
    IdentityFixed(Box<Frame>),
    /// An id means one frame for ever.
    #[error("`{id}` is the id of frame {}", .frame.label())]
    IdTaken {
        /// The id asked for.
        id: String,
        /// The frame that has or had it.
        frame: Box<Frame>,
    },
    /// The pin does not stand in the frame.
    #[error("frame {} has no pin p{pin}", .frame.label())]
    NoSuchPin {
        /// The frame.
        frame: Box<Frame>,
        /// The number asked for.
        pin: u64,
    },
}

fn labels(frames: &[Frame]) -> String {
    frames.iter().map(Frame::label).collect::<Vec<_>>().join(", ")
}

/// Returns a description of a frame's status, and of the new status that this rules out.
fn standing(frame: &Frame, next: Status) -> String {
    let status = match frame.status {
        Status::InProgress => "open",
        status => status.as_str(),
    };
    if frame.status == next {
        return format!("{status} already");
    }
    let change = match next {
        Status::InProgress => "begin",
        Status::Failed => "fail",
        Status::Planned => "be planned",
        Status::Completed => "be completed",
        Status::Blocked => "be blocked",
        Status::Invalidated => "be invalidated",
    };
    format!("{status} and can't {change}")
}
