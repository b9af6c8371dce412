//! The state of the view, and its changes by keys, the mouse and news. Nothing here reads, writes or draws.

pub(crate) mod app;
pub(crate) mod details;
pub(crate) mod dialog;
pub(crate) mod form;
pub(crate) mod keys;
mod mouse;
mod steering;
pub(crate) mod tree;
