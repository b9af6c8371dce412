//! Answers and refusals of the wire formats with sealed reasoning, over HTTP.

use std::time::Duration;

use callstack_scripted_model::{Script, ScriptedModel, Step, Violation};
use serde_json::{Value, json};

fn post(model: &ScriptedModel, path: &str, body: &Value) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(10)))
        .http_status_as_error(false)
        .build()
        .into();
    let mut response = agent
        .post(format!("{}/{path}", model.base_url()))
        .header("x-session-id", "ses_1")
        .send_json(body)
        .unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

fn events(body: &str) -> Vec<Value> {
    let events = body.split("\n\n").filter(|event| !event.is_empty());
    let data = events.map(|event| {
        let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["type"], name);
        data
    });
    data.collect()
}

fn thinking_step() -> Step {
    let mut step = Step::text("I read both.")
        .reasoning("Two files.")
        .and_call("read", json!({"filePath": "a"}))
        .and_call("read", json!({"filePath": "b"}))
        .usage(120, 30)
        .cached(20);
    step.calls[1].reasoning = Some("The second one, too.".to_owned());
    step
}

#[test]
fn messages_stream_thinking_with_signatures_among_the_calls() {
    let model =
        ScriptedModel::start(Script::steps([thinking_step(), Step::text("Read.")])).unwrap();
    let user = json!({"role": "user", "content": "read them"});
    let request = |messages: Value, stream: bool| json!({"model": "m", "stream": stream, "tools": [{"name": "read"}], "messages": messages});
    let (status, body) = post(&model, "messages", &request(json!([user]), true));
    assert_eq!(status, 200);
    let events = events(&body);
    let mut content: Vec<Value> = Vec::new();
    for event in &events {
        let delta = &event["delta"];
        let append = |block: &mut Value, field: &str, more: &Value| {
            let whole = block[field].as_str().unwrap_or_default().to_owned();
            block[field] = (whole + more.as_str().unwrap()).into();
        };
        match (event["type"].as_str().unwrap(), delta["type"].as_str().unwrap_or_default()) {
            ("content_block_start", _) => content.push(event["content_block"].clone()),
            (_, "thinking_delta") => {
                append(content.last_mut().unwrap(), "thinking", &delta["thinking"]);
            }
            (_, "signature_delta") => {
                append(content.last_mut().unwrap(), "signature", &delta["signature"]);
            }
            (_, "text_delta") => append(content.last_mut().unwrap(), "text", &delta["text"]),
            (_, "input_json_delta") => {
                append(content.last_mut().unwrap(), "partial", &delta["partial_json"]);
            }
            _ => {}
        }
    }
    for block in &mut content {
        if let Some(input) = block["partial"].as_str() {
            block["input"] = serde_json::from_str(input).unwrap();
            block.as_object_mut().unwrap().remove("partial");
        }
    }
    let kinds: Vec<_> = content.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use", "thinking", "tool_use"]);
    assert_eq!(content[4]["input"], json!({"filePath": "b"}));
    assert_ne!(content[0]["signature"], content[3]["signature"]);
    let usage = &events[0]["message"]["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["cache_read_input_tokens"]),
        (&100.into(), &20.into())
    );

    let result =
        |block: &Value| json!({"type": "tool_result", "tool_use_id": block["id"], "content": "."});
    let results = json!([result(&content[2]), result(&content[4])]);
    let mut changed = content.clone();
    changed[3]["thinking"] = "Something else.".into();
    let answered = |content: &[Value]| json!([user, {"role": "assistant", "content": content}, {"role": "user", "content": results}]);
    let (status, body) = post(&model, "messages", &request(answered(&changed), true));
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("invalid_request_error"), "{body}");
    let mut moved = content.clone();
    moved.remove(0);
    let (status, _) = post(&model, "messages", &request(answered(&moved), true));
    assert_eq!(status, 400, "the thinking in front of it is missing");
    let found: Vec<Violation> = model.violations().into_iter().map(|it| it.violation).collect();
    assert!(found.iter().any(|it| matches!(it, Violation::UnknownReasoning { .. })), "{found:?}");
    assert!(found.iter().any(|it| matches!(it, Violation::MovedReasoning { .. })), "{found:?}");
}

#[test]
fn what_was_made_is_taken_back_as_it_was() {
    for (path, field) in [("messages", "messages"), ("responses", "input")] {
        let script = Script::steps([thinking_step(), Step::text("Read.")]);
        let model = ScriptedModel::start(script).unwrap();
        let user = json!({"role": "user", "content": "read them"});
        let tools = json!([{"type": "function", "name": "read"}]);
        let request = |messages: &Value| json!({"model": "m", "tools": tools, field: messages});
        let (_, body) = post(&model, path, &request(&json!([user])));
        let answer: Value = serde_json::from_str(&body).unwrap();
        let history = if path == "messages" {
            let calls = answer["content"].as_array().unwrap().iter();
            let results: Vec<Value> = calls
                .filter(|block| block["type"] == "tool_use")
                .map(|it| json!({"type": "tool_result", "tool_use_id": it["id"], "content": "."}))
                .collect();
            json!([
                user,
                {"role": "assistant", "content": answer["content"]},
                {"role": "user", "content": results},
            ])
        } else {
            let items = answer["output"].as_array().unwrap().clone();
            let results: Vec<Value> = items
                .iter()
                .filter(|item| item["type"] == "function_call")
                .map(|it| json!({"type": "function_call_output", "call_id": it["call_id"], "output": "."}))
                .collect();
            [vec![user], items, results].concat().into()
        };
        let (status, body) = post(&model, path, &request(&history));
        assert_eq!((status, model.violations()), (200, vec![]), "{body}");
        assert!(body.contains("Read."), "{body}");
    }
}

#[test]
fn responses_stream_items_and_refuse_a_call_without_its_reasoning() {
    let model =
        ScriptedModel::start(Script::steps([thinking_step(), Step::text("Read.")])).unwrap();
    let user = json!({"role": "user", "content": "read them"});
    let request =
        |input: Value| json!({"model": "m", "stream": true, "input": input, "tools": [{}]});
    let (status, body) = post(&model, "responses", &request(json!([user])));
    assert_eq!(status, 200);
    let events = events(&body);
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
    let items: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    let kinds: Vec<_> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call", "reasoning", "function_call"]);
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["output"]),
        (&"response.completed".into(), &items.clone().into())
    );
    assert_eq!(last["response"]["usage"]["input_tokens_details"]["cached_tokens"], 20);

    let output = |item: &Value| json!({"type": "function_call_output", "call_id": item["call_id"], "output": "."});
    let mut input = vec![user];
    input.extend(items.iter().filter(|item| **item != items[3]).cloned());
    input.extend([output(&items[2]), output(&items[4])]);
    let (status, body) = post(&model, "responses", &request(input.into()));
    assert_eq!(status, 400);
    assert!(body.contains("without the reasoning"), "{body}");
}
