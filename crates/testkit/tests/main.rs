//! The real `OpenCode` against the scripted model.

#[cfg(test)]
mod opencode;
