//! The ways in which a session could have been sent.

pub mod compaction;
pub mod frames;
pub mod masking;
pub mod window;

use callstack_core::saving::TOOLS_AND_GUIDANCE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::item::ItemNum;
use crate::requests::Requests;
use crate::sent_messages::SentMessages;
use crate::session::{Call, Session};

/// A way of sending a session.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Everything since the recording's last compaction.
    Linear,
    /// A summary in the place of the history at the model's limit.
    Compaction,
    /// A line in the place of each older tool output.
    Masking,
    /// The newest messages.
    Window,
    /// Finished frames, with the returned text in place of their work.
    Frames,
}

impl Strategy {
    /// All ways; the first is the one to which the others are compared.
    pub const ALL: [Self; 5] =
        [Self::Linear, Self::Compaction, Self::Masking, Self::Window, Self::Frames];

    /// Returns the tokens that it adds beside the conversation: a test limits those of callstack's tools and guidance
    /// to this.
    pub fn beside(self) -> u64 {
        if self == Self::Frames { TOOLS_AND_GUIDANCE } else { 0 }
    }

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

/// The items of some messages, in order.
pub(crate) fn items(
    session: &Session,
    messages: impl Iterator<Item = usize>,
) -> impl Iterator<Item = ItemNum> {
    messages.flat_map(|at| session.pieces[at].iter().map(|piece| piece.item))
}

/// Returns the estimated tokens of a message's pieces.
pub(crate) fn weight(session: &Session, message: usize) -> u64 {
    session.pieces[message].iter().map(|piece| session.items.get(piece.item).estimated).sum()
}

/// As recorded: everything since the recording's own last compaction, which is part of the recording.
pub fn linear(session: &Session) -> Requests {
    let mut requests = Requests::default();
    let mut before = &SentMessages::default();
    for Call { shown, .. } in &session.calls {
        requests.begin();
        if shown.starts_with(before) {
            requests.append(items(session, shown.from(before.len())));
        } else {
            requests.replace(items(session, shown.iter()));
        }
        before = shown;
    }
    requests
}
