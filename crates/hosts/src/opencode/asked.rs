//! The methods of the protocol with their parameters.

use std::io::{self, BufRead};
use std::path::Path;

use callstack_engine::{EngineError, Shown};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::decode::decode_any;
use super::lines::{self, LONGEST, Line};
use super::wire::{
    After, Command, Continue, Event, Message, OfSession, Record, Sync, System, Tool,
};

/// What a request asks for.
#[derive(Debug)]
pub(super) enum Asked<'a> {
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
    Event(Event),
    Wake,
}

impl<'a> Asked<'a> {
    /// Reads the parameters of a method. Where messages among them have to be mended, `mended` holds what is
    /// read.
    pub(super) fn read(
        method: &str,
        params: Option<&'a RawValue>,
        mended: &'a mut String,
    ) -> Result<Self, EngineError> {
        let text = params.map_or("{}", RawValue::get);
        Ok(match method {
            "hello" => Self::Hello,
            "message" => Self::Message(read(text)?),
            "command" => Self::Command(read(text)?),
            "sync" => Self::Sync(
                lines::params_with_messages(text, mended).map_err(|error| unreadable(&error))?,
            ),
            "system" => Self::System(read(text)?),
            "compacting" => Self::Compacting(read(text)?),
            "tool" => Self::Tool(read(text)?),
            "continue" => Self::Continue(read(text)?),
            "after" => Self::After(read(text)?),
            "record" => Self::Record(
                lines::params_with_messages(text, mended).map_err(|error| unreadable(&error))?,
            ),
            "event" => Self::Event(read(text)?),
            "wake" => Self::Wake,
            other => {
                return Err(EngineError::invalid(
                    format!("there is no method `{other}`"),
                    "Install the plugin of this version with `callstack init opencode`.",
                ));
            }
        })
    }

    fn messages(self) -> Option<Vec<&'a RawValue>> {
        match self {
            Self::Sync(Sync { messages, .. }) | Self::Record(Record { messages, .. }) => messages,
            _ => None,
        }
    }
}

/// Reads requests as [`serve`](super::serve()) does and does nothing that they ask for. Returns the messages that
/// each of them shows, or why it can't be read.
pub fn read_requests(
    mut input: impl BufRead,
    project: &Path,
) -> io::Result<Vec<Result<Vec<Shown>, String>>> {
    let mut requests = Vec::new();
    while let Some(line) = lines::next(&mut input, LONGEST)? {
        requests.push(match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => messages_of(&line, project),
            Line::TooLong { head, .. } => {
                Err(format!("{:?} is too long", lines::session_of(&head)))
            }
        });
    }
    Ok(requests)
}

fn messages_of(line: &[u8], project: &Path) -> Result<Vec<Shown>, String> {
    let (mut mended, mut mended_messages) = (String::new(), String::new());
    let request = lines::request(line, &mut mended)
        .map_err(|error| format!("{:?}: {error}", lines::id_of(line)))?;
    let asked = Asked::read(&request.method, request.params, &mut mended_messages)
        .map_err(|error| error.sentence())?;
    Ok(shown(asked.messages(), project))
}

/// The messages, each as far as it can be read: none keeps the others from being followed and stored.
pub(super) fn shown(messages: Option<Vec<&RawValue>>, project: &Path) -> Vec<Shown> {
    let messages = messages.unwrap_or_default().into_iter();
    messages.map(|message| decode_any(message.get().as_bytes(), project)).collect()
}

fn read<T: DeserializeOwned>(params: &str) -> Result<T, EngineError> {
    lines::params(params).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> EngineError {
    EngineError::invalid(
        format!("the parameters can't be read: {error}"),
        "Install the plugin of this version with `callstack init opencode`.",
    )
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
