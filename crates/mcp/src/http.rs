//! A server behind an HTTP server, at a path such as `/mcp`.

use std::io;
use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::server::McpServer;

/// Bytes of a request: more than the longest arguments that an operation takes.
const LONGEST: usize = 4 << 20;

/// A `tower` service that answers clients over HTTP.
pub type HttpService = StreamableHttpService<McpServer, LocalSessionManager>;

/// Returns a service with a server of `make` for each client, and for each request of one that shakes no hands; a
/// request for which none can be made is refused. Only programs on this machine are answered, and no page of a browser
/// but those of `origins`, such as `http://127.0.0.1:7000`. Who may ask at all is for the HTTP server to find out.
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
