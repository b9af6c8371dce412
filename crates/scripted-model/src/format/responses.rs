//! `OpenAI` Responses: the request is a list of items; reasoning is encrypted and belongs to the item after it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{Unit, call_shown, reasoning_shown, result_shown};
use crate::{
    answer::{Answer, Block, in_parts, named_event},
    check::Violation,
    format::WireFormat,
    script::Usage,
};

#[derive(Deserialize)]
struct RawBody<'a> {
    #[serde(borrow, default)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Vec<&'a RawValue>,
}

/// The instructions and the items of a body.
pub(super) fn units(body: &str) -> Result<Vec<Unit>, serde_json::Error> {
    let raw: RawBody<'_> = serde_json::from_str(body)?;
    let mut units = Vec::new();
    if let Some(instructions) = raw.instructions {
        let text: Value = serde_json::from_str(instructions.get())?;
        let shown = json!({ "role": "system", "content": text });
        units.push(Unit { raw: instructions.get().to_owned(), shown });
    }
    for item in raw.input {
        let shown = shown(&serde_json::from_str(item.get())?);
        units.push(Unit { raw: item.get().to_owned(), shown });
    }
    Ok(units)
}

fn shown(item: &Value) -> Value {
    let mut shown = match item["type"].as_str().unwrap_or("message") {
        "reasoning" => {
            let summary = item["summary"].as_array().into_iter().flatten();
            let text: String = summary.filter_map(|part| part["text"].as_str()).collect();
            reasoning_shown(&text, &item["encrypted_content"])
        }
        "function_call" => call_shown(&item["call_id"], &item["name"], &item["arguments"]),
        "function_call_output" => result_shown(&item["call_id"], &item["output"]),
        _ => {
            let role = match item["role"].as_str() {
                Some("developer") => "system",
                role => role.unwrap_or("none"),
            };
            json!({ "role": role, "content": item["content"] })
        }
    };
    shown["item"] = item["id"].clone();
    shown
}

/// Returns the violations for which the provider refuses a request by itself. Indices count items.
pub(super) fn well_formed(shown: &[Value]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut open: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    let mut answered: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, item) in shown.iter().enumerate() {
        let is_reasoning = item["reasoning_content"].is_string();
        let next = shown.get(index + 1);
        if is_reasoning && next.is_none_or(|next| next["role"] != "assistant") {
            let reasoning = item["reasoning_content"].as_str().unwrap_or_default().to_owned();
            found.push(Violation::ReasoningAlone { index, reasoning });
        }
        if let Some(call) = item["tool_calls"].get(0) {
            let id = call["id"].as_str().unwrap_or_default();
            let tool = call["function"]["name"].as_str().unwrap_or_default();
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            if serde_json::from_str::<Value>(arguments).is_err() {
                found.push(Violation::BadArguments { index, id: id.to_owned() });
            }
            if answered.contains_key(id) || open.insert(id, (index, tool)).is_some() {
                found.push(Violation::DuplicateCallId { index, id: id.to_owned() });
            }
            // An item that the model made has the reasoning after which it was made in its id.
            let wants = item["item"].as_str().and_then(|it| it.split_once("-behind-"));
            if let Some((_, reasoning)) = wants
                && !shown[..index].iter().any(|it| it["item"] == format!("rs_{reasoning}"))
            {
                found.push(Violation::ReasoningMissing { index, block: format!("call {id}") });
            }
        } else if let Some(id) = item["tool_call_id"].as_str() {
            if open.remove(id).is_some() {
                answered.insert(id, index);
            } else if answered.contains_key(id) {
                found.push(Violation::DuplicateResult { index, id: id.to_owned() });
            } else {
                found.push(Violation::ResultWithoutCall { index, id: id.to_owned() });
            }
        }
    }
    found.extend(open.into_iter().map(|(id, (index, tool))| Violation::CallWithoutResult {
        index,
        id: id.to_owned(),
        tool: tool.to_owned(),
    }));
    found
}

fn usage(answer: &Answer) -> Value {
    let Usage { prompt_tokens, completion_tokens, cached_tokens } = answer.usage;
    json!({
        "input_tokens": prompt_tokens,
        "input_tokens_details": { "cached_tokens": cached_tokens.unwrap_or(0) },
        "output_tokens": completion_tokens,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": prompt_tokens + completion_tokens,
    })
}

/// Returns the items of an answer. The id of a call that was made after reasoning names the reasoning.
fn items(answer: &Answer) -> Vec<Value> {
    let mut reasoning_before = None;
    let blocks = answer.blocks(WireFormat::Responses);
    let item = |(place, block): (usize, &Block)| {
        let name = format!("{}_{place}", answer.id);
        match block {
            Block::Reasoning { text, seal } => {
                reasoning_before = Some(name.clone());
                let summary = json!([{ "type": "summary_text", "text": text }]);
                json!({
                    "id": format!("rs_{name}"), "type": "reasoning", "summary": summary,
                    "encrypted_content": seal,
                })
            }
            Block::Text(text) => json!({
                "id": format!("msg_{name}"), "type": "message", "role": "assistant",
                "status": "completed",
                "content": [{ "type": "output_text", "text": text, "annotations": [] }],
            }),
            Block::Call { id, name: tool, arguments } => {
                let item = match reasoning_before.take() {
                    Some(reasoning) => format!("fc_{name}-behind-{reasoning}"),
                    None => format!("fc_{name}"),
                };
                let mut call = json!({
                    "id": item, "type": "function_call", "status": "completed", "call_id": id,
                    "name": tool, "arguments": arguments,
                });
                if let Some((namespace, tool)) = tool.split_once('.') {
                    call["namespace"] = namespace.into();
                    call["name"] = tool.into();
                }
                call
            }
        }
    };
    blocks.iter().enumerate().map(item).collect()
}

fn response(answer: &Answer, status: &str, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_{}", answer.id),
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": answer.model,
        "output": output,
        "incomplete_details": (answer.step.finish.as_deref() == Some("length"))
            .then(|| json!({ "reason": "max_output_tokens" })),
        "usage": (status != "in_progress").then(|| usage(answer)),
    })
}

/// The answer as the body of one response.
pub(super) fn whole(answer: &Answer) -> Value {
    response(answer, "completed", &items(answer))
}

/// The answer as server-sent events.
pub(super) fn events(answer: &Answer) -> Vec<String> {
    let items = items(answer);
    let begun = response(answer, "in_progress", &[]);
    let mut events = vec![json!({ "type": "response.created", "response": begun })];
    for (index, item) in items.iter().enumerate() {
        events.extend(item_events(index, item));
    }
    let ended = response(answer, "completed", &items);
    events.push(json!({ "type": "response.completed", "response": ended }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events.iter().map(named_event).collect()
}

fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let id = &item["id"];
    let mut added = item.clone();
    added["status"] = "in_progress".into();
    let mut events = Vec::new();
    let event = |kind: &str, more: Value| {
        let mut event = json!({ "type": kind, "item_id": id, "output_index": index });
        if let (Value::Object(event), Value::Object(more)) = (&mut event, more) {
            event.extend(more);
        }
        event
    };
    match item["type"].as_str().unwrap_or_default() {
        "reasoning" => {
            added["summary"] = json!([]);
            let text = item["summary"][0]["text"].as_str().unwrap_or_default();
            let part = json!({ "type": "summary_text", "text": "" });
            let place = json!({ "summary_index": 0, "part": part });
            events.push(event("response.reasoning_summary_part.added", place));
            events.extend(in_parts(text).map(|delta| {
                let delta = json!({ "summary_index": 0, "delta": delta });
                event("response.reasoning_summary_text.delta", delta)
            }));
            let part = json!({ "summary_index": 0, "part": item["summary"][0] });
            events.push(event("response.reasoning_summary_part.done", part));
        }
        "message" => {
            added["content"] = json!([]);
            let text = item["content"][0]["text"].as_str().unwrap_or_default();
            events.extend(in_parts(text).map(|delta| {
                let delta = json!({ "content_index": 0, "delta": delta });
                event("response.output_text.delta", delta)
            }));
        }
        _ => {
            added["arguments"] = "".into();
            let arguments = item["arguments"].as_str().unwrap_or_default();
            events.extend(in_parts(arguments).map(|delta| {
                event("response.function_call_arguments.delta", json!({ "delta": delta }))
            }));
            let whole = json!({ "arguments": arguments });
            events.push(event("response.function_call_arguments.done", whole));
        }
    }
    let begin =
        json!({ "type": "response.output_item.added", "output_index": index, "item": added });
    let end = json!({ "type": "response.output_item.done", "output_index": index, "item": item });
    [vec![begin], events, vec![end]].concat()
}

#[cfg(test)]
#[path = "responses_tests.rs"]
mod tests;
