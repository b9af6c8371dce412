//! The methods of the protocol with their parameters.

use std::io::{self, BufRead};
use std::path::Path;

use callstack_engine::{EngineError, HostMessage};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Host;
use super::lines::{self, LONGEST, Line};
use super::wire::{After, Command, Continue, Message, OfSession, Record, Sync, System, Tool};

/// The content of a request; an event is as the host reads it.
pub(super) enum Asked<'a, E> {
    Hello,
    Message(Message),
    Command(Command),
    Sync(Sync<'a>),
    System(System),
    Compacting(OfSession),
    Tool(Tool),
    Continue(Continue),
    After(After),
    Record(Record<'a>),
    Event(E),
    Wake,
}

impl<'a, E: DeserializeOwned> Asked<'a, E> {
    /// Reads the parameters of a method. Where messages among them have to be mended, `mended` holds the text that is
    /// read.
    pub(super) fn read<H: Host<Event = E>>(
        host: &H,
        method: &str,
        params: Option<&'a RawValue>,
        mended: &'a mut String,
    ) -> Result<Self, EngineError> {
        let text = params.map_or("{}", RawValue::get);
        let stand_in = |raw: &[u8]| host.stand_in(raw);
        let unreadable = |error: serde_json::Error| {
            EngineError::invalid(format!("the parameters can't be read: {error}"), H::INSTALL)
                .caused_by(error)
        };
        Ok(match method {
            "hello" => Self::Hello,
            "message" => Self::Message(lines::params(text).map_err(unreadable)?),
            "command" => Self::Command(lines::params(text).map_err(unreadable)?),
            "sync" => Self::Sync(
                lines::params_with_messages(text, mended, &stand_in).map_err(unreadable)?,
            ),
            "system" => Self::System(lines::params(text).map_err(unreadable)?),
            "compacting" => Self::Compacting(lines::params(text).map_err(unreadable)?),
            "tool" => Self::Tool(lines::params(text).map_err(unreadable)?),
            "continue" => Self::Continue(lines::params(text).map_err(unreadable)?),
            "after" => Self::After(lines::params(text).map_err(unreadable)?),
            "record" => Self::Record(
                lines::params_with_messages(text, mended, &stand_in).map_err(unreadable)?,
            ),
            "event" => Self::Event(lines::params(text).map_err(unreadable)?),
            "wake" => Self::Wake,
            other => {
                return Err(EngineError::invalid(
                    format!("there is no method `{other}`"),
                    H::INSTALL,
                ));
            }
        })
    }

    /// Returns the messages that it shows.
    fn messages(self) -> Option<Vec<&'a RawValue>> {
        match self {
            Self::Sync(Sync { messages, .. }) | Self::Record(Record { messages, .. }) => messages,
            _ => None,
        }
    }
}

/// Reads requests as [`serve`](super::serve()) does, without carrying them out. Returns the messages that each of
/// them shows, or the reason why it can't be read.
pub fn read_requests<H: Host>(
    host: &H,
    mut input: impl BufRead,
    project: &Path,
) -> io::Result<Vec<Result<Vec<HostMessage>, String>>> {
    let mut requests = Vec::new();
    while let Some(line) = lines::next(&mut input, LONGEST)? {
        requests.push(match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => messages_of(host, &line, project),
            Line::TooLong { head, .. } => {
                Err(format!("{:?} is too long", lines::session_of(&head)))
            }
        });
    }
    Ok(requests)
}

fn messages_of<H: Host>(host: &H, line: &[u8], project: &Path) -> Result<Vec<HostMessage>, String> {
    let (mut mended, mut mended_messages) = (String::new(), String::new());
    let request = lines::request(line, &mut mended, &|raw| host.stand_in(raw))
        .map_err(|error| format!("{:?}: {error}", lines::id_of(line)))?;
    let asked = Asked::read(host, &request.method, request.params, &mut mended_messages)
        .map_err(|error| error.sentence())?;
    Ok(shown(host, asked.messages(), project))
}

/// Returns the messages, each as far as it can be read: an unreadable one does not keep the others from being stored.
pub(super) fn shown<H: Host>(
    host: &H,
    messages: Option<Vec<&RawValue>>,
    project: &Path,
) -> Vec<HostMessage> {
    let messages = messages.unwrap_or_default().into_iter();
    messages.map(|message| host.decode(message.get().as_bytes(), project)).collect()
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
