use serde_json::json;

use super::*;

fn request(messages: &Value) -> RecordedRequest {
    with_tools(messages, &json!([{"type": "function", "function": {"name": "write"}}]))
}

fn with_tools(messages: &Value, tools: &Value) -> RecordedRequest {
    let body = json!({"model": "m", "messages": messages, "tools": tools}).to_string();
    RecordedRequest::parse(vec![("x-session-id".into(), "ses_1".into())], &body).unwrap()
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "write", "arguments": "{\"a\":1}"}})
}

fn calling(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
    json!({"role": "assistant", "content": "", "tool_calls": calls})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "ok"})
}

fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// System, user, and a step of two calls with their results.
fn good() -> Vec<Value> {
    vec![
        says("system", "be good"),
        says("user", "do it"),
        calling(&["a", "b"]),
        result("a"),
        result("b"),
        says("assistant", "done"),
        says("user", "more"),
    ]
}

fn found_in(change: impl FnOnce(&mut Vec<Value>)) -> Vec<Violation> {
    let mut messages = good();
    change(&mut messages);
    well_formed(&messages)
}

#[test]
fn a_good_request_is_clean() {
    assert_eq!(well_formed(&good()), []);
}

#[test]
fn a_result_without_its_call_is_found() {
    let want = Violation::ResultWithoutCall { index: 5, id: "x".into() };
    assert_eq!(found_in(|m| m.insert(5, result("x"))), [want]);
    let want = Violation::ResultWithoutCall { index: 2, id: "a".into() };
    assert!(found_in(|m| drop(m.remove(2))).contains(&want), "the call's message is gone");
}

#[test]
fn a_call_without_its_result_is_found() {
    let want =
        |id: &str| Violation::CallWithoutResult { index: 2, id: id.into(), tool: "write".into() };
    assert_eq!(found_in(|m| drop(m.remove(4))), [want("b")]);
    assert_eq!(found_in(|m| m.truncate(3)), [want("a"), want("b")]);
}

#[test]
fn results_away_from_their_call_are_found() {
    let found = found_in(|m| m.insert(4, says("user", "between")));
    let away = Violation::ResultWithoutCall { index: 5, id: "b".into() };
    assert!(found.contains(&away), "{found:?}");
    assert!(found.iter().any(|v| matches!(v, Violation::CallWithoutResult { .. })), "{found:?}");
}

#[test]
fn two_results_and_two_calls_of_one_id_are_found() {
    let want = Violation::DuplicateResult { index: 5, id: "b".into() };
    assert_eq!(found_in(|m| m.insert(5, result("b"))), [want]);
    let want = Violation::DuplicateCallId { index: 2, id: "a".into() };
    assert!(found_in(|m| m[2] = calling(&["a", "a"])).contains(&want));
}

#[test]
fn broken_role_order_is_found() {
    let late = Violation::LateSystem { index: 6 };
    assert_eq!(found_in(|m| m.insert(6, says("system", "now this"))), [late]);
    let first = Violation::FirstNotUser { role: "assistant".into() };
    assert_eq!(found_in(|m| m[1] = says("assistant", "hello")), [first]);
    let none = Violation::FirstNotUser { role: "nothing".into() };
    assert_eq!(found_in(|m| m.truncate(1)), [none]);
    let unknown = Violation::UnknownRole { index: 6, role: "narrator".into() };
    assert_eq!(found_in(|m| m[6] = says("narrator", "meanwhile")), [unknown]);
}

#[test]
fn silent_assistants_are_found() {
    let empty = Violation::EmptyAssistant { index: 5 };
    assert_eq!(found_in(|m| m[5] = says("assistant", "")), std::slice::from_ref(&empty));
    assert_eq!(found_in(|m| m[5] = json!({"role": "assistant", "content": null})), [empty]);
}

#[test]
fn only_the_last_step_message_may_end_a_request() {
    let end = Violation::AssistantAtEnd { text: "done".into() };
    assert_eq!(found_in(|m| m.truncate(6)), [end]);
    assert_eq!(found_in(|m| m.push(says("assistant", &format!("{MAX_STEPS_OPENING}\n..")))), []);
}

#[test]
fn arguments_that_are_not_json_are_found() {
    let want = Violation::BadArguments { index: 2, id: "a".into() };
    let found = found_in(|m| m[2]["tool_calls"][0]["function"]["arguments"] = json!("{\"a\":"));
    assert_eq!(found, [want]);
}

#[test]
fn a_grown_request_keeps_its_prefix() {
    let earlier = request(&json!(good()[..5]));
    let later = request(&json!(good()));
    assert_eq!(prefix(&earlier, &later), []);
    assert_eq!(prefix(&earlier, &earlier), []);
}

#[test]
fn a_changed_prefix_is_found() {
    let earlier = request(&json!(good()[..5]));
    let mut changed = good();
    changed[3]["content"] = json!("OK");
    let found = prefix(&earlier, &request(&json!(changed)));
    assert!(matches!(found[..], [Violation::PrefixChanged { index: 3, .. }]), "{found:?}");
    let found = prefix(&earlier, &request(&json!(good()[..4])));
    assert!(matches!(found[..], [Violation::PrefixChanged { index: 4, .. }]), "{found:?}");
    let found = prefix(&earlier, &with_tools(&json!(good()), &json!([])));
    assert!(matches!(found[..], [Violation::ToolsChanged { .. }]), "{found:?}");
}

#[test]
fn the_prefix_is_compared_by_bytes() {
    let one = r#"{"messages":[{"role":"user","content":"a"}]}"#;
    let other = r#"{"messages":[{"content":"a","role":"user"}]}"#;
    let [one, other] = [one, other].map(|body| RecordedRequest::parse(vec![], body).unwrap());
    let found = prefix(&one, &other);
    assert!(matches!(found[..], [Violation::PrefixChanged { index: 0, .. }]), "{found:?}");
}

#[test]
fn the_last_step_message_is_no_part_of_the_prefix() {
    let mut limited = good();
    limited.push(says("assistant", MAX_STEPS_OPENING));
    let mut later = good();
    later.extend([says("assistant", "tired"), says("user", "go on")]);
    assert_eq!(prefix(&request(&json!(limited)), &request(&json!(later))), []);
}

#[test]
fn a_fold_keeps_everything_up_to_its_push_call() {
    let mut earlier = good();
    earlier[2] = calling(&["push"]);
    earlier.splice(3..5, [result("push"), calling(&["w"]), result("w")]);
    let mut folded = earlier[..3].to_vec();
    folded.push(json!({"role": "tool", "tool_call_id": "push", "content": "what it returned"}));
    let earlier = request(&json!(earlier));
    assert_eq!(fold(&earlier, &request(&json!(folded)), "push"), []);

    let missing = |which| Violation::PushCallMissing { id: "push".into(), which };
    assert_eq!(fold(&earlier, &request(&json!(good())), "push"), [missing("later")]);
    assert_eq!(fold(&request(&json!(good())), &earlier, "push"), [missing("earlier")]);

    folded[2]["content"] = json!("words that were not there");
    let found = fold(&earlier, &request(&json!(folded)), "push");
    assert!(matches!(found[..], [Violation::PrefixChanged { index: 2, .. }]), "{found:?}");
}

#[test]
fn reasoning_must_stay_after_its_prefix() {
    let asked = request(&json!(good()[..2]));
    let made = [MadeReasoning { text: "hm".into(), ..MadeReasoning::default() }];
    let mut answered = good();
    answered[2]["reasoning_content"] = json!("hm");
    let recorded = [asked];
    assert_eq!(reasoning(&request(&json!(answered)), &made, &recorded), []);

    let mut moved = answered.clone();
    moved[1]["content"] = json!("do something else");
    let found = reasoning(&request(&json!(moved)), &made, &recorded);
    assert!(
        matches!(found[..], [Violation::MovedReasoning { index: 2, made_in: 0, .. }]),
        "{found:?}"
    );
    assert!(found[0].to_string().contains("something else"), "{}", found[0]);

    let mut inserted = answered.clone();
    inserted.insert(2, says("user", "one more thing"));
    let found = reasoning(&request(&json!(inserted)), &made, &recorded);
    assert!(matches!(found[..], [Violation::MovedReasoning { index: 3, .. }]), "{found:?}");

    let mut cut = answered.clone();
    cut.remove(0);
    let found = reasoning(&request(&json!(cut)), &made, &recorded);
    assert!(matches!(found[..], [Violation::MovedReasoning { index: 1, .. }]), "{found:?}");

    let longer = [request(&json!(good()[..5]))];
    let found = reasoning(&request(&json!(answered)), &made, &longer);
    assert!(
        matches!(found[..], [Violation::MovedReasoning { index: 2, .. }]),
        "made behind more messages than it stands behind: {found:?}"
    );

    let mut foreign = answered;
    foreign[2]["reasoning_content"] = json!("never thought");
    let found = reasoning(&request(&json!(foreign)), &made, &recorded);
    assert!(matches!(found[..], [Violation::UnknownReasoning { index: 2, .. }]), "{found:?}");
}

#[test]
fn a_difference_is_shown_whole_characters_only() {
    let shown = difference("ääääö and more", "ääääü and less");
    assert_eq!(shown, "from byte 8 on, was \"ääääö and more\", is \"ääääü and less\"");
    assert_eq!(difference("same", "same+"), "from byte 4 on, was \"same\", is \"same+\"");
}

#[test]
fn a_finding_reads_well() {
    let finding = Finding {
        request: 3,
        session: "ses_1".into(),
        kind: RequestKind::Agent,
        violation: Violation::CallWithoutResult {
            index: 2,
            id: "call_1".into(),
            tool: "write".into(),
        },
    };
    assert_eq!(
        finding.to_string(),
        "request 3 (Agent, session ses_1): message 2 calls write (call_1) and no result stands \
         directly behind it"
    );
}
