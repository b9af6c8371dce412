//! The protocol between callstack and the plugin of a host, whichever that is: one JSON object a line, on standard
//! input and output. `docs/protocol.md` describes it.
//!
//! [`Host`] holds the differences between hosts: the shape of their messages, the meaning of their events, and which
//! of their requests have nothing to do with frames. Everything else is the same for all: lines and their limits
//! (`lines`), methods with their parameters (`asked`, `wire`), and their effects (`dispatch`).

mod asked;
mod dispatch;
mod lines;
mod serve;
mod wire;

use std::collections::HashSet;
use std::path::Path;

use callstack_engine::{EngineError, Failure, HostMessage};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use asked::read_requests;
pub use serve::serve;
pub use wire::VERSION;

/// A program that runs agents, as far as the protocol depends on which one it is.
pub trait Host {
    /// The parameters of the method `event`.
    type Event: DeserializeOwned;

    /// Its name in the store.
    const NAME: &str;
    /// The way for its user to get the plugin that belongs to this version.
    const INSTALL: &str;
    /// The way for its user to get the tools of this version.
    const RESTART: &str;

    /// Decodes a message. Whatever the bytes are, there is a message that holds them: bytes that can't be read as one
    /// are kept as they came.
    fn decode(&self, message: &[u8], project: &Path) -> HostMessage;

    /// Returns the JSON that is kept for a message that is none.
    fn stand_in(&self, message: &[u8]) -> String {
        self.decode(message, Path::new("")).json
    }

    /// Returns the files that a call has written, by its arguments and by the host's metadata.
    fn written(&self, args: &Value, metadata: &Value) -> Vec<String>;

    /// Whether a system prompt that begins like this is one of the host's own requests, such as that for a title,
    /// which has no frames.
    fn is_aside(&self, prompt: &str) -> bool;

    /// Passes the meaning of an event to `notify`, in the order in which things happened. A failure of `notify` is
    /// returned at once.
    fn event(&mut self, event: Self::Event, notify: &mut Notify<'_>) -> Result<(), EngineError>;

    /// Returns the session whose deletion an event reports, which is then forgotten here. While frame mode is off,
    /// events are used for nothing else.
    fn deleted(&mut self, event: Self::Event) -> Option<String>;
}

/// Receives the events of a session.
pub type Notify<'f> = dyn FnMut(&str, SessionEvent) -> Result<(), EngineError> + 'f;

/// An event of a session that is not a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// It is a child session.
    Child {
        /// The session that started it.
        parent: String,
        /// Its title.
        title: String,
    },
    /// Its user undid messages.
    Undone {
        /// The id of the first of them.
        from: String,
    },
    /// An undo has ended: the messages are back, except for those that were removed for good.
    Redone {
        /// The ids of the messages that were removed.
        removed: HashSet<String>,
    },
    /// Its agent's turn failed, or was stopped.
    Failed(Failure),
    /// Its agent's turn is over.
    Idle,
    /// It was deleted.
    Deleted,
}
