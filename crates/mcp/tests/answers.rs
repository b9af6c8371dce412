//! The answers of calls.

use serde_json::json;

use crate::wire::TestEnv;

#[tokio::test]
async fn an_answer_is_text_and_an_object() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    let criteria = json!({"title": "Build the parser", "successCriteria": "All fixtures parse"});
    let pushed = client.call("stack_frame_push", criteria).await;
    let child = client.push("Read the grammar").await;
    let popped = client.call("stack_frame_pop", json!({"results": "23 rules"})).await;
    let listed = client.call("stack", json!({})).await;
    assert_eq!(child["handle"], "f2");
    assert!(listed["structuredContent"]["items"].is_array(), "{listed}");
    insta::assert_json_snapshot!(json!([pushed, popped]));
}

#[tokio::test]
async fn data_that_would_drown_an_answer_are_left_out() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    let listed = client.tool("stack", json!({"op": "all"})).await;
    let fields: Vec<_> = listed.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["text"]);
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_an_answer_that_the_model_reads() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    let wrong = client.refusal("stack_frame_push", json!({"titel": "x"})).await;
    assert_eq!(wrong["error"], "invalid");
    assert!(wrong["hint"].as_str().unwrap().contains("successCriteria"), "{wrong}");
    let early = client.call("stack_frame_pop", json!({"results": "x"})).await;
    assert_eq!(early["isError"], true);
    let text = early["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("no frame is open") && text.contains("stack_frame_push"), "{text}");
    let unknown = client.refusal("stack_frame_shove", json!({})).await;
    assert_eq!(unknown["error"], "invalid");
    let missing = client.refusal("stack_frame_activate", json!({"frame": "f9"})).await;
    assert_eq!(missing["error"], "not_found");
}

#[tokio::test]
async fn nothing_is_asked_of_a_client_that_it_can_not_do() {
    let desk = TestEnv::with(&[("STACK_TOOLS", "full")]);
    let mut client = desk.client();
    client.hello("try").await;
    client.push("Build the parser").await;
    let summarized = client.refusal("stack_frame_summarize", json!({})).await;
    assert_eq!(summarized["error"], "conflict");
    let generated = client.refusal("stack_frame_pop", json!({"generateSummary": true})).await;
    assert_eq!(generated["error"], "conflict");
    let reached = client.refusal("stack", json!({"op": "stack_frame_summarize"})).await;
    assert_eq!(reached["error"], "conflict");
    let elsewhere = json!({"title": "Elsewhere", "successCriteria": "x", "in": "session"});
    let pushed = client.tool("stack_frame_push", elsewhere).await;
    assert_eq!(pushed["status"], "in_progress");
    assert!(pushed["text"].as_str().unwrap().contains("worked on in this session"), "{pushed}");
    let unsaid = client.refusal("stack_frame_pop", json!({})).await;
    assert!(unsaid["hint"].as_str().unwrap().contains("results"), "{unsaid}");
    let popped = client.tool("stack_frame_pop", json!({"results": "Nothing came of it."})).await;
    let text = popped["text"].as_str().unwrap();
    assert!(!text.contains("can be read again"), "callstack has no log of it: {text}");
    let popped = client.tool("stack_frame_pop", json!({"results": "Done."})).await;
    let text = popped["text"].as_str().unwrap();
    assert!(!text.contains("next request opens one"), "no request is seen here: {text}");
    let offered = client.tool("stack", json!({"op": "all"})).await;
    assert!(!offered.to_string().contains("stack_frame_summarize"), "{offered}");
}

#[tokio::test]
async fn what_stands_around_a_frame_is_shown_where_it_begins_wherever_it_is_placed_elsewhere() {
    for placement in ["output", "system"] {
        let desk = TestEnv::with(&[("STACK_CONTEXT_PLACEMENT", placement)]);
        let mut client = desk.client();
        client.hello("try").await;
        client.push("Build the parser").await;
        client
            .tool("stack_add_decision", json!({"decision": "Recursive descent, no generator"}))
            .await;
        let pushed = client.push("Read the grammar").await;
        let text = pushed["text"].as_str().unwrap();
        assert!(text.contains("Recursive descent"), "{placement}: {text}");
    }
}

#[tokio::test]
async fn secrets_of_known_forms_are_masked_in_all_of_an_answer() {
    let desk = TestEnv::new();
    let mut client = desk.client();
    client.hello("try").await;
    client.push("Build the parser").await;
    let key = format!("ghp_{}", "Zk3vQ9xT7mB2nL5cR8dW1yH4jF6pS0aGeUiX");
    client.tool("stack_add_decision", json!({"decision": format!("The key is {key}")})).await;
    let answer =
        client.call("stack", json!({"op": "stack_frame_details", "args": {"frame": "f1"}})).await;
    assert!(answer.to_string().contains("The key is"), "{answer}");
    assert!(!answer.to_string().contains(&key), "{answer}");
}
