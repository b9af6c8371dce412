//! Suggestions: when a frame should begin or end, by the observed work in it (tool errors, commands and their exit
//! codes, files, messages, tokens). Nothing here depends on the model's own description of its work.
//!
//! An [`Observer`] makes [`Signals`] of a frame's messages, [`judge`] applies the heuristics to them, and a
//! [`Suggestion`] is the result that is stored and shown.

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

pub use heuristic::{Heuristic, SuggestionKind, UnknownHeuristic};
pub use judgement::{Judgement, judge, read};
pub use observer::Observer;
pub use reading::Reading;
pub use seen::Seen;
pub use signals::{Hints, Signals};
pub use suggestion::{LIFETIME, QUIET, Suggestion, SuggestionEnd, UnknownEnd};

#[cfg(test)]
mod heuristic_tests;
