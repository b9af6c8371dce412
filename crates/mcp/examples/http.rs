//! Serves the project in a folder at `/mcp` on a port of 127.0.0.1, for the protocol's own conformance suite:
//! `cargo run -p callstack-mcp --example http -- FOLDER PORT`.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use callstack_engine::{Engine, Settings, SystemWorld};
use callstack_mcp::{McpServer, Sessions, http_service};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (folder, port) = arguments.next().zip(arguments.next()).ok_or("usage: http FOLDER PORT")?;
    let world = Box::new(SystemWorld);
    let engine = Engine::open_unchecked(Path::new(&folder), Settings::default(), world)?;
    let engine = Arc::new(engine);
    let make = move || {
        let project = Arc::new(Arc::clone(&engine));
        Ok(McpServer::new(project, Sessions::Argument, env!("CARGO_PKG_VERSION")))
    };
    let origin = format!("http://127.0.0.1:{port}");
    let router = Router::new().route_service("/mcp", http_service(make, [origin]));
    let listener = TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    axum::serve(listener, router).await?;
    Ok(())
}
