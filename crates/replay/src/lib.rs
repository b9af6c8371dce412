//! Replays: the requests of a recorded session if it had been sent otherwise (whole, compacted, masked, through a
//! window or in frames), their cost, and how much of the terms that the agent needed next they would have held.
//!
//! Nothing here asks a model: the agent's words and calls are the recorded ones, whatever it would have been sent.

mod again;
mod calibration;
mod changes;
mod document;
mod dump;
mod figures;
mod item;
mod misses;
mod outline;
mod replay;
mod report;
mod requests;
mod session;
mod shown;
mod terms;
mod told;
mod trace;
mod verbatim;
mod ways;

pub use again::CALL;
pub use calibration::{BESIDE, Fit};
pub use changes::Change;
pub use document::document;
pub use dump::dump;
pub use figures::Figures;
pub use item::{Item, ItemNum, Items};
pub use misses::Miss;
pub use outline::{Bar, Line, Outline};
pub use replay::{Progress, Replay};
pub use report::{
    LARGE, LONG, Mean, MeanOf, OfLinear, Report, SessionReport, Sizes, Step, WayReport,
    WithoutPauses, format_name,
};
pub use requests::Requests;
pub use session::{Call, Kind, Piece, Session};
pub use shown::Shown;
pub use terms::terms;
pub use told::{change, lines_of, rounded, short, thousands};
pub use ways::frames::{Framed, Policy};
pub use ways::{Way, compaction, frames, linear, masking, window};
