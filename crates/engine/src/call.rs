//! A call on callstack: on whose behalf it is made, and what it is answered.

use callstack_core::frame::FrameNum;
use callstack_core::results::ResultsSource;
use callstack_core::transcript::Anchor;
use serde_json::Value;

use crate::effect::{Effect, Next};

/// On whose behalf an operation runs.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The session whose active frame is meant where none is named.
    pub session: String,
    /// The program that the session belongs to, for instance `opencode`.
    pub host: String,
    /// The call, as the session's transcript will show it.
    pub anchor: Anchor,
    /// What the host calls the agent that asks, where it has several.
    pub agent: Option<String>,
    /// Whether the host performs effects.
    pub performs: bool,
}

/// The host's name for a person at a terminal.
pub(crate) const TERMINAL: &str = "cli";

impl Caller {
    /// Whether it is a person at a terminal, whose doings no agent's session shows.
    pub(crate) fn is_outside(&self) -> bool {
        self.host == TERMINAL
    }

    /// Who gives the results that come with the call. A call that no transcript shows is no agent's.
    pub(crate) fn source(&self) -> ResultsSource {
        if self.anchor.call.is_some() { ResultsSource::Agent } else { ResultsSource::User }
    }
}

/// What an operation answers.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// A few words that say what happened.
    pub title: String,
    /// The answer as an agent or a person reads it.
    pub text: String,
    /// The answer as a program reads it.
    pub data: Value,
    /// The frame in which work began.
    pub opened: Option<FrameNum>,
    /// The frame in which work ended.
    pub closed: Option<FrameNum>,
    /// The frame that another session has worked on, and that returned.
    pub returned: Option<FrameNum>,
    /// What the host has to do before there is an answer. The rest is then of no meaning.
    pub next: Option<Next>,
    /// What the host is to do afterwards.
    pub effects: Vec<Effect>,
}
