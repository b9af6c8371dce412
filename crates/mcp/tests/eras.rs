//! Clients of each era of the protocol.

use serde_json::{Value, json};

use crate::wire::TestEnv;

/// The `_meta` of each request of such a client.
pub(crate) fn stateless() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
    })
}

#[tokio::test]
async fn a_client_of_2026_shakes_no_hands() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.meta = stateless();
    let found = client.request("server/discover", json!({})).await;
    let versions = found["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-06-18")));
    let tools = client.request("tools/list", json!({})).await;
    assert_eq!(tools["resultType"], "complete");
    assert!(tools["ttlMs"].is_number(), "{tools}");
    assert_eq!(client.push("Build the parser").await["handle"], "f1");
    let notes = desk.engine.tree_notes(&desk.engine.tree(None).unwrap()).unwrap();
    assert_eq!(notes.sessions["mcp-0"].host, "mcp:modern");
}

#[tokio::test]
async fn a_client_of_2025_is_answered_in_its_version() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let desk = TestEnv::new();
        let mut client = desk.client();
        let info = json!({"name": "old", "version": "1"});
        let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
        let said = client.request("initialize", hello).await;
        assert_eq!(said["protocolVersion"], version);
        assert_eq!(said["serverInfo"]["name"], "callstack");
        assert_eq!(said["serverInfo"]["version"], "1.2.3");
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        assert_eq!(client.push("Build the parser").await["handle"], "f1");
        let tools = client.request("tools/list", json!({})).await;
        assert!(tools["resultType"].is_null(), "of a later era: {tools}");
    }
}
