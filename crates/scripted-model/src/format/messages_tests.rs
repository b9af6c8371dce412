use serde_json::json;

use super::*;

/// A user's words, a step that thinks and calls twice, and its results.
fn good() -> Value {
    json!({
        "system": [{"type": "text", "text": "be good"}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "do it"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "a", "name": "read", "input": {}},
                {"type": "tool_use", "id": "b", "name": "read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "A"},
                {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "B"}]},
                {"type": "text", "text": "and more"},
            ]},
        ],
    })
}

fn found_in(change: impl FnOnce(&mut Value)) -> Vec<Violation> {
    let mut body = good();
    change(&mut body);
    well_formed(&body)
}

fn content(body: &mut Value, message: usize) -> &mut Vec<Value> {
    body["messages"][message]["content"].as_array_mut().unwrap()
}

#[test]
fn a_good_request_is_clean() {
    assert_eq!(well_formed(&good()), []);
}

#[test]
fn calls_and_results_belong_together() {
    let tool = || "read".to_owned();
    let without = Violation::CallWithoutResult { index: 1, id: "b".into(), tool: tool() };
    assert_eq!(found_in(|body| drop(content(body, 2).remove(1))), [without]);
    let without = Violation::ResultWithoutCall { index: 2, id: "b".into() };
    assert_eq!(found_in(|body| drop(content(body, 1).remove(2))), [without]);
    let second = json!({"type": "tool_result", "tool_use_id": "a", "content": "A"});
    let twice = Violation::DuplicateResult { index: 1, id: "a".into() };
    assert_eq!(found_in(|body| content(body, 2).insert(0, second)), [twice]);
    let same = Violation::DuplicateCallId { index: 1, id: "a".into() };
    assert!(found_in(|body| content(body, 1)[2]["id"] = "a".into()).contains(&same));
    let late = Violation::LateResult { index: 2 };
    assert_eq!(found_in(|body| content(body, 2).swap(1, 2)), [late]);
}

#[test]
fn messages_have_their_order_and_something_in_them() {
    let first = Violation::FirstNotUser { role: "assistant".into() };
    let found = found_in(|body| drop(body["messages"].as_array_mut().unwrap().remove(0)));
    assert_eq!(found, [first]);
    let block = json!({"type": "text", "text": " "});
    let empty = Violation::EmptyBlock { index: 0, block: block.to_string() };
    assert_eq!(found_in(|body| content(body, 0).push(block)), [empty]);
    let answer = json!({"role": "assistant", "content": "so"});
    let end = Violation::AssistantAtEnd { text: "so".into() };
    assert_eq!(found_in(|body| body["messages"].as_array_mut().unwrap().push(answer)), [end]);
}

#[test]
fn a_client_may_say_something_between_turns_and_not_first() {
    let system = json!({"role": "system", "content": "it is late"});
    assert_eq!(found_in(|body| body["messages"].as_array_mut().unwrap().push(system.clone())), []);
    let unknown = Violation::UnknownRole { index: 0, role: "system".into() };
    assert!(
        found_in(|body| body["messages"].as_array_mut().unwrap().insert(0, system))
            .contains(&unknown)
    );
}

#[test]
fn with_a_fixed_budget_the_last_answer_begins_with_thinking() {
    let enabled = json!({"type": "enabled", "budget_tokens": 1024});
    assert_eq!(found_in(|body| body["thinking"] = enabled.clone()), []);
    let missing = Violation::ReasoningMissing { index: 1, block: "tool_use".into() };
    let without = |body: &mut Value, thinking: Value| {
        body["thinking"] = thinking;
        content(body, 1).remove(0);
    };
    assert_eq!(found_in(|body| without(body, enabled)), [missing]);
    assert_eq!(found_in(|body| without(body, json!({"type": "adaptive"}))), []);
}

#[test]
fn blocks_are_shown_one_by_one_and_marks_for_the_cache_are_left_out() {
    let body = good().to_string();
    let marked = body.replace(
        r#""text":"and more""#,
        r#""text":"and more","cache_control":{"type":"ephemeral"}"#,
    );
    assert_ne!(body, marked);
    let [plain, marked] = [body, marked].map(|body| units(&body).unwrap());
    let raws = |units: &[Unit]| units.iter().map(|unit| unit.raw.clone()).collect::<Vec<_>>();
    assert!(raws(&plain).last().unwrap().contains("and more"));
    assert_eq!(raws(&plain)[..7], raws(&marked)[..7]);
    let roles: Vec<_> = plain.iter().map(|unit| unit.shown["role"].as_str().unwrap()).collect();
    let wanted = ["system", "user", "assistant", "assistant", "assistant", "tool", "tool", "user"];
    assert_eq!(roles, wanted);
    assert_eq!(plain[2].shown["reasoning_content"], "hm");
    assert_eq!(plain[2].shown["seal"], "s");
    assert_eq!(plain[4].shown["tool_calls"][0]["id"], "b");
    assert_eq!(content_text(&plain[6].shown["content"]), "B");
}
