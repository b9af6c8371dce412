//! Agents that are clients of the Model Context Protocol over HTTP.

use std::sync::Arc;

use callstack_engine::Engine;
use callstack_mcp::{HttpService, McpServer, Sessions, http_service};

/// The path of the service.
pub(crate) const PATH: &str = "/mcp";

/// Returns the service of a server that listens on `port`. The guard has let its requests in.
pub(crate) fn service(engine: &Arc<Engine>, port: u16) -> HttpService {
    let project = Arc::new(Arc::clone(engine));
    let make = move || {
        McpServer::new(Arc::clone(&project) as _, Sessions::Argument, env!("CARGO_PKG_VERSION"))
    };
    let hosts = ["127.0.0.1", "localhost"];
    http_service(make, hosts.map(|host| format!("http://{host}:{port}")))
}
