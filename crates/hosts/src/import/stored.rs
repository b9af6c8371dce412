//! The stored form of a recorded message: the shape of OpenCode's messages, which logs, search and evidence read, and
//! beside it the records that it was read from, byte for byte. Messages that OpenCode itself exported are kept as
//! they are.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::path::Path;

use callstack_core::evidence::{Action, Activity};
use callstack_core::framing::Division;
use callstack_core::stored::{Message, Part, PartBody, RECORDED, record_values};
use callstack_core::transcript::{CallState, MessageKind, Role, ToolCall};
use callstack_engine::HostMessage;
use callstack_recordings::tool_input::{edits, with_places};
use callstack_recordings::{Format, Recorded, RecordedPart, Recording, Usage, noted_in};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::opencode::{decode, shown, thought};

/// The deepest record that is kept as a value: readers take 128 levels, and need some for the JSON around it.
const DEPTH: usize = 100;

/// Returns the stored form of a message.
pub(super) fn body(recording: &Recording, message: &Recorded) -> String {
    kept_as(recording, message, "")
}

/// Returns the same for a message on a branch that was left, with a mark: its work does not count.
pub(super) fn body_aside(recording: &Recording, message: &Recorded) -> String {
    kept_as(recording, message, "\"left\":true,")
}

fn kept_as(recording: &Recording, message: &Recorded, standing: &str) -> String {
    // A message that several calls of the model wrote was divided, and old versions do not record how a summary
    // ended.
    if let (Format::OpenCode, [record]) = (recording.format, &message.records[..])
        && record.matches("\"step-finish\"").count() <= 1
        && (message.standing != MessageKind::Summary || is_summary(record))
    {
        return record.clone();
    }
    let mut info = json!({
        "id": message.id,
        "sessionID": recording.session,
        "role": match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        },
    });
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            info[name] = value;
        }
    };
    add("time", message.at.map(|at| json!({ "created": at })));
    add("modelID", message.model.clone().map(Value::from));
    add("tokens", message.usage.map(tokens));
    add("error", message.broken_off.then(|| json!({ "name": "broken off" })));
    let is_summary = message.standing == MessageKind::Summary;
    add("summary", is_summary.then(|| Value::from(true)));
    add("finish", is_summary.then(|| Value::from("stop")));
    let mut parts: Vec<Value> = Vec::new();
    if message.standing == MessageKind::CompactionRequest {
        parts.push(json!({ "type": "compaction" }));
    }
    parts.extend(message.parts.iter().map(|it| part(message, it)));
    for (place, part) in parts.iter_mut().enumerate() {
        part["id"] = format!("{}-{}", message.id, place + 1).into();
    }
    let (by, parts) = (Value::from(recording.format.host()), Value::from(parts));
    let actions = actions(recording, message);
    let records: Vec<_> = message.records.iter().map(|record| kept(record)).collect();
    let records = records.join(",");
    format!(
        "{{\"info\":{info},\"parts\":{parts},\
         \"{RECORDED}\":{{\"by\":{by},{standing}\"actions\":{actions},\"records\":[{records}]}}}}"
    )
}

/// Returns a record as a value, byte for byte: compression then finds the common text with the parts, so that the
/// record takes next to no room. One that is no JSON, or nests too deeply, becomes a text.
fn kept(record: &str) -> Cow<'_, str> {
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

/// Whether a stored message of OpenCode is read as a summary.
fn is_summary(record: &str) -> bool {
    let shown = decode(record, Path::new(""));
    shown.is_some_and(|shown| shown.message.standing == MessageKind::Summary)
}

fn tokens(usage: Usage) -> Value {
    let uncached = usage.input.saturating_sub(usage.cached);
    json!({
        "input": uncached,
        "output": usage.output,
        "cache": { "read": usage.cached, "write": 0 },
    })
}

fn part(message: &Recorded, part: &RecordedPart) -> Value {
    match part {
        RecordedPart::Text { text, synthetic } => {
            json!({ "type": "text", "text": text, "synthetic": synthetic })
        }
        RecordedPart::Reasoning(text) => json!({ "type": "reasoning", "text": text }),
        RecordedPart::File { name, mime } => {
            json!({ "type": "file", "filename": name, "mime": mime })
        }
        RecordedPart::Call(call) => json!({
            "type": "tool",
            "callID": call.id,
            "tool": call.tool,
            "state": state(message, call),
        }),
    }
}

fn state(message: &Recorded, call: &ToolCall) -> Value {
    let (status, answer) = match call.state {
        CallState::Open => ("running", None),
        CallState::Completed => ("completed", Some("output")),
        CallState::Failed => ("error", Some("error")),
    };
    let mut state = json!({ "status": status, "input": call.input });
    if let (Some(name), Some(output)) = (answer, &call.output) {
        state[name] = output.as_str().into();
    }
    if let (Some(start), Some(end)) = (message.at, call.ended) {
        state["time"] = json!({ "start": start, "end": end });
    }
    if let Some(exit) = call.exit {
        state["metadata"] = json!({ "exit": exit });
    }
    state
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
