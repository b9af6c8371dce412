//! Resources, and notifications of their changes.

use serde_json::{Value, json};

use crate::eras::stateless;
use crate::wire::{Client, TestEnv};

async fn read(client: &mut Client, uri: &str) -> String {
    let result = client.request("resources/read", json!({"uri": uri})).await;
    assert_eq!(result["contents"][0]["uri"], uri);
    result["contents"][0]["text"].as_str().unwrap().to_owned()
}

/// Waits for the notice that a resource has changed.
async fn updated(client: &mut Client) -> Value {
    loop {
        let mut message = client.next().await;
        if message["method"] == "notifications/resources/updated" {
            return message["params"].take();
        }
    }
}

#[tokio::test]
async fn the_tree_a_frame_and_its_log_can_be_read() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    client.push("Build the parser").await;
    let listed = client.request("resources/list", json!({})).await;
    assert_eq!(listed["resources"][0]["uri"], "callstack://tree");
    let templates = client.request("resources/templates/list", json!({})).await;
    let uris: Vec<_> = templates["resourceTemplates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["uriTemplate"])
        .collect();
    assert_eq!(uris, ["callstack://frame/{handle}", "callstack://frame/{handle}/log"]);
    assert!(read(&mut client, "callstack://tree").await.contains("f1 Build the parser"));
    assert!(read(&mut client, "callstack://frame/f1").await.contains("It is done"));
    assert!(read(&mut client, "callstack://frame/f1/log").await.contains("no messages are kept"));
    for wrong in ["callstack://frame/f9", "callstack://frame/../tree", "file:///etc/passwd"] {
        let id = client.ask("resources/read", json!({"uri": wrong})).await;
        assert_eq!(client.answer(id).await["error"]["code"], -32_002, "{wrong}");
    }
}

#[tokio::test]
async fn a_subscriber_with_a_handshake_is_notified_of_what_others_do() {
    let desk = TestEnv::new();
    let (mut client, mut other) = (desk.client(), desk.client());
    client.hello("try").await;
    other.hello("other").await;
    let uri = json!({"uri": "callstack://tree"});
    client.request("resources/subscribe", uri.clone()).await;
    other.push("Build the parser").await;
    assert_eq!(updated(&mut client).await, uri);
    assert!(read(&mut client, "callstack://tree").await.contains("f1 Build the parser"));

    client.request("resources/unsubscribe", uri.clone()).await;
    let frame = json!({"uri": "callstack://frame/f1"});
    client.request("resources/subscribe", frame.clone()).await;
    other.push("Read the grammar").await;
    assert_eq!(updated(&mut client).await, frame, "the tree is not subscribed to any more");
    let id = client.ask("resources/subscribe", json!({"uri": "callstack://nothing"})).await;
    assert_eq!(client.answer(id).await["error"]["code"], -32_002);
}

#[tokio::test]
async fn a_subscriber_without_a_handshake_listens() {
    let desk = TestEnv::new();
    let (mut client, mut other) = (desk.client(), desk.client());
    client.meta = stateless();
    other.hello("other").await;
    let wanted = json!({"resourceSubscriptions": ["callstack://tree", "callstack://nothing"]});
    let id = client.ask("subscriptions/listen", json!({"notifications": wanted})).await;
    let acknowledged = client.next().await;
    let accepted = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*accepted, json!(["callstack://tree"]), "{acknowledged}");
    other.push("Build the parser").await;
    assert_eq!(updated(&mut client).await["uri"], "callstack://tree");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.send(&cancel.to_string()).await;
    assert!(read(&mut client, "callstack://tree").await.contains("f1 Build the parser"));
}

#[tokio::test]
async fn prompts_are_the_slash_commands_of_other_hosts() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    let listed = client.request("prompts/list", json!({})).await;
    let names: Vec<_> =
        listed["prompts"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["push", "pop", "plan", "frame-status"]);
    let push = json!({"name": "push", "arguments": {"words": "Build the parser"}});
    let made = client.request("prompts/get", push).await;
    assert_eq!(
        made["messages"][0]["content"]["text"],
        "Open a frame with stack_frame_push for this goal, and work in it: Build the parser"
    );
    let made = client.request("prompts/get", json!({"name": "pop"})).await;
    assert!(made["messages"][0]["content"]["text"].as_str().unwrap().ends_with("conversation)"));
    let id = client.ask("prompts/get", json!({"name": "shove"})).await;
    assert_eq!(client.answer(id).await["error"]["code"], -32_602);
}
