//! The ways in which a session could have been sent.

pub mod compaction;
pub mod frames;
pub mod masking;
pub mod window;

use serde::Serialize;

use crate::figures::Requests;
use crate::session::{Call, Piece, Session};

/// A way of sending a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Everything since the recording's last compaction.
    Linear,
    /// A summary in the place of the history at the model's limit.
    Compaction,
    /// A line in the place of each older tool output.
    Masking,
    /// The newest messages.
    Window,
    /// What finished frames returned in the place of their work.
    Frames,
}

impl Way {
    /// All ways, the one that the others are measured by first.
    pub const ALL: [Self; 5] =
        [Self::Linear, Self::Compaction, Self::Masking, Self::Window, Self::Frames];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Compaction => "compaction",
            Self::Masking => "masking",
            Self::Window => "window",
            Self::Frames => "frames",
        }
    }
}

/// The pieces of the messages that a call had before it, in order, with their message.
pub(crate) fn pieces<'s>(
    session: &'s Session,
    call: &Call,
) -> impl DoubleEndedIterator<Item = (usize, &'s Piece)> {
    let messages = call.shown.iter().copied();
    messages.flat_map(|at| session.pieces[at].iter().map(move |piece| (at, piece)))
}

/// As recorded: everything since the recording's own last compaction, which is part of the recording.
pub fn linear(session: &Session) -> Requests {
    let all = |call| pieces(session, call).map(|(_, piece)| piece.item).collect();
    session.calls.iter().map(all).collect()
}
