//! The domain of callstack, without I/O, clock, randomness or environment: frames and the commands
//! that change them, folding, and the context that a frame is given.
//!
//! Not here: storage (`store`), callers (`engine`, `hosts`), and terminal views (`cli`).

pub mod autonomy;
pub mod compaction;
pub mod context;
pub mod control;
pub mod cost;
pub mod decide;
pub mod dialect;
pub mod event;
pub mod evidence;
pub mod fold;
pub mod frame;
pub mod framing;
pub mod guidance;
pub mod json;
pub mod limits;
pub mod log_line;
pub mod masking;
pub mod named_steps;
pub mod outline;
pub mod outside;
pub mod own_lines;
pub mod rendered_slot;
pub mod results;
pub mod returned;
pub mod saving;
pub mod search;
pub mod secrets;
pub mod session_state;
pub mod stored;
pub mod subagent;
pub mod text;
pub mod trace;
pub mod transcript;
pub mod xml;
