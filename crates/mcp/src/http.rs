//! A server as a part of an HTTP server, at a path such as `/mcp`.

use std::io;
use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::server::McpServer;

/// The most bytes of a request: more than the longest arguments that an operation accepts.
const LONGEST: usize = 4 << 20;

/// A `tower` service that answers clients over HTTP.
pub type HttpService = StreamableHttpService<McpServer, LocalSessionManager>;

/// Returns a service that calls `make` for each client, and for each request of a client without a handshake; a
/// request for which no server can be made is refused. Only programs on this machine are answered, and in browsers
/// only pages of `origins`, such as `http://127.0.0.1:7000`. The HTTP server has to check whether a client may ask at
/// all.
pub fn http_service(
    make: impl Fn() -> io::Result<McpServer> + Send + Sync + 'static,
    origins: impl IntoIterator<Item = String>,
) -> HttpService {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(LONGEST);
    StreamableHttpService::new(make, Arc::new(LocalSessionManager::default()), config)
}
