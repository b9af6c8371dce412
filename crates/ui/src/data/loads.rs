//! Questions to the engine, and its answers.

use callstack_core::frame::FrameNum;
use callstack_engine::search::SearchHit;
use callstack_engine::{EngineError, RollbackPlan};
use serde_json::Value;

use super::answers::{Details, Diff, Folded, Window};
use super::messages::Piece;
use super::rows::Row;

/// A question to the engine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Load {
    Tree,
    Details(FrameNum),
    Log {
        frame: FrameNum,
        from: u64,
        count: u64,
    },
    Diff(FrameNum),
    /// The next request of a session; without one, of the session that worked last.
    Sent {
        session: Option<String>,
        from: u64,
        count: u64,
    },
    /// The text that replaces a finished frame.
    Folded {
        frame: FrameNum,
        from: u64,
    },
    Window {
        session: Option<String>,
    },
    Search(String),
    /// The effect of a rollback.
    Preview(Rollback),
    Do(Deed),
}

/// A rollback of a frame's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rollback {
    pub(crate) frame: FrameNum,
    /// Also files that no tool was seen writing.
    pub(crate) all: bool,
    /// Takes the last rollback back.
    pub(crate) undo: bool,
}

/// An operation that changes something, with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Deed {
    pub(crate) operation: &'static str,
    pub(crate) arguments: Value,
}

impl Load {
    /// Whether a later question of the same kind makes the answer to this one useless.
    pub(crate) fn is_outdated_by(&self, later: &Self) -> bool {
        !matches!(self, Self::Do(_))
            && std::mem::discriminant(self) == std::mem::discriminant(later)
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) enum Loaded {
    Tree(Result<Vec<Row>, EngineError>),
    Details(FrameNum, Box<Result<Details, EngineError>>),
    Log(FrameNum, Result<Piece, EngineError>),
    Diff(FrameNum, Result<Diff, EngineError>),
    Sent(Option<String>, Result<Piece, EngineError>),
    Folded(FrameNum, Result<Folded, EngineError>),
    Window(Result<Window, EngineError>),
    Search(String, Result<Vec<SearchHit>, EngineError>),
    Preview(Rollback, Result<RollbackPlan, EngineError>),
    /// The change that was made, in words.
    Done(Result<String, EngineError>),
}
