//! OpenCode. Its plugin starts `callstack host opencode` and talks to it over stdio, one JSON object a
//! line; the protocol is described in `docs/protocol.md`, and carried out by [`protocol`](crate::protocol).

mod activities;
mod calls;
mod decode;
mod host;

pub(crate) use activities::{activities, thought};
pub(crate) use decode::shown;

pub use calls::{Fate, Line, ModelCall, calls};
pub use host::{HOST, OpenCode, read_requests, serve};
