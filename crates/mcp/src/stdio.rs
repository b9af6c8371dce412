//! A server on standard input and output.

use std::io;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::lines;
use crate::server::McpServer;

/// Bytes of lines that are read ahead.
const AHEAD: usize = 64 * 1024;

/// Serves the client that started this process, until it closes standard input.
pub fn serve_stdio(server: McpServer) -> io::Result<()> {
    // One thread, so that calls begin in the order in which they came.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(serve(server, tokio::io::stdin(), tokio::io::stdout()));
    // A read of standard input can't be cancelled.
    runtime.shutdown_background();
    outcome
}

/// Serves a client whose lines come from `input`, until the input ends; answers go to `output`.
pub async fn serve(
    server: McpServer,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let (near, far) = tokio::io::duplex(AHEAD);
    let lines = tokio::spawn(lines::pass(input, near));
    let ended = match server.serve((far, output)).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    };
    lines.abort();
    ended
}
