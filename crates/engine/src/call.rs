//! The caller of an operation, and its answer.

use callstack_core::frame::FrameNum;
use callstack_core::results::ResultsSource;
use callstack_core::secrets::mask;
use callstack_core::transcript::Anchor;
use serde::Serialize;
use serde_json::Value;

use crate::effect::{Effect, Next};
use crate::error::EngineError;
use crate::masking::mask_data;

/// The caller of an operation.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The session whose active frame an operation acts on if no frame is named.
    pub session: String,
    /// The program that the session belongs to, for instance `opencode`.
    pub host: String,
    /// The call, as the session's transcript will show it.
    pub anchor: Anchor,
    /// The host's name for the agent that calls, where it has several.
    pub agent: Option<String>,
    /// Whether the host performs effects.
    pub performs: bool,
    /// Whether secrets of known forms stand in answers unmasked.
    pub reveal: bool,
    /// The key by which a repeated call is recognized, for callers whose calls no transcript shows. It is valid within
    /// one session.
    pub key: Option<String>,
}

/// The host's name for a person at a terminal.
pub const TERMINAL: &str = "cli";
/// The host's name for a person who uses a page.
pub const PAGE: &str = "page";

/// The kinds of callers that an operation may be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKind {
    /// A model in an agent's program.
    Agent,
    /// A person at a terminal.
    Terminal,
    /// A person who uses a page.
    Page,
}

impl CallerKind {
    /// Returns the kind of callers from a host.
    fn of(host: &str) -> Self {
        match host {
            TERMINAL => Self::Terminal,
            PAGE => Self::Page,
            _ => Self::Agent,
        }
    }
}

/// Whether a host is a person instead of an agent's program: its sessions have no model to send anything to.
pub(crate) fn is_person(host: &str) -> bool {
    CallerKind::of(host) != CallerKind::Agent
}

/// The prefix of the names of hosts that are clients of the Model Context Protocol.
const CLIENT: &str = "mcp:";

/// The kinds of agents' programs, by what they do besides calling operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// The program shows its transcripts to callstack, and sends its model the folded ones.
    Folding,
    /// The program only calls operations. Its model's context stays as it is, and callstack knows only the content of
    /// the agent's calls.
    Calling,
}

impl HostKind {
    /// Returns the kind of a host, by its name in the store.
    pub(crate) fn of(host: &str) -> Self {
        if host.starts_with(CLIENT) { Self::Calling } else { Self::Folding }
    }
}

impl Caller {
    /// Returns the caller for a person at a terminal.
    pub fn at_terminal(session: String, message: Option<String>, reveal: bool) -> Self {
        Self {
            session,
            host: TERMINAL.to_owned(),
            anchor: Anchor { message, call: None },
            agent: None,
            performs: false,
            reveal,
            key: None,
        }
    }

    /// Returns the kind of the caller, by its host's name.
    pub fn kind(&self) -> CallerKind {
        CallerKind::of(&self.host)
    }

    /// Returns the caller for a session of a client of the Model Context Protocol, which only calls operations. The
    /// prefix keeps a client from passing for a host of another kind, whatever its name.
    pub fn of_client(session: String, client: &str, call: String) -> Self {
        Self {
            session,
            host: format!("{CLIENT}{client}"),
            anchor: Anchor { message: None, call: Some(call) },
            agent: None,
            performs: false,
            reveal: false,
            key: None,
        }
    }

    /// Returns the kind of the caller's host.
    pub(crate) fn host_kind(&self) -> HostKind {
        HostKind::of(&self.host)
    }

    /// Whether the caller is a person, whose calls no agent's transcript shows.
    pub(crate) fn is_outside(&self) -> bool {
        is_person(&self.host)
    }

    /// Returns the place under which the call's answer is stored, if the call may be repeated.
    pub(crate) fn kept_at(&self) -> Option<Anchor> {
        let keyed = |key: &String| Anchor { message: None, call: Some(format!("key:{key}")) };
        let shown = self.anchor.call.is_some().then(|| self.anchor.clone());
        shown.or_else(|| self.key.as_ref().map(keyed))
    }

    /// Returns the source of the results that a call gives: the agent if a transcript shows the call, else the user.
    pub(crate) fn source(&self) -> ResultsSource {
        if self.anchor.call.is_some() { ResultsSource::Agent } else { ResultsSource::User }
    }
}

/// The answer of an operation.
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
    /// The effect that the host performs before there is an answer. All other fields have no meaning until then.
    pub next: Option<Next>,
    /// The effects that the host performs after the answer.
    pub effects: Vec<Effect>,
}

impl Answer {
    /// Returns the answer with secrets of known forms masked.
    #[must_use]
    pub(crate) fn masked(mut self) -> Self {
        self.title = mask(&self.title).into_owned();
        self.text = mask(&self.text).into_owned();
        mask_data(&mut self.data);
        self
    }
}

/// An answer whose data has a type, as operations return it.
#[derive(Clone, Debug)]
pub struct Reply<D> {
    /// The answer without its data.
    pub(crate) answer: Answer,
    /// The data; `None` if nothing was done, or if the host performs an effect first.
    pub(crate) data: Option<D>,
}

impl<D> Reply<D> {
    /// Returns a reply: a few words that say what happened, a text, and data.
    pub fn new(title: impl Into<String>, text: impl Into<String>, data: D) -> Self {
        Self { data: Some(data), ..Self::without_data(title, text) }
    }

    pub(crate) fn without_data(title: impl Into<String>, text: impl Into<String>) -> Self {
        let answer = Answer { title: title.into(), text: text.into(), ..Answer::default() };
        Self { answer, data: None }
    }

    /// Returns the reply of a call that continues once the host has performed an effect.
    pub(crate) fn waiting(title: impl Into<String>, next: Next) -> Self {
        let answer = Answer { title: title.into(), next: Some(next), ..Answer::default() };
        Self { answer, data: None }
    }

    /// Returns the reply with its data converted by `map`.
    pub(crate) fn map<E>(self, map: impl FnOnce(D) -> E) -> Reply<E> {
        Reply { answer: self.answer, data: self.data.map(map) }
    }

    /// Adds a paragraph to the text.
    pub(crate) fn append(&mut self, paragraph: &str) {
        self.answer.text = format!("{}\n{paragraph}\n", self.answer.text.trim_end());
    }
}

impl<D: Serialize> Reply<D> {
    /// Returns the answer with its data as JSON. Fails if the data can't be serialized.
    pub(crate) fn erased(self) -> Result<Answer, EngineError> {
        let data = match self.data {
            Some(data) => serde_json::to_value(data).map_err(EngineError::unwritable)?,
            None => Value::Null,
        };
        Ok(Answer { data, ..self.answer })
    }
}
