//! The answer of `stack_log` with whole messages, for people.

use std::ops::ControlFlow;

use callstack_core::frame::Frame;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::log::{LogRequest, LoggedMessage, WholeLog};

/// The form in which messages are returned.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogForm {
    Json,
    Markdown,
    Stored,
}

/// Bytes of messages after which an answer ends. A long log comes in several, so that none has to be held as a whole.
const PART: usize = 1024 * 1024;

/// Returns the messages that a request asks for, up to the one with which there are [`PART`] bytes.
pub(super) fn read(
    engine: &Engine,
    frame: &Frame,
    request: &LogRequest,
    form: LogForm,
) -> Result<Reply<WholeLog>, EngineError> {
    let (mut entries, mut bytes) = (Vec::<LoggedMessage>::new(), 0);
    let mut cut = None;
    let (total, next) = engine.visit_log(frame, request, |entry| {
        let is_next = entries.last().is_some_and(|last| last.position != entry.position);
        if is_next && bytes >= PART {
            cut = Some(entry.position);
            return Ok::<_, EngineError>(ControlFlow::Break(()));
        }
        bytes += entry.message.json.len();
        let mut logged = LoggedMessage::of(&entry);
        match form {
            LogForm::Json => {
                let json = entry.to_json(request.reveal);
                let message = serde_json::from_str(&json).unwrap_or_else(|_| Value::from(json));
                logged.message = Some(message);
            }
            LogForm::Markdown => logged.markdown = Some(entry.to_markdown(request.reveal)),
            LogForm::Stored => logged.stored_lines = Some(entry.to_raw(request.reveal)),
        }
        entries.push(logged);
        Ok(ControlFlow::Continue(()))
    })?;
    let label = frame.label();
    let text = format!("{label}: {} of {total} messages", entries.len());
    let log = WholeLog {
        frame: frame.num,
        label: label.clone(),
        title: frame.identity.title.clone(),
        status: frame.status,
        left_open: engine.is_left_open(frame)?,
        total,
        next: cut.or(next),
        entries,
    };
    Ok(Reply::new(label, text, log))
}
