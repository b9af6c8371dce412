//! Agents over the Model Context Protocol.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Answer, PORT, Site};

/// Sends a request of a client without a handshake.
async fn post(
    site: &Site,
    changed: &[(&'static str, String)],
    method: &str,
    mut params: Value,
) -> Answer {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut headers = site.headers();
    headers.push(("accept", "application/json, text/event-stream".to_owned()));
    headers.push(("mcp-protocol-version", "2026-07-28".to_owned()));
    headers.push(("mcp-method", method.to_owned()));
    if let Some(name) = params["name"].as_str() {
        headers.push(("mcp-name", name.to_owned()));
    }
    headers.retain(|(name, _)| changed.iter().all(|(other, _)| other != name));
    headers.extend_from_slice(changed);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    site.send(Method::POST, "/mcp", &headers, message.to_string()).await
}

#[tokio::test]
async fn an_agent_works_on_the_tree_that_pages_show() {
    let site = Site::new();
    let arguments = json!({"title": "Root", "successCriteria": "x", "session": "mine"});
    let push = json!({"name": "stack_frame_push", "arguments": arguments});
    let answer = post(&site, &[], "tools/call", push).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert!(answer.text.contains("f1 is open now"), "{answer:?}");
    assert_eq!(site.titles().await, ["Root"]);
}

#[tokio::test]
async fn nobody_is_answered_without_the_token_or_from_elsewhere() {
    let site = Site::new();
    let own = ("origin", format!("http://127.0.0.1:{PORT}"));
    let listed = post(&site, &[own], "tools/list", json!({})).await;
    assert_eq!(listed.status, StatusCode::OK, "{listed:?}");
    for (header, value) in [
        ("authorization", "Bearer wrong"),
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("host", "evil.example"),
    ] {
        let refused = post(&site, &[(header, value.to_owned())], "tools/list", json!({})).await;
        assert!(refused.status.is_client_error(), "{header}: {refused:?}");
        assert!(!refused.text.contains("stack_frame_push"), "{header}");
    }
}
