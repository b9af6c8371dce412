//! The binary as people and agents use it.

mod cli;
mod opencode;
