//! A request as it came in, and ways to look at it.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::SystemTime,
};

use serde_json::Value;
use thiserror::Error;

use crate::format::{Unit, WireFormat};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// An agent's turn: there is a tool list.
    Agent,
    /// `OpenCode` wants a title for a session.
    Title,
    /// `OpenCode` wants a session summarised.
    Compaction,
    /// Anything else without tools.
    Other,
}

/// A request that could not be read.
#[derive(Debug, Error)]
#[error(
    "the request's body is none of the wire format of its path: {0}; send JSON with `model` and a \
     `messages` list, or an `input` list to `/v1/responses`"
)]
pub struct InvalidRequest(#[from] serde_json::Error);

/// One request as the model got it.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// Its format.
    pub format: WireFormat,
    /// Who asks.
    pub kind: RequestKind,
    /// The session (header `x-session-id`), empty when the client names none.
    pub session: String,
    /// The session's parent (header `x-parent-session-id`).
    pub parent: Option<String>,
    /// The headers whose names begin with `x-`, and `user-agent`, in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
    /// The time at which it arrived.
    pub at: SystemTime,
    messages: Vec<Value>,
    raw_messages: Vec<String>,
    raw_tools: String,
    prefix_hashes: Vec<u64>,
}

impl RecordedRequest {
    /// Reads the body of a chat completion. `headers` are names in lower case and values.
    pub fn parse(headers: Vec<(String, String)>, body: &str) -> Result<Self, InvalidRequest> {
        Self::parse_as(WireFormat::ChatCompletions, headers, body)
    }

    /// Reads a request's body, keeping the bytes of its messages as they are.
    pub fn parse_as(
        format: WireFormat,
        headers: Vec<(String, String)>,
        body: &str,
    ) -> Result<Self, InvalidRequest> {
        let value: Value = serde_json::from_str(body)?;
        let units = format.units(body)?;
        let (messages, raw_messages): (Vec<Value>, Vec<String>) =
            units.into_iter().map(|Unit { raw, shown }| (shown, raw)).unzip();
        let mut hasher = DefaultHasher::new();
        let mut prefix_hashes = vec![hasher.finish()];
        for message in &raw_messages {
            message.hash(&mut hasher);
            prefix_hashes.push(hasher.finish());
        }
        let header = |name: &str| {
            headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
        };
        Ok(Self {
            format,
            kind: kind_of(&value, &messages),
            session: header("x-session-id").unwrap_or_default(),
            parent: header("x-parent-session-id"),
            headers,
            body: value,
            at: SystemTime::now(),
            raw_tools: WireFormat::raw_tools(body)?,
            messages,
            raw_messages,
            prefix_hashes,
        })
    }

    /// The messages. Those of Anthropic Messages and Responses are taken apart: each block or item is shown
    /// as a message of Chat Completions, reasoning with what it is sealed with as `seal`.
    pub fn messages(&self) -> &[Value] {
        &self.messages
    }

    /// The tool list.
    pub fn tools(&self) -> &[Value] {
        array(&self.body, "tools")
    }

    /// Each message exactly as it was sent, without marks for the cache.
    pub fn raw_messages(&self) -> &[String] {
        &self.raw_messages
    }

    /// The tool list exactly as it was sent; empty when there is none.
    pub fn raw_tools(&self) -> &str {
        &self.raw_tools
    }

    /// A fingerprint of the first `count` messages' bytes; `None` when there are fewer.
    pub fn prefix_hash(&self, count: usize) -> Option<u64> {
        self.prefix_hashes.get(count).copied()
    }

    /// Returns the bytes that a provider's prompt cache sees, in its order: the tool list, then the messages.
    pub fn cacheable_bytes(&self) -> String {
        let mut text = self.raw_tools.clone();
        for message in &self.raw_messages {
            text.push('\n');
            text.push_str(message);
        }
        text
    }

    /// The estimated size of tool list and messages, in tokens.
    pub fn token_estimate(&self) -> u64 {
        estimate_tokens(&self.cacheable_bytes())
    }

    /// The ids of all tool calls in it.
    pub fn call_ids(&self) -> BTreeSet<&str> {
        self.messages().iter().flat_map(calls_of).filter_map(|call| call["id"].as_str()).collect()
    }

    /// The text of the first user message.
    pub fn first_user_text(&self) -> Option<String> {
        self.messages().iter().find(|m| m["role"] == "user").map(|m| content_text(&m["content"]))
    }

    /// The text of the newest user message.
    pub fn last_user_text(&self) -> Option<String> {
        self.messages().iter().rfind(|m| m["role"] == "user").map(|m| content_text(&m["content"]))
    }

    /// The newest tool result.
    pub fn last_tool_text(&self) -> Option<String> {
        self.messages().iter().rfind(|m| m["role"] == "tool").map(|m| content_text(&m["content"]))
    }

    /// The result of the newest call of the tool `name`.
    pub fn last_result_of(&self, name: &str) -> Option<String> {
        let id = self
            .messages()
            .iter()
            .flat_map(calls_of)
            .rfind(|call| call["function"]["name"] == name)?["id"]
            .as_str()?;
        self.messages()
            .iter()
            .rfind(|m| m["role"] == "tool" && m["tool_call_id"] == id)
            .map(|m| content_text(&m["content"]))
    }

    /// The last word in the tool results, newest result first, that `matches`. A word is a run
    /// of letters, digits, `-` and `_`.
    pub fn last_word(&self, matches: impl Fn(&str) -> bool) -> Option<String> {
        self.messages().iter().rev().filter(|m| m["role"] == "tool").find_map(|m| {
            content_text(&m["content"])
                .split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
                .rfind(|word| !word.is_empty() && matches(word))
                .map(str::to_owned)
        })
    }

    /// [`Self::last_word`] by its beginning: `plan-` finds the id of the frame planned last.
    pub fn last_word_with_prefix(&self, prefix: &str) -> Option<String> {
        self.last_word(|word| word.len() > prefix.len() && word.starts_with(prefix))
    }

    /// The messages as text for people: roles, reasoning, calls, results.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for message in self.messages() {
            let role = message["role"].as_str().unwrap_or("?");
            let id =
                message["tool_call_id"].as_str().map(|id| format!(" {id}")).unwrap_or_default();
            if let Some(reasoning) = reasoning_of(message) {
                push_line(&mut out, &format!("[{role} reasoning] {reasoning}"));
            }
            let text = content_text(&message["content"]);
            let is_sealed = message["seal"].is_string();
            if !text.is_empty() || (!is_sealed && calls_of(message).next().is_none()) {
                push_line(&mut out, &format!("[{role}{id}] {text}"));
            }
            for call in calls_of(message) {
                let name = call["function"]["name"].as_str().unwrap_or("?");
                let arguments = call["function"]["arguments"].as_str().unwrap_or("?");
                let id = call["id"].as_str().unwrap_or("?");
                push_line(&mut out, &format!("[{role} call {id}] {name}({arguments})"));
            }
        }
        out
    }
}

fn push_line(out: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{line}");
}

fn array<'a>(body: &'a Value, key: &str) -> &'a [Value] {
    body.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn calls_of(message: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    array(message, "tool_calls").iter()
}

pub(crate) fn reasoning_of(message: &Value) -> Option<&str> {
    message["reasoning_content"].as_str().filter(|text| !text.is_empty())
}

/// The text of a message's `content`, which is a string, or a list of parts of which the text
/// ones count.
pub fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Estimates the tokens of a text: a quarter of its bytes.
pub fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// Returns the number of bytes that two requests share at their beginning, in the order in which a provider caches
/// them ([`RecordedRequest::cacheable_bytes`]).
pub fn prefix_common_bytes(a: &RecordedRequest, b: &RecordedRequest) -> usize {
    let (a, b) = (a.cacheable_bytes(), b.cacheable_bytes());
    a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count()
}

fn kind_of(body: &Value, messages: &[Value]) -> RequestKind {
    if !array(body, "tools").is_empty() {
        return RequestKind::Agent;
    }
    let system_begins = |opening: &str| {
        messages
            .iter()
            .filter(|m| m["role"] == "system")
            .any(|m| content_text(&m["content"]).starts_with(opening))
    };
    if system_begins("You are a title generator.") {
        RequestKind::Title
    } else if system_begins("You are a context summarization agent.") {
        RequestKind::Compaction
    } else {
        RequestKind::Other
    }
}
