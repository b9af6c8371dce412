use serde_json::json;

use super::*;
use crate::{Call, When};

/// Sends a request as the server would, and returns the answer.
fn ask(ledger: &mut Ledger, session: &str, messages: &Value) -> Answer {
    let headers = vec![("x-session-id".to_owned(), session.to_owned())];
    let tools = json!([{"type": "function", "function": {"name": "write"}}]);
    let body = json!({"model": "m", "tools": tools, "messages": messages}).to_string();
    send(ledger, headers, &body)
}

fn send(ledger: &mut Ledger, headers: Vec<(String, String)>, body: &str) -> Answer {
    let request = RecordedRequest::parse(headers, body).unwrap();
    let resolved = ledger.take(request.clone()).resolve(&request);
    ledger.settle(resolved)
}

fn user(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

fn violations(ledger: &Ledger) -> Vec<Violation> {
    ledger.findings().iter().map(|finding| finding.violation.clone()).collect()
}

fn text_of(answer: &Answer) -> &str {
    answer.step.text.as_deref().unwrap_or_default()
}

#[test]
fn sessions_get_conversations_by_matcher_or_in_order() {
    let script = Script::new()
        .conversation(Conversation::new([Step::text("first")]))
        .conversation(Conversation::when(When::FirstUser("zebra".into()), [Step::text("z")]))
        .conversation(Conversation::when(When::LastUser("again".into()), [Step::text("fork")]))
        .conversation(Conversation::when(When::Child, [Step::text("child")]))
        .conversation(Conversation::new([Step::text("second")]));
    let mut ledger = Ledger::new(script);
    assert_eq!(text_of(&ask(&mut ledger, "s1", &user("hello"))), "first");
    assert_eq!(text_of(&ask(&mut ledger, "s2", &user("a zebra"))), "z");
    assert_eq!(text_of(&ask(&mut ledger, "s3", &user("anything"))), "second");
    let forked = json!([{"role": "user", "content": "x"}, {"role": "user", "content": "again"}]);
    assert_eq!(text_of(&ask(&mut ledger, "s4", &forked)), "fork");
    let body = json!({"tools": [{}], "messages": user("sub")}).to_string();
    let headers = [("x-session-id", "s5"), ("x-parent-session-id", "s1")];
    let headers = headers.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec();
    assert_eq!(text_of(&send(&mut ledger, headers, &body)), "child");
    assert_eq!(violations(&ledger), []);
    assert_eq!(ledger.sessions(), ["s1", "s2", "s3", "s4", "s5"]);
}

#[test]
fn own_calls_of_the_host_take_no_step() {
    let script = Script::steps([Step::text("step")]).title("T").summary("S");
    let mut ledger = Ledger::new(script);
    for (system, kind, answer) in [
        ("You are a title generator. You output", RequestKind::Title, "T"),
        ("You are a context summarization agent. You", RequestKind::Compaction, "S"),
        ("You are something else.", RequestKind::Other, "ok"),
    ] {
        let messages = json!([
            {"role": "system", "content": "put in front by a plugin"},
            {"role": "system", "content": system},
            {"role": "user", "content": "x"}
        ]);
        let body = json!({"messages": messages}).to_string();
        assert_eq!(text_of(&send(&mut ledger, vec![], &body)), answer);
        assert_eq!(ledger.requests().last().map(|r| r.kind), Some(kind));
    }
    assert_eq!(text_of(&ask(&mut ledger, "s", &user("x"))), "step");
    assert_eq!(violations(&ledger), []);
}

#[test]
fn an_exhausted_script_is_a_violation() {
    let mut ledger = Ledger::new(Script::new());
    assert_eq!(text_of(&ask(&mut ledger, "s", &user("x"))), "done");
    assert_eq!(violations(&ledger), [Violation::ScriptExhausted]);
    assert!(ledger.append("s", [Step::text("more")]));
    assert_eq!(text_of(&ask(&mut ledger, "s", &user("x"))), "more");
    assert_eq!(ledger.findings().len(), 1);
    assert!(!ledger.append("nobody", []));
}

#[test]
fn a_closure_sees_the_request_and_its_panic_is_a_violation() {
    let mut ledger = Ledger::new(Script::steps([
        Step::from_request(|request| {
            let id = request.last_word_with_prefix("plan-").unwrap_or_default();
            Step::call("activate", json!({"id": id}))
        })
        .reasoning("kept from outside"),
        Step::from_request(|_| panic!("no handle here")),
    ]));
    let messages = json!([
        {"role": "user", "content": "plan-user is no result"},
        {"role": "assistant", "content": "", "tool_calls":
            [{"id": "c", "type": "function", "function": {"name": "plan", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "plan-a1 (f2), then `plan-b2`."}
    ]);
    let answer = ask(&mut ledger, "s", &messages);
    let want =
        Call { name: "activate".into(), arguments: json!({"id": "plan-b2"}), ..Call::default() };
    assert_eq!(answer.step.calls, [want]);
    assert_eq!(answer.step.reasoning.as_deref(), Some("kept from outside"));
    assert_eq!(violations(&ledger), []);
    assert_eq!(text_of(&ask(&mut ledger, "s", &messages)), "done");
    assert_eq!(violations(&ledger), [Violation::ScriptPanicked("no handle here".into())]);
}

#[test]
fn expectations_are_looked_at() {
    let mut ledger = Ledger::new(Script::steps([
        Step::text("a").expect_contains("zebra").expect_lacks("lion"),
        Step::text("b").expect_contains("zebra").expect_lacks("lion"),
    ]));
    ask(&mut ledger, "s", &user("a zebra"));
    assert_eq!(violations(&ledger), []);
    ask(&mut ledger, "t", &user("unrelated"));
    ledger.findings.clear();
    ask(&mut ledger, "s", &json!([{"role": "user", "content": "a lion"}]));
    let found = violations(&ledger);
    assert!(found.contains(&Violation::Unexpected("contain \"zebra\"".into())), "{found:?}");
    assert!(found.contains(&Violation::Unexpected("lack \"lion\"".into())), "{found:?}");
}

fn three_steps(checks: Checks) -> Ledger {
    let steps = [Step::text("1"), Step::text("2"), Step::text("3")];
    Ledger::new(Script::new().conversation(Conversation::new(steps).checks(checks)))
}

#[test]
fn successive_requests_are_compared_unless_switched_off() {
    let mut ledger = three_steps(Checks::default());
    ask(&mut ledger, "s", &user("one"));
    ask(&mut ledger, "s", &user("other"));
    let found = violations(&ledger);
    assert!(matches!(found[..], [Violation::PrefixChanged { index: 0, .. }]), "{found:?}");
    assert!(ledger.forget_previous("s"));
    ask(&mut ledger, "s", &user("a third"));
    assert_eq!(ledger.findings().len(), 1, "the pair was left out");

    let mut ledger = three_steps(Checks { prefix: false, ..Checks::default() });
    ask(&mut ledger, "s", &user("one"));
    ask(&mut ledger, "s", &user("other"));
    assert_eq!(violations(&ledger), []);
}

#[test]
fn a_request_without_an_earlier_call_is_taken_for_a_fold() {
    let mut ledger = three_steps(Checks::default());
    let with_call = json!([
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "", "tool_calls":
            [{"id": "c", "type": "function", "function": {"name": "w", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"}
    ]);
    ask(&mut ledger, "s", &with_call);
    ask(&mut ledger, "s", &user("folded"));
    assert_eq!(violations(&ledger), []);
}

#[test]
fn a_compaction_ends_the_comparison() {
    let mut ledger = three_steps(Checks::default());
    ask(&mut ledger, "s", &user("one"));
    let system = "You are a context summarization agent.";
    let messages = json!([{"role": "system", "content": system}, {"role": "user", "content": "x"}]);
    let headers = vec![("x-session-id".to_owned(), "s".to_owned())];
    send(&mut ledger, headers, &json!({"messages": messages}).to_string());
    ask(&mut ledger, "s", &user("What did we do so far?"));
    assert_eq!(violations(&ledger), []);
}

#[test]
fn moved_reasoning_is_found_as_requests_come_in() {
    let thinking =
        || Ledger::new(Script::steps([Step::text("1").reasoning("hm"), Step::text("2")]));
    let answered = |first: &str| {
        json!([
            {"role": "user", "content": first},
            {"role": "assistant", "content": "1", "reasoning_content": "hm"},
            {"role": "user", "content": "next"}
        ])
    };
    let mut ledger = thinking();
    ask(&mut ledger, "s", &user("one"));
    ask(&mut ledger, "s", &answered("one"));
    assert_eq!(violations(&ledger), []);
    let mut ledger = thinking();
    ask(&mut ledger, "s", &user("one"));
    ledger.forget_previous("s");
    ask(&mut ledger, "s", &answered("ONE"));
    let found = violations(&ledger);
    assert!(matches!(found[..], [Violation::MovedReasoning { index: 1, .. }]), "{found:?}");
}

#[test]
fn the_cache_is_simulated_per_session() {
    let mut ledger = Ledger::new(Script::steps([
        Step::text("1"),
        Step::text("2"),
        Step::text("3").usage(1000, 7),
        Step::text("4").usage(5, 6).cached(4),
    ]));
    let long = "word ".repeat(100);
    let first = ask(&mut ledger, "s", &user(&long)).usage;
    assert_eq!(first.cached_tokens, Some(0));
    assert!(first.prompt_tokens > 125, "{first:?}");
    let grown = json!([{"role": "user", "content": long}, {"role": "user", "content": "more"}]);
    let second = ask(&mut ledger, "s", &grown).usage;
    assert!(second.cached_tokens.unwrap() + 1 >= first.prompt_tokens, "{second:?}");
    let third = ask(&mut ledger, "s", &grown).usage;
    assert_eq!((third.prompt_tokens, third.completion_tokens), (1000, 7));
    assert!(third.cached_tokens.unwrap() > 0);
    let fourth = ask(&mut ledger, "s", &grown).usage;
    assert_eq!(fourth.cached_tokens, Some(4));
}

#[test]
fn a_script_comes_from_json() {
    let script = Script::from_json(
        r#"{"title": "T", "conversations": [{
            "when": {"first_user": "zebra"},
            "checks": {"prefix": false},
            "steps": [{
                "reasoning": "hm", "text": "words", "delay_ms": 5,
                "calls": [{"name": "write", "arguments": {"a": 1}}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 2},
                "expect": {"contains": ["zebra"]}
            }]
        }]}"#,
    )
    .unwrap();
    let conversation = &script.conversations[0];
    assert_eq!(conversation.when, Some(When::FirstUser("zebra".into())));
    assert_eq!(conversation.checks, Checks { prefix: false, reasoning: true });
    let step = &conversation.steps[0];
    assert_eq!(step.delay, Some(std::time::Duration::from_millis(5)));
    assert_eq!(step.calls[0].arguments, json!({"a": 1}));
    assert_eq!(step.usage.map(|usage| usage.completion_tokens), Some(2));
    assert!(Script::from_json(r#"{"conversations": [{"step": []}]}"#).is_err(), "unknown field");
}
