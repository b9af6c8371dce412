//! Frames that begin and end by themselves.

mod endings;
mod files;
mod host;
mod remains;
mod undo;
mod work;
mod worth;
