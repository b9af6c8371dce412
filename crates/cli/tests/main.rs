//! The binary as people and agents use it.

mod cli;
#[cfg(test)]
mod opencode;
