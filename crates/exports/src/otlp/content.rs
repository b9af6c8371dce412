//! The content of messages, in the shape of the conventions; only where it is asked for.

use callstack_core::trace::Step;
use serde_json::{Value, json};

/// Returns the answer of a call of the model: one message with its words and its calls of tools.
pub(super) fn output(step: &Step) -> Option<String> {
    let call = step.call.as_ref()?;
    let words = call.words.as_ref()?;
    let mut parts: Vec<Value> = Vec::new();
    if !words.is_empty() {
        parts.push(json!({"type": "text", "content": words}));
    }
    for tool in &step.tools {
        let arguments = tool.has_content.then_some(&tool.call.input);
        parts.push(json!({
            "type": "tool_call", "id": tool.call.id, "name": tool.call.tool, "arguments": arguments,
        }));
    }
    let finish = call.finish.as_deref().unwrap_or("stop");
    let message = json!({"role": "assistant", "parts": parts, "finish_reason": finish});
    Some(json!([message]).to_string())
}
