//! The engine's answers and refusals as results of tool calls.

use callstack_engine::EngineError;
use callstack_engine::operation::Answer;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

/// The most bytes of data that go with an answer. Clients show them to their model, which pays for them, and refuse
/// results that are too long.
const LONGEST_DATA: usize = 16 * 1024;

/// The name under which the structured content holds the text.
const TEXT: &str = "text";

/// Returns the result of a call that was answered.
pub(crate) fn answered(answer: Answer) -> CallToolResult {
    // Claude Code and Codex show their model the structured content alone.
    let mut content = Map::from_iter([(TEXT.to_owned(), Value::from(answer.text.as_str()))]);
    match answer.data {
        data if data.to_string().len() > LONGEST_DATA => {}
        Value::Object(data) => {
            content.extend(data.into_iter().filter(|(name, _)| name != TEXT));
        }
        Value::Null => {}
        other => drop(content.insert("items".to_owned(), other)),
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
    result.structured_content = Some(content.into());
    result
}

/// Returns the result of a call that was refused: an answer that the model can act on.
pub(crate) fn refused(error: &EngineError) -> CallToolResult {
    let text = format!("Error: {}", error.sentence());
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({
        "error": error.kind.as_str(),
        "message": error.message,
        "hint": error.hint.as_ref().map(ToString::to_string),
    }));
    result
}
