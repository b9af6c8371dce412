use serde_json::json;

use super::*;

/// A user's words, reasoning with a call, a second call, and the results.
fn good() -> Vec<Value> {
    vec![
        json!({"role": "developer", "content": "be good"}),
        json!({"role": "user", "content": [{"type": "input_text", "text": "do it"}]}),
        json!({
            "type": "reasoning", "id": "rs_0_0", "encrypted_content": "s",
            "summary": [{"type": "summary_text", "text": "hm"}],
        }),
        json!({
            "type": "function_call", "id": "fc_0_1-behind-0_0", "call_id": "a", "name": "read",
            "arguments": "{}",
        }),
        json!({"type": "function_call", "call_id": "b", "name": "read", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "a", "output": "A"}),
        json!({"type": "function_call_output", "call_id": "b", "output": "B"}),
    ]
}

fn found_in(change: impl FnOnce(&mut Vec<Value>)) -> Vec<Violation> {
    let mut items = good();
    change(&mut items);
    let units = units(&json!({ "input": items }).to_string()).unwrap();
    let shown: Vec<Value> = units.into_iter().map(|unit| unit.shown).collect();
    well_formed(&shown)
}

#[test]
fn a_good_request_is_clean() {
    assert_eq!(found_in(|_| ()), []);
}

#[test]
fn calls_and_outputs_belong_together() {
    let tool = || "read".to_owned();
    let without = Violation::CallWithoutResult { index: 4, id: "b".into(), tool: tool() };
    assert_eq!(found_in(|items| drop(items.remove(6))), [without]);
    let without = Violation::ResultWithoutCall { index: 5, id: "b".into() };
    assert_eq!(found_in(|items| drop(items.remove(4))), [without]);
    let twice = Violation::DuplicateResult { index: 7, id: "b".into() };
    assert_eq!(found_in(|items| items.push(items[6].clone())), [twice]);
    let same = Violation::DuplicateCallId { index: 4, id: "a".into() };
    assert!(found_in(|items| items[4]["call_id"] = "a".into()).contains(&same));
    let bad = Violation::BadArguments { index: 4, id: "b".into() };
    assert_eq!(found_in(|items| items[4]["arguments"] = "{".into()), [bad]);
}

#[test]
fn reasoning_and_what_was_made_after_it_belong_together() {
    let missing = Violation::ReasoningMissing { index: 2, block: "call a".into() };
    assert_eq!(found_in(|items| drop(items.remove(2))), [missing]);
    let without = |items: &mut Vec<Value>| {
        items.remove(2);
        items[2].as_object_mut().unwrap().remove("id");
    };
    assert_eq!(found_in(without), [], "without its id nobody knows what it was made behind");
    let alone = Violation::ReasoningAlone { index: 2, reasoning: "hm".into() };
    assert_eq!(found_in(|items| drop(items.drain(3..))), [alone]);
}

#[test]
fn items_are_shown_as_messages() {
    let body = json!({ "instructions": "be brief", "input": good() }).to_string();
    let shown: Vec<Value> = units(&body).unwrap().into_iter().map(|unit| unit.shown).collect();
    let roles: Vec<_> = shown.iter().map(|shown| shown["role"].as_str().unwrap()).collect();
    let wanted =
        ["system", "system", "user", "assistant", "assistant", "assistant", "tool", "tool"];
    assert_eq!(roles, wanted);
    assert_eq!((&shown[3]["reasoning_content"], &shown[3]["seal"]), (&json!("hm"), &json!("s")));
    assert_eq!(shown[4]["tool_calls"][0]["function"]["name"], "read");
    assert_eq!(shown[7]["content"], "B");
}
