//! The records in the user's place in a Claude Code session: the user's own words, results of calls, and texts of the
//! program.

use serde_json::Value;

use super::super::RecordedPart;
use super::super::tools::{taken, text, words};

/// The content of a user record.
#[derive(Default)]
pub(super) struct Said {
    pub(super) parts: Vec<RecordedPart>,
    /// Results by the ids of their calls.
    pub(super) results: Vec<(String, Value)>,
    /// Whether it says that the user stopped the agent.
    pub(super) interrupted: bool,
    /// The kinds of unknown content.
    pub(super) unknown: Vec<String>,
}

/// Reads a user record's content. `meta` where the record says that the program wrote all of it: text without such a
/// mark is the user's, however it is worded.
pub(super) fn said(content: Value, meta: bool) -> Said {
    let mut said = Said::default();
    match content {
        Value::String(text) => said.text(text, meta),
        Value::Array(parts) => {
            for mut part in parts {
                match text(&part["type"]) {
                    "tool_result" => {
                        let call = text(&part["tool_use_id"]).to_owned();
                        said.results.push((call, part));
                    }
                    "text" => {
                        if let Value::String(text) = taken(&mut part, "text") {
                            said.text(text, meta);
                        }
                    }
                    "image" | "document" => {
                        let source = &part["source"];
                        let name = text(&part["title"]).to_owned();
                        let mime = text(&source["media_type"]).to_owned();
                        said.parts.push(RecordedPart::File { name, mime });
                    }
                    kind => said.unknown.push(kind.to_owned()),
                }
            }
        }
        _ => said.unknown.push(String::new()),
    }
    said
}

impl Said {
    fn text(&mut self, text: String, meta: bool) {
        // No record has a mark of it.
        self.interrupted |= text.starts_with("[Request interrupted by user");
        if !text.is_empty() {
            self.parts.push(words(text, meta));
        }
    }
}
