use std::time::{Duration, Instant};

use callstack_scripted_model::{RequestKind, Script, ScriptedModel, Step, Violation};
use serde_json::{Value, json};

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(10)))
        .http_status_as_error(false)
        .build()
        .into()
}

fn post(model: &ScriptedModel, body: &Value) -> (u16, String) {
    let mut response = agent()
        .post(format!("{}/chat/completions", model.base_url()))
        .header("x-session-id", "ses_1")
        .send_json(body)
        .unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

fn request(stream: bool) -> Value {
    json!({
        "model": "scripted", "stream": stream,
        "messages": [{"role": "user", "content": "hello"}],
        "tools": [{"type": "function", "function": {"name": "write"}}]
    })
}

fn chunks(body: &str) -> Vec<Value> {
    let mut events: Vec<&str> = body.split("\n\n").filter(|event| !event.is_empty()).collect();
    assert_eq!(events.pop(), Some("data: [DONE]"));
    events
        .into_iter()
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

fn joined<'a>(deltas: impl Iterator<Item = &'a Value>) -> String {
    deltas.filter_map(Value::as_str).collect()
}

#[test]
fn a_streamed_step_arrives_whole_and_in_order() {
    let arguments = json!({"filePath": "a.txt", "content": "ä quoted \"word\""});
    let model = ScriptedModel::start(Script::steps([Step::text("I write both.")
        .reasoning("Two files are wanted.")
        .and_call("write", arguments.clone())
        .and_call("read", json!({"filePath": "b.txt"}))
        .usage(120, 30)]))
    .unwrap();
    let (status, body) = post(&model, &request(true));
    assert_eq!(status, 200);
    let chunks = chunks(&body);
    let deltas = || chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]);

    assert_eq!(deltas().next().unwrap()["role"], "assistant");
    assert_eq!(joined(deltas().map(|d| &d["reasoning_content"])), "Two files are wanted.");
    assert_eq!(joined(deltas().map(|d| &d["content"])), "I write both.");
    let call_deltas = |index: u64| {
        deltas()
            .filter_map(|delta| delta["tool_calls"].get(0))
            .filter(move |call| call["index"] == index)
    };
    let sent = joined(call_deltas(0).map(|call| &call["function"]["arguments"]));
    assert_eq!(serde_json::from_str::<Value>(&sent).unwrap(), arguments);
    assert!(call_deltas(0).count() > 2, "arguments come in pieces");
    assert_eq!(call_deltas(1).next().unwrap()["function"]["name"], "read");
    let ids: Vec<&Value> = [0, 1].map(|i| &call_deltas(i).next().unwrap()["id"]).to_vec();
    assert_ne!(ids[0], ids[1]);

    let last = chunks.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(
        last["usage"],
        json!({
            "prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 0}
        })
    );
    assert!(chunks[..chunks.len() - 1].iter().all(|c| c["choices"][0]["finish_reason"].is_null()));
}

#[test]
fn an_answer_can_come_in_one_piece() {
    let model = ScriptedModel::start(Script::steps([
        Step::call("write", json!({"a": 1})).reasoning("hm"),
        Step::text("words"),
    ]))
    .unwrap();
    let (_, body) = post(&model, &request(false));
    let answer: Value = serde_json::from_str(&body).unwrap();
    let message = &answer["choices"][0]["message"];
    assert_eq!(message["content"], Value::Null);
    assert_eq!(message["reasoning_content"], "hm");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"a\":1}");
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    let (_, body) = post(&model, &request(false));
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "words");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
}

#[test]
fn requests_are_kept_byte_for_byte() {
    let model = ScriptedModel::start(Script::steps([Step::text("hi")])).unwrap();
    let body = r#"{"tools":[ {} ],"messages":[{"content" : "spaced",  "role":"user"}]}"#;
    agent()
        .post(format!("{}/chat/completions", model.base_url()))
        .header("X-Session-Id", "ses_2")
        .header("authorization", "Bearer secret")
        .send(body)
        .unwrap();
    let requests = model.requests();
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(request.raw_messages(), [r#"{"content" : "spaced",  "role":"user"}"#]);
    assert_eq!(request.raw_tools(), "[ {} ]");
    assert_eq!((request.kind, request.session.as_str()), (RequestKind::Agent, "ses_2"));
    assert!(request.headers.iter().all(|(name, _)| name != "authorization"), "no keys are kept");
    assert_eq!(request.render(), "[user] spaced\n");
}

#[test]
fn models_errors_and_nonsense_are_answered() {
    let model = ScriptedModel::start(Script::steps([Step::fail(429, "slow down")])).unwrap();
    let mut response = agent().get(format!("{}/models", model.base_url())).call().unwrap();
    let models: Value = response.body_mut().read_json().unwrap();
    assert_eq!(models["data"][0]["id"], "scripted");

    let (status, body) = post(&model, &request(true));
    assert_eq!(status, 429);
    assert!(body.contains("slow down"), "{body}");

    let (status, _) = post(&model, &json!({"messages": "none"}));
    assert_eq!(status, 400);
    let violations = model.violations();
    assert!(
        matches!(&violations[..], [f] if matches!(f.violation, Violation::Unreadable(_))),
        "{violations:?}"
    );
}

#[test]
fn a_delay_holds_the_answer_but_not_the_drop() {
    let delay = Duration::from_millis(300);
    let script = Script::steps([Step::text("late").delay(delay)]);
    let model = ScriptedModel::start(script).unwrap();
    let started = Instant::now();
    post(&model, &request(true));
    assert!(started.elapsed() >= delay);

    let hour = Duration::from_hours(1);
    let model = ScriptedModel::start(Script::steps([Step::text("never").delay(hour)])).unwrap();
    let url = format!("{}/chat/completions", model.base_url());
    let waiting = std::thread::spawn(move || agent().post(url).send_json(request(true)).is_err());
    while model.requests().is_empty() {
        std::thread::yield_now();
    }
    drop(model);
    assert!(waiting.join().unwrap(), "the client is cut off at once");
}

#[test]
fn a_closure_may_look_at_the_model() {
    // The closure runs while the server answers: it must find the model unlocked.
    let model = std::sync::Arc::new(std::sync::OnceLock::<ScriptedModel>::new());
    let inside = std::sync::Arc::downgrade(&model);
    let step = Step::from_request(move |_| {
        let model = inside.upgrade().unwrap();
        Step::text(model.get().unwrap().requests().len().to_string())
    });
    model.set(ScriptedModel::start(Script::steps([step])).unwrap()).unwrap();
    let (_, body) = post(model.get().unwrap(), &request(false));
    assert!(body.contains(r#""content":"1""#), "{body}");
}
