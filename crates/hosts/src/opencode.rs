//! OpenCode. Its plugin starts `callstack host opencode` and talks to it over stdio, one JSON object a
//! line; the protocol is described in `docs/protocol.md`, and carried out by [`protocol`](crate::protocol).

mod calls;
mod decode;
mod happenings;
mod host;

pub(crate) use decode::decode;

pub use calls::{Fate, Line, ModelCall, calls};
pub use happenings::happenings;
pub use host::{HOST, OpenCode, read_requests, serve};
