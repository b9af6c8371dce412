//! callstack over the Model Context Protocol: the operations of the engine as tools, frames and logs as resources.
//!
//! Nothing here is about a single operation: names, descriptions, schemas and answers are the engine's. [`McpServer`]
//! serves one client over any transport of `rmcp`; [`serve_stdio`] serves the agent that started this process.

mod answers;
mod http;
mod instructions;
mod lines;
mod project;
mod prompts;
mod resources;
mod server;
mod session;
mod stdio;
mod tools;
mod updates;

pub use http::{HttpService, http_service};
pub use project::Project;
pub use server::McpServer;
pub use session::{Sessions, session_of};
pub use stdio::{serve, serve_stdio};
