//! The terminal: the screen and its restoring, keys, signals, programs that run in between.

pub(crate) mod input;
pub(crate) mod news;
pub(crate) mod outside;
pub(crate) mod screen;
#[cfg(unix)]
pub(crate) mod signals;
