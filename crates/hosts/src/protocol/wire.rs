//! Lines of the protocol, and the parameters of its methods.

use callstack_engine::effect::EffectOutcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The version of the protocol. It is raised when an older plugin would misunderstand it.
pub const VERSION: u32 = 1;

/// A line from the plugin. One without an id is a notification and is not answered.
#[derive(Debug, Deserialize)]
pub(super) struct Request<'a> {
    pub(super) id: Option<u64>,
    pub(super) method: String,
    /// Borrowed, like messages: the first `sync` of a session is as long as the whole session.
    #[serde(default, borrow)]
    pub(super) params: Option<&'a RawValue>,
}

/// A line to the plugin.
#[derive(Debug, Serialize)]
pub(super) struct Response {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Result(Value),
    Error { kind: &'static str, message: String, hint: Option<String> },
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) session: String,
    #[serde(default, rename = "message")]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) text: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Command {
    pub(super) session: String,
    pub(super) message: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: String,
    #[serde(default)]
    pub(super) text: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sync<'a> {
    pub(super) session: String,
    #[serde(default)]
    pub(super) purpose: Purpose,
    pub(super) keep: usize,
    #[serde(default, borrow)]
    pub(super) messages: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    pub(super) ops: usize,
    #[serde(default)]
    pub(super) applied: i64,
    #[serde(default)]
    pub(super) newest: i64,
}

#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Purpose {
    #[default]
    Turn,
    Compaction,
}

#[derive(Debug, Deserialize)]
pub(super) struct System {
    pub(super) session: String,
    #[serde(default)]
    pub(super) model: Model,
    #[serde(default)]
    pub(super) head: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Model {
    #[serde(default)]
    pub(super) context: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OfSession {
    pub(super) session: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Tool {
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Value,
    pub(super) session: String,
    pub(super) message: Option<String>,
    pub(super) call: Option<String>,
    #[serde(default)]
    pub(super) agent: Option<String>,
    /// Whether it was made before, to a process that ended without an answer.
    #[serde(default)]
    pub(super) again: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Continue {
    pub(super) token: Value,
    pub(super) outcome: EffectOutcome,
    #[serde(flatten)]
    pub(super) tool: Tool,
}

#[derive(Debug, Deserialize)]
pub(super) struct After {
    pub(super) session: String,
    #[serde(default)]
    pub(super) call: Option<String>,
    #[serde(default)]
    pub(super) args: Value,
    #[serde(default)]
    pub(super) metadata: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct Record<'a> {
    pub(super) session: String,
    #[serde(default, borrow)]
    pub(super) messages: Option<Vec<&'a RawValue>>,
}
