//! A server on standard input and output.

use std::io;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use crate::server::McpServer;

/// Serves the client that started this process, until it closes standard input.
pub fn serve_stdio(server: McpServer) -> io::Result<()> {
    // One thread, so that calls begin in the order in which they came.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(serve(server));
    // A read of standard input can't be cancelled.
    runtime.shutdown_background();
    outcome
}

async fn serve(server: McpServer) -> io::Result<()> {
    let running = match server.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    running.waiting().await.map(drop).map_err(io::Error::other)
}
