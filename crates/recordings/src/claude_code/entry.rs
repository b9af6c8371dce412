//! One record of a Claude Code session.

use serde_json::{Value, json};

use super::super::RecordedPart;
use super::super::Usage;
use super::super::tools::{kind, taken, text, texts, time, words};
use super::said;

/// A record, as far as it matters.
pub(super) struct Entry {
    pub(super) uuid: String,
    pub(super) parent: Option<String>,
    /// The subagent that wrote it.
    pub(super) agent: Option<String>,
    pub(super) at: Option<i64>,
    pub(super) what: What,
    pub(super) raw: String,
}

pub(super) enum What {
    /// A line of an answer.
    Assistant {
        message: String,
        model: Option<String>,
        usage: Option<Usage>,
        content: Vec<Value>,
        /// The provider answered with an error, which stands in place of the model's answer.
        failed: bool,
    },
    User {
        content: Value,
        /// Whether the program wrote it.
        meta: bool,
        /// Whether a compaction left it.
        summary: bool,
        answered: Answered,
    },
    /// Something that the program showed the model.
    Attachment { parts: Vec<RecordedPart> },
    /// Here the conversation was compacted.
    Boundary { kept: Option<Kept> },
    /// Nothing but a link of the tree.
    Link,
}

/// Records that a compaction kept, by their ids.
pub(super) struct Kept {
    pub(super) first: String,
    pub(super) last: String,
    /// The record that the first of them now follows: the summary, or the boundary itself.
    pub(super) anchor: String,
}

/// The program's notes on the answer of a call, beside the text that the model read.
#[derive(Clone, Debug, Default)]
pub(super) struct Answered {
    /// The task that was made.
    pub(super) task: Option<String>,
    /// Whether it says of itself that it was not done.
    pub(super) refused: bool,
    pub(super) in_background: bool,
    /// The file before an edit, as the record has it.
    pub(super) original: Value,
}

impl Entry {
    /// Reads a record; of one that is not known, its kind.
    pub(super) fn read(raw: String, mut value: Value) -> Result<Self, String> {
        let mut entry = Self::link(&value);
        entry.what = match text(&value["type"]) {
            "assistant" => {
                let mut message = taken(&mut value, "message");
                What::Assistant {
                    message: text(&message["id"]).to_owned(),
                    model: message["model"].as_str().map(str::to_owned),
                    usage: super::usage(&message["usage"]),
                    content: match taken(&mut message, "content") {
                        Value::Array(parts) => parts,
                        Value::String(text) => {
                            vec![serde_json::json!({"type": "text", "text": text})]
                        }
                        _ => Vec::new(),
                    },
                    failed: value["isApiErrorMessage"] == true,
                }
            }
            "user" => What::User {
                content: taken(&mut taken(&mut value, "message"), "content"),
                meta: value["isMeta"] == true || is_of_another(&value["origin"]),
                summary: value["isCompactSummary"] == true,
                answered: answered(&value["toolUseResult"]),
            },
            "attachment" => {
                let attachment = &value["attachment"];
                let parts = attached(attachment);
                if parts.is_empty() { What::Link } else { What::Attachment { parts } }
            }
            "system" if value["subtype"] == "compact_boundary" => {
                What::Boundary { kept: kept(&value["compactMetadata"]) }
            }
            _ if entry.uuid.is_empty() => return Err(kind(&value)),
            _ => What::Link,
        };
        if matches!(entry.what, What::Link) {
            // Only its place in the tree counts: the bytes would be kept for nothing.
            entry.raw = kind(&value);
        } else {
            entry.raw = raw;
        }
        Ok(entry)
    }

    /// The id of the message that it is a record of.
    pub(super) fn message(&self) -> &str {
        match &self.what {
            What::Assistant { message, .. } if !message.is_empty() => message,
            _ => &self.uuid,
        }
    }

    /// The place of a record in the tree.
    pub(super) fn link(value: &Value) -> Self {
        let field = |name: &str| value[name].as_str().map(str::to_owned);
        Self {
            uuid: field("uuid").unwrap_or_default(),
            parent: field("parentUuid").or_else(|| field("logicalParentUuid")),
            agent: field("agentId"),
            at: time(&value["timestamp"]),
            what: What::Link,
            raw: String::new(),
        }
    }
}

/// Whether a record says that its text is not a human's.
fn is_of_another(origin: &Value) -> bool {
    origin["kind"].as_str().is_some_and(|kind| kind != "human")
}

/// The records are listed, or, by older versions, named by their ends.
fn kept(compaction: &Value) -> Option<Kept> {
    let (listed, ends) = (&compaction["preservedMessages"], &compaction["preservedSegment"]);
    let (first, last, anchor) = match listed["uuids"].as_array().map(Vec::as_slice) {
        Some([first, .., last]) => (first, last, &listed["anchorUuid"]),
        Some([only]) => (only, only, &listed["anchorUuid"]),
        _ => (&ends["headUuid"], &ends["tailUuid"], &ends["anchorUuid"]),
    };
    Some(Kept {
        first: first.as_str()?.to_owned(),
        last: last.as_str()?.to_owned(),
        anchor: text(anchor).to_owned(),
    })
}

fn answered(result: &Value) -> Answered {
    Answered {
        task: result["task"]["id"].as_str().map(str::to_owned),
        refused: result["success"] == false,
        in_background: result["backgroundTaskId"].is_string() || result["interrupted"] == true,
        original: noted_in(result),
    }
}

/// Returns the notes of an edit's result: the file before it, or that there was none.
pub fn noted_in(result: &Value) -> Value {
    match &result["originalFile"] {
        Value::Null if result["type"] != "create" => Value::Null,
        Value::Null => json!({ "exists": false }),
        file => json!({ "originalFile": file }),
    }
}

/// Returns the parts of an attachment that the model is shown. Unknown attachments are skipped.
fn attached(attachment: &Value) -> Vec<RecordedPart> {
    let shown = match text(&attachment["type"]) {
        "queued_command" => return said::said(attachment["prompt"].clone(), false).parts,
        "nested_memory" => texts(&attachment["content"]["content"]),
        "file" | "already_read_file" | "compact_file_reference" => {
            let name = text(&attachment["filename"]).to_owned();
            let content = texts(&attachment["content"]["file"]["content"]);
            // In a record of its own, which is no message of the user's.
            format!("{name}\n{content}").trim().to_owned()
        }
        "edited_text_file" => texts(&attachment["snippet"]),
        "skill_listing"
        | "hook_success"
        | "hook_additional_context"
        | "invoked_skills"
        | "plan_file_reference"
        | "critical_system_reminder"
        | "output_style" => texts(&attachment["content"]),
        "deferred_tools_delta" | "agent_listing_delta" => texts(&attachment["addedLines"]),
        "mcp_instructions_delta" => texts(&attachment["addedBlocks"]),
        _ => String::new(),
    };
    if shown.trim().is_empty() { Vec::new() } else { vec![words(shown, true)] }
}
