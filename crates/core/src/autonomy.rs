//! When a frame should begin or end, by what is seen of the work in it: tool errors, commands and how
//! they ended, files, messages, tokens. Nothing here depends on what the model says of its work.
//!
//! An [`Observer`] makes [`Signals`] of a frame's messages, [`judge`] asks the heuristics about them,
//! and a [`Suggestion`] is what is kept and said.

mod commands;
mod heuristic;
mod judgement;
mod observer;
mod pop;
mod push;
mod reading;
mod seen;
mod signals;
mod suggestion;

pub use heuristic::{Heuristic, Kind, UnknownHeuristic};
pub use judgement::{Judgement, judge, read};
pub use observer::Observer;
pub use reading::Reading;
pub use seen::Seen;
pub use signals::{Hints, Signals};
pub use suggestion::{LIFETIME, QUIET, Suggestion, SuggestionEnd, UnknownEnd};

#[cfg(test)]
mod heuristic_tests;
