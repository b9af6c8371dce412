//! Clients that break the protocol: nothing that they send stops the server.

use serde_json::json;

use crate::wire::TestEnv;

#[tokio::test]
async fn lines_that_are_no_requests_stop_nothing() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    let deep = "[".repeat(100_000);
    for line in [
        "garbage",
        "{",
        "",
        "[]",
        "{}",
        "null",
        "7",
        "\u{0}",
        "{\"jsonrpc\": \"1.0\"}",
        &deep,
        r#"{"jsonrpc":"2.0","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":900,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":901,"method":"tools/call","params":{"name":"stack","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":902,"method":"no/such/method","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
    ] {
        client.send(line).await;
    }
    assert_eq!(client.push("Build the parser").await["handle"], "f1");
}

#[tokio::test]
async fn a_client_that_begins_with_something_else_can_still_shake_hands() {
    for first in [
        "garbage",
        "{}",
        r#"{"jsonrpc":"2.0","id":900,"method":"no/such","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":901,"method":"tools/list"}"#,
    ] {
        let desk = TestEnv::new();
        let mut client = desk.client();
        client.send(first).await;
        client.hello("try").await;
        assert_eq!(client.push("Build the parser").await["handle"], "f1", "{first}");
    }
}

#[tokio::test]
async fn what_is_too_long_is_refused_and_stops_nothing() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    let long = json!({"title": "x".repeat(1 << 20), "successCriteria": "x"});
    assert_eq!(client.refusal("stack_frame_push", long).await["error"], "limit");
    // Longer than a line may be: dropped.
    client.send(&format!("{{\"a\": \"{}\"}}", "x".repeat(17 << 20))).await;
    assert_eq!(client.push("Build the parser").await["handle"], "f1");
}

#[tokio::test]
async fn a_request_that_can_not_be_read_is_answered() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    let long = format!(r#"{{"jsonrpc":"2.0","id":"long","method":"{}"}}"#, "x".repeat(17 << 20));
    for (id, line) in [
        ("cut", r#"{"jsonrpc":"2.0","id":"cut","method":"tools/call","params":{"#),
        ("long", &long),
        ("word", r#"{"jsonrpc":"2.0","id":"word","method":nothing}"#),
    ] {
        client.send(line).await;
        let answer = client.answer(id).await;
        assert_eq!(answer["error"]["code"], -32_700, "{answer}");
    }
}

#[tokio::test]
async fn half_a_character_and_deep_values_are_mended() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    let call = |id: &str, title: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"stack_frame_push","arguments":{{"title":{title},"successCriteria":"c"}}}}}}"#
        )
    };
    client.send(&call("half", r#""half \ud83d""#)).await;
    let answer = client.answer("half").await;
    assert_eq!(answer["result"]["structuredContent"]["handle"], "f1", "{answer}");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    client.send(&call("deep", &deep)).await;
    let answer = client.answer("deep").await;
    assert_eq!(answer["result"]["structuredContent"]["error"], "invalid", "{answer}");
}

#[tokio::test]
async fn wrong_arguments_of_every_tool_are_refused() {
    let desk = TestEnv::with(&[("STACK_TOOLS", "full")]);
    let mut client = desk.client();
    client.hello("try").await;
    let tools = client.request("tools/list", json!({})).await;
    for tool in tools["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(
            client.refusal(name, json!({"no such argument": 1})).await["error"],
            "invalid",
            "{name}"
        );
    }
}
