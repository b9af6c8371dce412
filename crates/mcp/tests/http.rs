//! Clients over HTTP.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use callstack_mcp::{McpServer, Sessions, http_service};
use rmcp::transport::streamable_http_server::tower::StreamableHttpService;
use serde_json::{Value, json};

use crate::eras::stateless;
use crate::wire::TestEnv;

/// Posts a request of a client without a handshake. Returns the status and the message of the answer.
async fn post(
    desk: &TestEnv,
    headers: &[(&str, &str)],
    method: &str,
    mut params: Value,
) -> (StatusCode, Value) {
    let engine = Arc::clone(&desk.engine);
    let make =
        move || Ok(McpServer::new(Arc::new(Arc::clone(&engine)), Sessions::Argument, "1.2.3"));
    let service: StreamableHttpService<_, _> =
        http_service(make, ["http://127.0.0.1:7000".to_owned()]);
    params["_meta"] = stateless();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = Request::post("http://127.0.0.1/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        request = request.header("mcp-name", name);
    }
    let has_host = headers.iter().any(|(name, _)| *name == "host");
    let host = (!has_host).then_some(("host", "127.0.0.1"));
    for (name, value) in headers.iter().copied().chain(host) {
        request = request.header(name, value);
    }
    let request = request.body(Body::from(message.to_string())).unwrap();
    let response = service.handle(request).await;
    let status = response.status();
    let body = to_bytes(Body::new(response.into_body()), usize::MAX).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let mut lines = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    (status, lines.find_map(|line| serde_json::from_str(line).ok()).unwrap_or_default())
}

#[tokio::test]
async fn a_call_names_its_session() {
    let desk = TestEnv::new();
    let arguments = json!({"title": "Root", "successCriteria": "x", "session": "mine"});
    let push = json!({"name": "stack_frame_push", "arguments": arguments});
    let (status, answer) = post(&desk, &[], "tools/call", push).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["handle"], "f1", "{answer}");
    assert_eq!(desk.engine.resolve("f1").unwrap().session.as_deref(), Some("mcp-mine"));
}

#[tokio::test]
async fn nobody_from_elsewhere_is_answered() {
    let desk = TestEnv::new();
    let own = ("origin", "http://127.0.0.1:7000");
    assert_eq!(post(&desk, &[own], "tools/list", json!({})).await.0, StatusCode::OK);
    for header in [("origin", "http://evil.example"), ("origin", "null"), ("host", "evil.example")]
    {
        let (status, _) = post(&desk, &[header], "tools/list", json!({})).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{header:?}");
    }
}
