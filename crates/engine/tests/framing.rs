//! Frames that begin and end by themselves.

mod endings;
mod host;
mod undo;
mod work;
mod worth;
