//! The binary as people and agents use it.

mod agents;
mod cli;
#[cfg(test)]
mod opencode;
