//! Effects: actions that the engine asks a host to perform, since some can only be done from inside the agent's
//! program.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that a host does for the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Effect {
    /// Start a session below another one. Its outcome is `{session}`, the new one's id.
    CreateSession {
        /// The session that it belongs to.
        parent: String,
        /// Its title.
        title: String,
    },
    /// Prompt a session's agent. Where the host waits for it, its outcome is `{text}`, the agent's last words.
    Prompt {
        /// The session.
        session: String,
        /// The text.
        text: String,
        /// The agent that is meant, where the session has had none yet.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The session whose model is to be used, where this one has had none yet.
        #[serde(skip_serializing_if = "Option::is_none")]
        like: Option<String>,
        /// Whether to wait until the agent has fallen silent.
        wait: bool,
    },
    /// Compact a session.
    Summarize {
        /// The session.
        session: String,
    },
    /// Wait, for something that goes on outside the calls.
    Wait {
        /// Milliseconds.
        ms: u64,
    },
    /// Stop the agent of a session.
    Abort {
        /// The session.
        session: String,
    },
}

/// The outcome of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectOutcome {
    /// It was done, and gave this.
    Ok(Value),
    /// It could not be done.
    Error {
        /// Why.
        message: String,
        /// Whether somebody stopped it.
        #[serde(default)]
        aborted: bool,
    },
}

/// An effect that an answer has to wait for.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// The action of the host.
    pub effect: Effect,
    /// All that is needed to continue afterwards, in whichever process.
    pub token: Value,
}

/// The effects that the engine asks for after an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// Effects in this order; nobody waits for them.
    pub effects: Vec<Effect>,
    /// The time at which to call [`crate::Engine::wake`], in milliseconds since 1970.
    pub wake_at: Option<i64>,
}
