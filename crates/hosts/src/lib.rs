//! Speaks to agents: one module for each program that runs them. Here is what their messages look like;
//! what is done about them is the engine's.

pub mod import;
pub mod opencode;
pub mod protocol;
