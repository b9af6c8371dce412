//! Agents that are clients of the Model Context Protocol over HTTP.

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use tower::ServiceExt as _;

use crate::project::Asked;

/// The path of the service.
pub(crate) const PATH: &str = "/mcp";

/// Answers a client of a project.
pub(crate) async fn answer(asked: Asked, request: Request) -> Response {
    match asked.project.mcp().oneshot(request).await {
        Ok(response) => response.into_response(),
        Err(never) => match never {},
    }
}
