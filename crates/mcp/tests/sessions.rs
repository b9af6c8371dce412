//! The session that a call belongs to.

use callstack_mcp::Sessions;
use serde_json::json;

use crate::wire::TestEnv;

#[tokio::test]
async fn clients_that_name_their_conversation_have_a_session_for_each() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("codex-mcp-client").await;
    client.meta = json!({"threadId": "t-1", "sessionId": "s-1", "callId": "call_1"});
    client.push("First").await;
    client.meta = json!({"threadId": "t-2", "sessionId": "s-1", "callId": "call_2"});
    client.push("Second").await;
    client.meta = json!({});
    client.push("Third").await;
    let worked_in = |frame: &str| desk.engine.resolve(frame).unwrap().session.unwrap();
    assert_eq!(worked_in("f1"), "mcp-t-1");
    assert_eq!(worked_in("f2"), "mcp-t-2");
    assert_eq!(worked_in("f3"), "mcp-0");
    let notes = desk.engine.tree_notes(&desk.engine.tree(None).unwrap()).unwrap();
    assert_eq!(notes.sessions["mcp-t-1"].host, "mcp:codex-mcp-client");
}

#[tokio::test]
async fn what_is_no_id_names_no_session() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("cli\n").await;
    for odd in [json!(""), json!(7), json!("x".repeat(10_000)), json!("a\nb"), json!({"a": 1})] {
        client.meta = json!({"threadId": odd});
        client.push("Odd").await;
    }
    for num in 1..=5 {
        let frame = desk.engine.resolve(&format!("f{num}")).unwrap();
        assert_eq!(frame.session.as_deref(), Some("mcp-0"));
    }
    let notes = desk.engine.tree_notes(&desk.engine.tree(None).unwrap()).unwrap();
    assert_eq!(notes.sessions["mcp-0"].host, "mcp:client", "nobody is taken for a terminal");
}

#[tokio::test]
async fn calls_that_come_at_once_are_carried_out_in_their_order() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    client.push("Root").await;
    let mut last = 0;
    for turn in 0..40 {
        let title = format!("Part {turn}");
        let push = json!({"name": "stack_frame_push",
            "arguments": {"title": title, "successCriteria": "x"}});
        client.ask("tools/call", push).await;
        let pop =
            json!({"name": "stack_frame_pop", "arguments": {"results": format!("of {turn}")}});
        last = client.ask("tools/call", pop).await;
    }
    client.answer(last).await;
    for turn in 0..40 {
        let frame = desk.engine.resolve(&format!("f{}", turn + 2)).unwrap();
        assert_eq!(frame.identity.title, format!("Part {turn}"));
        assert_eq!(frame.results.as_deref(), Some(&*format!("of {turn}")));
    }
}

#[tokio::test]
async fn where_clients_share_a_server_each_call_names_its_session() {
    let desk = TestEnv::new();
    let mut client = desk.client_of(Sessions::Argument);
    client.hello("try").await;
    let tools = client.request("tools/list", json!({})).await;
    for tool in tools["tools"].as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["properties"]["session"]["type"], "string", "{tool}");
        let required = tool["inputSchema"]["required"].as_array().unwrap();
        assert!(required.contains(&json!("session")), "{tool}");
    }
    let unnamed = json!({"title": "First", "successCriteria": "x"});
    let refused = client.refusal("stack_frame_push", unnamed.clone()).await;
    assert!(refused["hint"].as_str().unwrap().contains("`session`"), "{refused}");
    for session in ["a", "b"] {
        let mut named = unnamed.clone();
        named["session"] = session.into();
        client.tool("stack_frame_push", named).await;
    }
    client.meta = json!({"threadId": "c"});
    client.tool("stack_frame_push", unnamed).await;
    for (frame, session) in [("f1", "mcp-a"), ("f2", "mcp-b"), ("f3", "mcp-c")] {
        let worked_in = desk.engine.resolve(frame).unwrap().session;
        assert_eq!(worked_in.as_deref(), Some(session));
    }
}
