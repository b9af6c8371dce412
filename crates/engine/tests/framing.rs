//! Frames that begin and end by themselves.

mod chosen;
mod endings;
mod files;
mod host;
mod kept;
mod purge;
mod remains;
mod undo;
mod work;
mod worth;
