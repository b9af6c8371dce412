//! Anthropic Messages: thinking is signed, and stands among the calls where it was thought.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{Unit, call_shown, reasoning_shown, result_shown};
use crate::{
    answer::{Answer, Block, in_parts, named_event},
    check::Violation,
    format::WireFormat,
    request::content_text,
    script::Usage,
};

/// The mark up to which the provider caches. It moves with every request, and is no part of the content.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

#[derive(Deserialize)]
struct RawBody<'a> {
    #[serde(borrow, default)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Vec<RawMessage<'a>>,
}

#[derive(Deserialize)]
struct RawMessage<'a> {
    role: String,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// The blocks of the system prompt and of all messages.
pub(super) fn units(body: &str) -> Result<Vec<Unit>, serde_json::Error> {
    let raw: RawBody<'_> = serde_json::from_str(body)?;
    let mut units = Vec::new();
    if let Some(system) = raw.system {
        content(&mut units, "system", system)?;
    }
    for message in &raw.messages {
        content(&mut units, &message.role, message.content)?;
    }
    Ok(units)
}

/// Content is a text or a list of blocks.
fn content(units: &mut Vec<Unit>, role: &str, content: &RawValue) -> Result<(), serde_json::Error> {
    let raw = |block: &str| format!("{role} {}", block.replace(MARK, ""));
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        let shown = json!({ "role": role, "content": text });
        units.push(Unit { raw: raw(content.get()), shown });
        return Ok(());
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get())?;
    for block in blocks {
        let shown = shown(role, &serde_json::from_str(block.get())?);
        units.push(Unit { raw: raw(block.get()), shown });
    }
    Ok(())
}

fn shown(role: &str, block: &Value) -> Value {
    match block["type"].as_str().unwrap_or_default() {
        "thinking" => {
            reasoning_shown(block["thinking"].as_str().unwrap_or_default(), &block["signature"])
        }
        "redacted_thinking" => reasoning_shown("", &block["data"]),
        "tool_use" => call_shown(&block["id"], &block["name"], &block["input"].to_string().into()),
        "tool_result" => result_shown(&block["tool_use_id"], &block["content"]),
        _ => json!({ "role": role, "content": [block] }),
    }
}

/// Returns the violations for which the provider refuses a request by itself. Indices count messages.
pub(super) fn well_formed(body: &Value) -> Vec<Violation> {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let mut found = Vec::new();
    if messages.first().is_none_or(|first| first["role"] != "user") {
        let role = messages.first().and_then(|first| first["role"].as_str()).unwrap_or("nothing");
        found.push(Violation::FirstNotUser { role: role.to_owned() });
    }
    let mut ids = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let next = messages.get(index + 1).filter(|next| next["role"] == "user");
        let role = message["role"].as_str().unwrap_or("none");
        for text in
            blocks(message, "text").filter(|it| content_text(&json!([it])).trim().is_empty())
        {
            found.push(Violation::EmptyBlock { index, block: text.to_string() });
        }
        match role {
            "assistant" => {
                let answered: Vec<&Value> =
                    next.map(|next| results(next).collect()).unwrap_or_default();
                for call in blocks(message, "tool_use") {
                    let id = call["id"].as_str().unwrap_or_default();
                    if !ids.insert(id) {
                        found.push(Violation::DuplicateCallId { index, id: id.to_owned() });
                    }
                    match answered.iter().filter(|it| it["tool_use_id"] == id).count() {
                        0 => found.push(Violation::CallWithoutResult {
                            index,
                            id: id.to_owned(),
                            tool: call["name"].as_str().unwrap_or_default().to_owned(),
                        }),
                        1 => {}
                        _ => found.push(Violation::DuplicateResult { index, id: id.to_owned() }),
                    }
                }
                if next.is_none() && index + 1 == messages.len() {
                    let text = content_text(&message["content"]).chars().take(120).collect();
                    found.push(Violation::AssistantAtEnd { text });
                }
            }
            "user" => {
                let before = index.checked_sub(1).map(|before| &messages[before]);
                let called = |id: &Value| {
                    before.is_some_and(|it| blocks(it, "tool_use").any(|call| call["id"] == *id))
                };
                for result in results(message).filter(|it| !called(&it["tool_use_id"])) {
                    let id = result["tool_use_id"].as_str().unwrap_or_default().to_owned();
                    found.push(Violation::ResultWithoutCall { index, id });
                }
                let is_late = |pair: &[Value]| {
                    pair[0]["type"] != "tool_result" && pair[1]["type"] == "tool_result"
                };
                if message["content"].as_array().is_some_and(|it| it.windows(2).any(is_late)) {
                    found.push(Violation::LateResult { index });
                }
            }
            // Newer models accept words of the client between the turns.
            "system" if index > 0 => {}
            role => found.push(Violation::UnknownRole { index, role: role.to_owned() }),
        }
    }
    found.extend(begins_without_thinking(body, messages));
    found
}

/// With a fixed budget for thinking, the last answer with calls has to begin with a thinking block.
fn begins_without_thinking(body: &Value, messages: &[Value]) -> Option<Violation> {
    if body["thinking"]["type"] != "enabled" {
        return None;
    }
    let last = messages.last().filter(|last| results(last).next().is_some())?;
    let index = messages.len().checked_sub(2)?;
    let first = messages[index]["content"].get(0)?["type"].as_str().unwrap_or_default();
    let is_thinking = matches!(first, "thinking" | "redacted_thinking");
    (last["role"] == "user" && !is_thinking)
        .then(|| Violation::ReasoningMissing { index, block: first.to_owned() })
}

fn blocks<'a>(message: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter(move |block| block["type"] == kind)
}

fn results(message: &Value) -> impl Iterator<Item = &Value> {
    blocks(message, "tool_result")
}

fn usage(answer: &Answer) -> Value {
    let Usage { prompt_tokens, cached_tokens, .. } = answer.usage;
    let cached = cached_tokens.unwrap_or(0);
    json!({
        "input_tokens": prompt_tokens.saturating_sub(cached),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": answer.usage.completion_tokens,
    })
}

fn stop_reason(answer: &Answer) -> &str {
    let usual = if answer.step.calls.is_empty() { "end_turn" } else { "tool_use" };
    match answer.step.finish.as_deref() {
        Some("length") => "max_tokens",
        Some(named) => named,
        None => usual,
    }
}

fn message(answer: &Answer, content: &[Value], stop: &Value) -> Value {
    json!({
        "id": format!("msg_{}", answer.id),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage(answer),
    })
}

fn block(block: &Block) -> Value {
    match block {
        Block::Reasoning { text, seal } => {
            json!({ "type": "thinking", "thinking": text, "signature": seal })
        }
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Call { id, name, arguments } => {
            let input: Value = serde_json::from_str(arguments).unwrap_or_default();
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
    }
}

/// The answer as the body of one response.
pub(super) fn whole(answer: &Answer) -> Value {
    let content: Vec<Value> = answer.blocks(WireFormat::Messages).iter().map(block).collect();
    message(answer, &content, &json!(stop_reason(answer)))
}

/// The answer as server-sent events.
pub(super) fn events(answer: &Answer) -> Vec<String> {
    let start = message(answer, &[], &Value::Null);
    let mut events = vec![json!({ "type": "message_start", "message": start })];
    for (index, it) in answer.blocks(WireFormat::Messages).iter().enumerate() {
        let mut opened = block(it);
        let mut deltas = Vec::new();
        match it {
            Block::Reasoning { text, seal } => {
                opened["thinking"] = "".into();
                opened["signature"] = "".into();
                deltas.extend(
                    in_parts(text).map(|it| json!({ "type": "thinking_delta", "thinking": it })),
                );
                deltas.push(json!({ "type": "signature_delta", "signature": seal }));
            }
            Block::Text(text) => {
                opened["text"] = "".into();
                deltas.extend(in_parts(text).map(|it| json!({ "type": "text_delta", "text": it })));
            }
            Block::Call { arguments, .. } => {
                opened["input"] = json!({});
                deltas.extend(
                    in_parts(arguments)
                        .map(|it| json!({ "type": "input_json_delta", "partial_json": it })),
                );
            }
        }
        events.push(
            json!({ "type": "content_block_start", "index": index, "content_block": opened }),
        );
        events.extend(
            deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let stop = json!({ "stop_reason": stop_reason(answer), "stop_sequence": null });
    let used = json!({ "output_tokens": answer.usage.completion_tokens });
    events.push(json!({ "type": "message_delta", "delta": stop, "usage": used }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(named_event).collect()
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
