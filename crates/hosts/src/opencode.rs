//! OpenCode. Its plugin starts `callstack host opencode` and talks to it over stdio, one JSON object a
//! line; the protocol is described in `docs/protocol.md`.

mod asked;
mod calls;
mod decode;
mod happenings;
mod lines;
mod serve;
mod wire;

pub(crate) use decode::decode;

pub use asked::read_requests;
pub use calls::{Fate, Line, ModelCall, calls};
pub use happenings::happenings;
pub use serve::{HOST, serve};
pub use wire::PROTOCOL;
