//! The wire formats that the model speaks, a module each, with one interface.
//!
//! A request is read into units, the smallest things that a client puts one after the other: messages of Chat
//! Completions, blocks of content of Anthropic Messages, items of Responses. Each unit has the bytes in which it was
//! sent, and is shown as a message of Chat Completions, so that scripts and checks know one shape.

mod chat;
mod messages;
mod responses;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{answer::Answer, check::Violation};

/// The format of requests and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WireFormat {
    /// `POST /v1/chat/completions`, as `OpenAI` and most others have it.
    #[default]
    ChatCompletions,
    /// `POST /v1/messages`, Anthropic's.
    Messages,
    /// `POST /v1/responses`, `OpenAI`'s newer one.
    Responses,
}

/// One unit of a request.
pub(crate) struct Unit {
    /// As it was sent.
    pub(crate) raw: String,
    /// As a message of Chat Completions. Reasoning has its seal as `seal`.
    pub(crate) shown: Value,
}

#[derive(Deserialize)]
struct RawBody<'a> {
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
}

impl WireFormat {
    /// Whether reasoning is signed or encrypted.
    pub(crate) fn seals(self) -> bool {
        self != Self::ChatCompletions
    }

    /// The tool list of a body, as it was sent.
    pub(crate) fn raw_tools(body: &str) -> Result<String, serde_json::Error> {
        let raw: RawBody<'_> = serde_json::from_str(body)?;
        Ok(raw.tools.map(|tools| tools.get().to_owned()).unwrap_or_default())
    }

    /// The units of a body.
    pub(crate) fn units(self, body: &str) -> Result<Vec<Unit>, serde_json::Error> {
        match self {
            Self::ChatCompletions => chat::units(body),
            Self::Messages => messages::units(body),
            Self::Responses => responses::units(body),
        }
    }

    /// Returns the violations for which the provider would refuse the request by itself.
    pub(crate) fn well_formed(self, body: &Value, shown: &[Value]) -> Vec<Violation> {
        match self {
            Self::ChatCompletions => crate::check::well_formed(shown),
            Self::Messages => messages::well_formed(body),
            Self::Responses => responses::well_formed(shown),
        }
    }

    /// Whether the provider's refusals are answered with an error, and not only reported as violations.
    pub(crate) fn refuses(self) -> bool {
        self != Self::ChatCompletions
    }

    /// The answer as the body of one response.
    pub(crate) fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::ChatCompletions => chat::whole(answer),
            Self::Messages => messages::whole(answer),
            Self::Responses => responses::whole(answer),
        }
    }

    /// The answer as server-sent events.
    pub(crate) fn events(self, answer: &Answer) -> Vec<String> {
        match self {
            Self::ChatCompletions => chat::events(answer),
            Self::Messages => messages::events(answer),
            Self::Responses => responses::events(answer),
        }
    }

    /// An error as the provider writes it.
    pub(crate) fn error(self, message: &str) -> Value {
        match self {
            Self::Messages => {
                json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } })
            }
            _ => json!({ "error": { "message": message, "type": "scripted" } }),
        }
    }
}

fn call_shown(id: &Value, name: &Value, arguments: &Value) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    let call = json!({ "id": id, "type": "function", "function": function });
    json!({ "role": "assistant", "content": "", "tool_calls": [call] })
}

fn result_shown(id: &Value, content: &Value) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": content })
}

fn reasoning_shown(text: &str, seal: &Value) -> Value {
    json!({ "role": "assistant", "content": "", "reasoning_content": text, "seal": seal })
}
