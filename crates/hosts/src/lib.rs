//! Speaks to agents: one module for each program that runs them. Here is the shape of their messages; the engine
//! decides about them.

pub mod import;
pub mod opencode;
pub mod protocol;
