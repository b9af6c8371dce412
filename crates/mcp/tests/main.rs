//! A server as its clients see it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod answers;
mod eras;
mod hostile;
mod http;
mod resources;
mod sessions;
mod tools;
mod wire;
