//! Frames in real agents that reach them over the Model Context Protocol, with the scripted model.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod claude_code;
mod codex;
mod program;
