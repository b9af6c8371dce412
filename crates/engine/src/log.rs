//! What was said and done in a frame, from the messages that are kept.

use std::fmt::Write as _;

use callstack_core::frame::Frame;
use callstack_core::transcript::Span;
use callstack_store::StoredMessage;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// The frames that a session works in, the root first and the active one last.
    pub fn stack(&self, session: &str) -> Result<Vec<Frame>, EngineError> {
        self.store.read(|view| {
            let Some(active) = view.session_row(session)?.and_then(|session| session.active) else {
                return Ok(Vec::new());
            };
            let mut stack = vec![view.frame(active)?];
            stack.extend(view.ancestors(active)?);
            stack.reverse();
            Ok(stack)
        })
    }

    /// The newest version of every message of a session, in order of first appearance.
    pub fn messages(&self, session: &str) -> Result<Vec<StoredMessage>, EngineError> {
        self.store.read(|view| Ok(view.messages(session)?))
    }

    /// The spans of a session, those that were undone among them.
    pub fn spans(&self, session: &str) -> Result<Vec<Span>, EngineError> {
        self.store.read(|view| Ok(view.session_spans(session)?))
    }

    /// The messages of a frame's spans, in order; a root's are all those of its session.
    pub fn log(&self, frame: &Frame) -> Result<Vec<StoredMessage>, EngineError> {
        self.store.read(|view| {
            let mut log = Vec::new();
            for span in view.frame_spans(frame.num)? {
                let messages = view.messages(&span.session)?;
                let place = |id: &Option<String>| {
                    id.as_ref().and_then(|id| messages.iter().position(|message| message.id == *id))
                };
                let first = place(&span.open.message).map_or(0, |at| at + 1);
                let last = span
                    .live_close()
                    .and_then(|close| place(&close.message))
                    .map_or(messages.len(), |at| at + 1);
                log.extend(messages.into_iter().take(last).skip(first));
            }
            Ok(log)
        })
    }
}

/// A message of a host as text: its role, its words, its calls with their results. What has another
/// shape is shown as it is.
pub(crate) fn readable(message: &Value) -> String {
    let mut text = String::new();
    let role = message["info"]["role"].as_str().unwrap_or("message");
    // Writing to a string can't fail.
    let _ = writeln!(text, "{role}:");
    let Some(parts) = message["parts"].as_array() else { return message.to_string() };
    for part in parts {
        let _ = match part["type"].as_str() {
            Some("text") => writeln!(text, "{}", part["text"].as_str().unwrap_or_default()),
            Some("reasoning") => {
                writeln!(text, "(reasoning) {}", part["text"].as_str().unwrap_or_default())
            }
            Some("tool") => {
                let state = &part["state"];
                let result = state["output"].as_str().or_else(|| state["error"].as_str());
                writeln!(
                    text,
                    "{} {}\n→ {}",
                    part["tool"].as_str().unwrap_or("tool"),
                    state["input"],
                    result.unwrap_or("(no result)")
                )
            }
            Some("file") => {
                writeln!(text, "(file {})", part["filename"].as_str().unwrap_or("without a name"))
            }
            _ => Ok(()),
        };
    }
    text.trim_end().to_owned()
}

/// What an agent says in a message of a host: its last text. None if it says nothing, or is no agent.
pub(crate) fn said(json: &str) -> Option<String> {
    let message: Value = serde_json::from_str(json).ok()?;
    if message["info"]["role"] != "assistant" {
        return None;
    }
    let texts = message["parts"].as_array()?.iter().filter(|part| part["type"] == "text");
    let mut texts = texts.filter_map(|part| part["text"].as_str().map(str::trim));
    texts.rfind(|text| !text.is_empty()).map(str::to_owned)
}
