//! Recorded messages as they are stored: each as the [`Message`] that every reader knows, and beside it the records
//! that it was read from, byte for byte. Messages that OpenCode itself exported are kept as they are.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::path::Path;

use callstack_core::evidence::{Action, Activity};
use callstack_core::framing::Division;
use callstack_core::stored::{
    self, Asked, Author, Call, Message, Part, PartBody, Tokens, record_values,
};
use callstack_core::transcript::{CallState, MessageKind, Role, ToolCall};
use callstack_engine::HostMessage;
use callstack_recordings::tool_input::{edits, with_places};
use callstack_recordings::{Format, Recorded, RecordedPart, Recording, Usage, noted_in};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::opencode::{shown, thought};

/// The deepest record that is kept as a value: readers take 128 levels, and need some for the JSON around it.
const DEPTH: usize = 100;

/// Returns a message in its stored form, and that form. One on a branch that was left has a mark: its work does not
/// count.
pub(super) fn kept<'m>(
    recording: &Recording,
    message: &'m Recorded,
    is_aside: bool,
) -> (Message, Cow<'m, str>) {
    // A message that several calls of the model wrote was divided, and old versions do not record how a summary
    // ended.
    if let (Format::OpenCode, [record]) = (recording.format, &message.records[..])
        && record.matches("\"step-finish\"").count() <= 1
    {
        let read = Message::read(record).unwrap_or_default();
        if message.standing != MessageKind::Summary || read.kind() == MessageKind::Summary {
            return (read, record.into());
        }
    }
    let kept = neutral(recording, message, is_aside);
    let records: Vec<_> = message.records.iter().map(|record| value(record)).collect();
    let json = kept.to_stored(records.iter().map(AsRef::as_ref));
    (kept, json.into())
}

/// Returns a message as every reader knows it.
fn neutral(recording: &Recording, message: &Recorded, is_aside: bool) -> Message {
    let is_summary = message.standing == MessageKind::Summary;
    let asks = message.standing == MessageKind::CompactionRequest;
    let request = asks.then(|| {
        let asked = Asked::Compaction { kept_from: None };
        let id = format!("{}-1", message.id);
        PartBody::Asked(asked, json!({ "type": "compaction", "id": id }))
    });
    let bodies = request.into_iter().chain(message.parts.iter().map(|it| body(message, it)));
    let parts =
        bodies.zip(1..).map(|(body, place)| Part { id: format!("{}-{place}", message.id), body });
    Message {
        id: message.id.clone(),
        session: Some(recording.session.clone()),
        author: Some(match message.role {
            Role::User => Author::User,
            Role::Assistant => Author::Assistant,
        }),
        created: message.at,
        model: message.model.clone(),
        tokens: message.usage.map(tokens).unwrap_or_default(),
        error: message.broken_off.then(|| json!({ "name": "broken off" })),
        is_summary,
        finish: is_summary.then(|| "stop".to_owned()),
        parts: Some(parts.collect()),
        recording: Some(stored::Recording {
            by: Some(recording.format.host().to_owned()),
            is_aside,
            actions: actions(recording, message),
        }),
        ..Message::default()
    }
}

/// Returns a record as a value, byte for byte: compression then finds the common text with the parts, so that the
/// record takes next to no room. One that is no JSON, or nests too deeply, becomes a text.
fn value(record: &str) -> Cow<'_, str> {
    let is_value = record.starts_with('{')
        && record.ends_with('}')
        && depth(record) <= DEPTH
        && serde_json::from_str::<IgnoredAny>(record).is_ok();
    if is_value { record.into() } else { Value::from(record).to_string().into() }
}

fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn tokens(usage: Usage) -> Tokens {
    Tokens {
        input: Some(usage.input.saturating_sub(usage.cached)),
        output: Some(usage.output),
        cache_read: Some(usage.cached),
        cache_written: Some(0),
        ..Tokens::default()
    }
}

fn body(message: &Recorded, part: &RecordedPart) -> PartBody {
    match part {
        RecordedPart::Text { text, synthetic } => {
            PartBody::Text { text: text.clone(), synthetic: *synthetic, ignored: false }
        }
        RecordedPart::Reasoning(text) => PartBody::Reasoning { text: text.clone(), sealed: false },
        RecordedPart::File { name, mime } => {
            PartBody::File { name: Some(name.clone()), mime: Some(mime.clone()) }
        }
        RecordedPart::Call(recorded) => PartBody::Call(Box::new(call(message, recorded))),
    }
}

/// Returns a call without its meaning, which stands among the actions of its message.
fn call(message: &Recorded, call: &ToolCall) -> Call {
    let status = match call.state {
        CallState::Open => "running",
        CallState::Completed => "completed",
        CallState::Failed => "error",
    };
    let times = message.at.zip(call.ended);
    let made = ToolCall {
        input: call.input.clone(),
        output: call.output.clone().filter(|_| call.state != CallState::Open),
        exit: call.exit,
        began: times.map(|(began, _)| began),
        ended: times.map(|(_, ended)| ended),
        ..ToolCall::new(call.id.as_str(), call.tool.as_str(), call.state)
    };
    let metadata = call.exit.map_or(Value::Null, |exit| json!({ "exit": exit }));
    Call { made, status: Some(status.to_owned()), metadata, ..Call::default() }
}

/// Returns the actions of a message's calls, by their ids; none for those without one.
fn actions(recording: &Recording, message: &Recorded) -> Value {
    let relative = |path: &String| inside(&recording.project, path).to_owned();
    let action = |call: &ToolCall| match (&call.division, &call.action) {
        (Some(Division::Todos(_)), _) => Some(json!({ "divides": true })),
        (_, Action::Ran(command)) => Some(json!({ "ran": command })),
        (_, Action::Read(path)) => Some(json!({ "read": relative(path) })),
        (_, Action::Wrote(paths)) => {
            Some(json!({ "wrote": paths.iter().map(relative).collect::<Vec<_>>() }))
        }
        (_, Action::Other) => None,
    };
    message.calls().filter_map(|call| Some((call.id.clone(), action(call)?))).collect()
}

/// Returns a path without the project's folder; unchanged where it lies elsewhere.
pub(super) fn inside<'a>(folder: &str, path: &'a str) -> &'a str {
    let rest = path.strip_prefix(folder).filter(|_| !folder.is_empty());
    let separators = ['/', '\\'];
    rest.and_then(|rest| rest.strip_prefix(separators)).filter(|it| !it.is_empty()).unwrap_or(path)
}

/// Returns an agent's words, thoughts and calls in a stored message of any program, each with the id of its part.
pub fn activities(json: &str, project: &Path) -> Vec<(String, Activity)> {
    let message = Message::read(json).unwrap_or_default();
    let Some(recording) = message.recording.as_ref().filter(|it| it.by.is_some()) else {
        return crate::opencode::activities(message, project);
    };
    if !message.is_of_assistant() || recording.is_aside {
        return Vec::new();
    }
    let records = LazyCell::new(|| record_values(json));
    let parts = message.parts().iter();
    let activity = |part| activity(part, &recording.actions, || &records[..]);
    parts.filter_map(|part| Some((part.id.clone(), activity(part)?))).collect()
}

/// Decodes a stored message of any program as one of a live session; none for one on a branch that was left.
pub fn decode_stored(message: &Message, project: &Path) -> Option<HostMessage> {
    let is_shown = !message.id.is_empty() && !message.is_aside();
    is_shown.then(|| shown(message, project))
}

/// Returns the activity that a part shows: `actions` are those of the message's calls, `records` its source.
fn activity<'r>(
    part: &Part,
    actions: &Value,
    records: impl FnOnce() -> &'r [Value],
) -> Option<Activity> {
    let call = match &part.body {
        PartBody::Text { text, synthetic: false, .. } => return Some(Activity::Said(text.clone())),
        PartBody::Reasoning { text, .. } => return thought(text),
        PartBody::Call(call) => &call.made,
        _ => return None,
    };
    let did = &actions[&call.id];
    if call.tool.is_empty() || did["divides"] == true {
        return None;
    }
    let named = |name: &str| did[name].as_str().map(str::to_owned);
    // It is not known whether a call without an answer wrote anything.
    let wrote = did["wrote"].as_array().filter(|_| call.state != CallState::Open).map(|paths| {
        let paths = paths.iter().filter_map(|path| path.as_str().map(str::to_owned));
        paths.collect::<Vec<_>>()
    });
    let ran = named("ran").map(Action::Ran);
    Some(Activity::called(ToolCall {
        edits: match &wrote {
            Some(paths) if !call.is_failed() => {
                with_places(edits(&call.input, paths), &noted(&call.id, records()))
            }
            _ => Vec::new(),
        },
        action: ran
            .or_else(|| named("read").map(Action::Read))
            .or(wrote.map(Action::Wrote))
            .unwrap_or_default(),
        ..call.clone()
    }))
}

/// Returns the program's notes on an edit, where the records are like Claude Code's.
fn noted(call: &str, records: &[Value]) -> Value {
    let answers = |record: &&Value| {
        let content = record["message"]["content"].as_array();
        content.into_iter().flatten().any(|it| it["tool_use_id"] == call)
    };
    let record = records.iter().find(answers);
    noted_in(record.map_or(&Value::Null, |record| &record["toolUseResult"]))
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;
