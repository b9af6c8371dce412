//! Chat Completions.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::Unit;
use crate::{
    answer::{Answer, Block, in_parts},
    format::WireFormat,
    script::Usage,
};

#[derive(Deserialize)]
struct RawBody<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

/// The messages of a body.
pub(super) fn units(body: &str) -> Result<Vec<Unit>, serde_json::Error> {
    let raw: RawBody<'_> = serde_json::from_str(body)?;
    let unit = |message: &&RawValue| {
        let shown = serde_json::from_str(message.get())?;
        Ok(Unit { raw: message.get().to_owned(), shown })
    };
    raw.messages.iter().map(unit).collect()
}

fn finish(answer: &Answer) -> &str {
    let usual = if answer.step.calls.is_empty() { "stop" } else { "tool_calls" };
    answer.step.finish.as_deref().unwrap_or(usual)
}

fn usage(answer: &Answer) -> Value {
    let Usage { prompt_tokens, completion_tokens, cached_tokens } = answer.usage;
    json!({
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": { "cached_tokens": cached_tokens.unwrap_or(0) },
    })
}

/// The answer as the body of one response.
pub(super) fn whole(answer: &Answer) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.step.text });
    let mut reasoning = String::new();
    let mut calls = Vec::new();
    for block in answer.blocks(WireFormat::ChatCompletions) {
        match block {
            Block::Reasoning { text, .. } => reasoning.push_str(&text),
            Block::Text(_) => {}
            Block::Call { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": arguments });
                calls.push(json!({ "id": id, "type": "function", "function": function }));
            }
        }
    }
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": format!("chatcmpl-{}", answer.id),
        "object": "chat.completion",
        "created": 0,
        "model": answer.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish(answer) }],
        "usage": usage(answer),
    })
}

/// The answer as server-sent events, the last of which is `[DONE]`.
pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    let mut index = 0;
    for block in answer.blocks(WireFormat::ChatCompletions) {
        match block {
            Block::Reasoning { text, .. } => {
                deltas.extend(in_parts(&text).map(|part| json!({ "reasoning_content": part })));
            }
            Block::Text(text) => {
                deltas.extend(in_parts(&text).map(|part| json!({ "content": part })));
            }
            Block::Call { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": "" });
                let call =
                    json!({ "index": index, "id": id, "type": "function", "function": function });
                deltas.push(json!({ "tool_calls": [call] }));
                deltas.extend(in_parts(&arguments).map(|part| {
                    let call = json!({ "index": index, "function": { "arguments": part } });
                    json!({ "tool_calls": [call] })
                }));
                index += 1;
            }
        }
    }
    let mut events: Vec<String> =
        deltas.into_iter().map(|delta| event(&chunk(answer, &delta, &Value::Null))).collect();
    let mut last = chunk(answer, &json!({}), &json!(finish(answer)));
    last["usage"] = usage(answer);
    events.push(event(&last));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn chunk(answer: &Answer, delta: &Value, finish: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", answer.id),
        "object": "chat.completion.chunk",
        "created": 0,
        "model": answer.model,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    })
}

fn event(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}
