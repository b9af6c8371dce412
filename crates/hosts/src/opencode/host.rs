//! OpenCode as the protocol sees it: its messages, its events, and its requests for titles.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Write};
use std::path::Path;

use callstack_engine::{Engine, EngineError, Failure, HostMessage};
use serde::Deserialize;
use serde_json::Value;

use super::decode::{decode_any, written};
use crate::protocol::{self, Host, Notify, SessionEvent};

/// The name of this host in the store.
pub const HOST: &str = "opencode";

/// The beginning of OpenCode's request for a session's title. It is made for the user's list of sessions, and frames
/// mean nothing to it.
const TITLE_PROMPT: &str = "You are a title generator";

/// OpenCode, with the state that its events have left open.
#[derive(Debug, Default)]
pub struct OpenCode {
    /// Messages that it removed for good, by session, until it reports the end of an undo.
    removed: HashMap<String, HashSet<String>>,
}

/// Answers requests of OpenCode's plugin, as [`protocol::serve`] does.
pub fn serve(
    engine: &Result<Engine, EngineError>,
    version: &str,
    input: impl BufRead,
    output: impl Write,
    log: impl FnMut(&str),
) -> io::Result<()> {
    protocol::serve(OpenCode::default(), engine, version, input, output, log)
}

/// Reads requests of OpenCode's plugin, as [`protocol::read_requests`] does.
pub fn read_requests(
    input: impl BufRead,
    project: &Path,
) -> io::Result<Vec<Result<Vec<HostMessage>, String>>> {
    protocol::read_requests(&OpenCode::default(), input, project)
}

impl Host for OpenCode {
    type Event = Event;

    const NAME: &str = HOST;
    const INSTALL: &str = "Install the plugin of this version with `callstack init opencode`.";
    const RESTART: &str = "Restart OpenCode after an update of callstack.";

    fn decode(&self, message: &[u8], project: &Path) -> HostMessage {
        decode_any(message, project)
    }

    fn written(&self, args: &Value, metadata: &Value) -> Vec<String> {
        written(args, metadata)
    }

    fn is_aside(&self, prompt: &str) -> bool {
        prompt.starts_with(TITLE_PROMPT)
    }

    fn event(&mut self, event: Event, notify: &mut Notify<'_>) -> Result<(), EngineError> {
        let Some(session) = event.properties.session else { return Ok(()) };
        let info = event.properties.info.unwrap_or_default();
        if let ("session.created" | "session.updated", Some(parent)) =
            (event.kind.as_str(), info.parent)
        {
            notify(&session, SessionEvent::Child { parent, title: info.title })?;
        }
        match event.kind.as_str() {
            "session.updated" => match info.revert {
                Some(revert) => {
                    self.removed.insert(session.clone(), HashSet::new());
                    notify(&session, SessionEvent::Undone { from: revert.message })?;
                }
                None => {
                    // Only a session that was seen undoing can be redone.
                    if let Some(removed) = self.removed.remove(&session) {
                        notify(&session, SessionEvent::Redone { removed })?;
                    }
                }
            },
            "message.removed" => {
                if let (Some(removed), Some(message)) =
                    (self.removed.get_mut(&session), event.properties.message)
                {
                    removed.insert(message);
                }
            }
            "session.error" => {
                let error = event.properties.error.unwrap_or_default();
                notify(&session, SessionEvent::Failed(error.into()))?;
            }
            "session.idle" => notify(&session, SessionEvent::Idle)?,
            "session.deleted" => {
                self.removed.remove(&session);
                notify(&session, SessionEvent::Deleted)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn deleted(&mut self, event: Event) -> Option<String> {
        let session = event.properties.session.filter(|_| event.kind == "session.deleted")?;
        self.removed.remove(&session);
        Some(session)
    }
}

/// An event as the plugin passes it on.
#[derive(Debug, Deserialize)]
pub struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    properties: EventProperties,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EventProperties {
    #[serde(rename = "sessionID")]
    session: Option<String>,
    #[serde(rename = "messageID")]
    message: Option<String>,
    info: Option<SessionInfo>,
    error: Option<SessionError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionError {
    name: String,
    message: Option<String>,
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let stopped = error.name == "MessageAbortedError";
        let message = match error.message {
            _ if stopped => "it was stopped".to_owned(),
            Some(message) => format!("{}: {message}", error.name),
            None => error.name,
        };
        Self { stopped, message }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionInfo {
    #[serde(rename = "parentID")]
    parent: Option<String>,
    title: String,
    revert: Option<Revert>,
}

#[derive(Debug, Deserialize)]
struct Revert {
    #[serde(rename = "messageID")]
    message: String,
}
