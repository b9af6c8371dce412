//! Serves the operations and events of projects' stores over HTTP, on loopback only.
//!
//! Not here: operations and their permitted callers (`engine`), and the choice of the project (`cli`).

mod access;
mod app;
mod body;
mod calls;
mod connections;
mod events;
mod feed;
mod guard;
mod mcp;
mod openapi;
mod operations;
mod page;
mod problem;
mod project;
mod projects;
mod proposal;
mod record;
mod server;
mod steady;

pub use access::Token;
pub use app::{Limits, app};
pub use projects::{KnownProject, ProjectSource, Served};
pub use record::{Records, Running};
pub use server::{Options, Server, Started, serve};
