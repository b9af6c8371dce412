//! Frames in the real `OpenCode` with the scripted model.

mod folding;
mod project;
