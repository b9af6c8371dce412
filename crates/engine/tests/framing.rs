//! Frames that begin and end by themselves.

mod endings;
mod host;
mod remains;
mod undo;
mod work;
mod worth;
