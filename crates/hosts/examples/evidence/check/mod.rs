//! The texts that replace finished frames, compared with the log.

mod claims;
mod diff;
pub(crate) mod folds;
pub(crate) mod judge;
pub(crate) mod log;
mod model;
mod scan;
