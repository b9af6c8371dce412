//! Replays: the requests of a recorded session if it had been sent in another way (whole, compacted, masked, through
//! a window or in frames), their cost, and the share of the terms that the agent needed next that they would have
//! contained.
//!
//! Nothing here asks a model: the agent's words and calls are the recorded ones, whatever the model would have been
//! sent.

mod calibration;
mod changes;
mod document;
mod dump;
mod figures;
mod format;
mod item;
mod misses;
mod oracle;
mod outline;
mod pauses;
mod replay;
mod report;
mod requests;
mod rereads;
mod sent_messages;
mod session;
mod terms;
mod trace;
mod verbatim;
mod ways;

pub use calibration::{BESIDE, Fit};
pub use changes::Change;
pub use document::document;
pub use dump::dump;
pub use figures::Figures;
pub use format::{change, lines_of, rounded, short, thousands};
pub use item::{Item, ItemNum, Items};
pub use misses::Miss;
pub use oracle::Stays;
pub use outline::{Bar, Line, Outline};
pub use pauses::AtPauses;
pub use replay::{Progress, Replay};
pub use report::{
    LARGE, LONG, Mean, MeanOf, OfLinear, Report, SessionReport, Sizes, Step, StrategyReport,
    WithoutPauses, format_name,
};
pub use requests::Requests;
pub use rereads::{CALL, Reread};
pub use sent_messages::SentMessages;
pub use session::{Call, Piece, PieceKind, Session};
pub use terms::terms;
pub use ways::frames::{Framed, Policy};
pub use ways::{Strategy, compaction, frames, linear, masking, window};
