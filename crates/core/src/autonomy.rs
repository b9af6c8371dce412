//! When a frame should begin or end, by what is seen of the work in it.

mod heuristic;

pub use heuristic::{Heuristic, Kind};
