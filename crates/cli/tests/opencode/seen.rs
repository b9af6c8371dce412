//! Requests as a person reads them, and properties of all of them.

use std::fmt::Write as _;

use callstack_scripted_model::{RecordedRequest, content_text};
use serde_json::Value;

use super::steps::WORK;

/// Returns the model's view in short lines: `OpenCode`'s own system prompt and the standing guidance are left out.
pub(crate) fn seen(request: &RecordedRequest) -> String {
    let mut out = String::new();
    let mut add = |heading: &str, text: &str| {
        if !text.is_empty() {
            writeln!(out, "── {heading}\n{}", text.trim_end()).unwrap();
        }
    };
    for text in our_system(request) {
        add("system", text.split_once("<stack-context").map_or(&text, |(_, _)| context_of(&text)));
    }
    for message in request.messages() {
        let text = content_text(&message["content"]);
        match message["role"].as_str().unwrap() {
            "system" => {}
            "user" => add("user", &text),
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                add(&format!("result of {}", call_of(request, id)), &text);
            }
            _ => {
                add("agent thinks", message["reasoning_content"].as_str().unwrap_or_default());
                add("agent says", &text);
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let function = &call["function"];
                    let name = function["name"].as_str().unwrap();
                    add(&format!("agent calls {name}"), function["arguments"].as_str().unwrap());
                }
            }
        }
    }
    out
}

/// Returns the system messages after `OpenCode`'s own.
pub(crate) fn our_system(request: &RecordedRequest) -> Vec<String> {
    let system = request.messages().iter().filter(|message| message["role"] == "system");
    system.skip(1).map(|message| content_text(&message["content"])).collect()
}

fn context_of(system: &str) -> &str {
    &system[system.find("<stack-context").unwrap()..]
}

fn call_of<'a>(request: &'a RecordedRequest, id: &str) -> &'a str {
    let calls = request.messages().iter().filter_map(|message| message["tool_calls"].as_array());
    let call = calls.flatten().find(|call| call["id"] == id);
    call.and_then(|call| call["function"]["name"].as_str()).unwrap_or("nothing")
}

/// The result of a call in a request.
pub(crate) fn result_of(request: &RecordedRequest, id: &str) -> String {
    let message = request.messages().iter().find(|message| message["tool_call_id"] == id);
    message.map(|message| content_text(&message["content"])).unwrap_or_default()
}

/// Compares what the model sees with the snapshot `name`. Ids, folders and times are filtered.
#[track_caller]
pub(crate) fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"\b(ses|msg|prt)_[A-Za-z0-9]+", "${1}_…");
    settings.add_filter(r"\b(frm|plan)-[0-9a-f][0-9a-f-]{7,}", "${1}-…");
    settings.add_filter(r"/\S*/callstack-test-[A-Za-z0-9]+/project", "PROJECT");
    settings.add_filter(r"(?m) after (\d+(ms|[smhd]) ?)+(:|$)", "$3");
    settings.add_filter(r"(?m)^(open for|took): .*$", "$1: …");
    settings.add_filter(r"\*\* \((completed|error), [^)]*\)", "** ($1, …)");
    settings.add_filter(r"\d+ tokens read, \d+ written", "… tokens read, … written");
    settings.add_filter(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME");
    settings.add_filter(r"\b\d+ characters", "… characters");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Walks through successive requests of a session. Where calls of the earlier one are gone in the later one,
/// everything up to and including one message with a push or an activation must be as it was, tool list included, and
/// the first difference must be a result of that message, or a call after the push in it; the ids of these calls are
/// returned. Everywhere else the earlier request must begin the later one.
#[track_caller]
pub(crate) fn folds(requests: &[RecordedRequest]) -> Vec<String> {
    let mut folded = Vec::new();
    for (number, pair) in requests.windows(2).enumerate() {
        let [earlier, later] = pair else { unreachable!() };
        assert_eq!(earlier.raw_tools(), later.raw_tools(), "request {number}: the tool list");
        let (was, is) = (earlier.raw_messages(), later.raw_messages());
        let same = was.iter().zip(is).take_while(|(was, is)| was == is).count();
        if same == was.len() {
            continue;
        }
        let changed = &earlier.messages()[same];
        if changed["role"] == "assistant" {
            folded.push(opening_call(changed, &later.messages()[same], later));
            continue;
        }
        assert_eq!(
            changed["role"],
            "tool",
            "request {number} changed in something else than a push's result:\n{}\n→\n{}",
            seen(earlier),
            seen(later)
        );
        assert_eq!(changed["tool_call_id"], later.messages()[same]["tool_call_id"]);
        let id = changed["tool_call_id"].as_str().unwrap();
        let tool = call_of(earlier, id);
        assert!(
            ["stack_frame_push", "stack_frame_activate"].contains(&tool),
            "request {number} changed the result of {tool}"
        );
        folded.push(id.to_owned());
    }
    folded
}

/// Returns the push or activation after which calls are gone in a message that is otherwise unchanged, or which calls
/// made after the pop have joined with their results.
#[track_caller]
fn opening_call(was: &Value, is: &Value, later: &RecordedRequest) -> String {
    let calls = |message: &Value| message["tool_calls"].as_array().cloned().unwrap_or_default();
    let (had, has) = (calls(was), calls(is));
    let mut is = is.clone();
    is["tool_calls"] = was["tool_calls"].clone();
    assert_eq!(was, &is, "more than calls has changed");
    let same = had.iter().zip(&has).take_while(|(had, has)| had == has).count();
    let has_result =
        |call: &Value| later.messages().iter().any(|it| it["tool_call_id"] == call["id"]);
    assert!(
        has[same..].iter().all(|call| had.contains(call) || has_result(call)),
        "{was} → {has:?}"
    );
    let push = &had[same.checked_sub(1).unwrap()];
    let tool = push["function"]["name"].as_str().unwrap();
    assert!(["stack_frame_push", "stack_frame_activate"].contains(&tool), "{was} → {has:?}");
    push["id"].as_str().unwrap().to_owned()
}

/// Asserts that nothing of the work in a finished frame is left.
#[track_caller]
pub(crate) fn assert_no_work(request: &RecordedRequest) {
    let text = request.render();
    // Evidence names the first lines of a file that can't be parsed.
    let is_evidence = |line: &str| line.trim_start().starts_with("- ") && line.contains(": `+");
    let is_left = text.lines().any(|line| line.contains(WORK) && !is_evidence(line));
    assert!(!is_left, "there is work left:\n{}", seen(request));
}

/// The names and the entries, byte for byte, of the tool list.
pub(crate) fn tools(request: &RecordedRequest) -> Vec<(String, String)> {
    let raw: Vec<Box<serde_json::value::RawValue>> =
        serde_json::from_str(request.raw_tools()).unwrap();
    raw.iter()
        .map(|entry| {
            let value: Value = serde_json::from_str(entry.get()).unwrap();
            (value["function"]["name"].as_str().unwrap().to_owned(), entry.get().to_owned())
        })
        .collect()
}
