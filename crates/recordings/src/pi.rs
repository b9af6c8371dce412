//! pi's session files: JSON lines that form a tree, or, in files of old, a list.

use std::collections::HashMap;
use std::io::{self, BufRead};

use callstack_core::json::token_count;
use callstack_core::transcript::{MessageKind, Role};
use serde_json::Value;

use super::tools::{self, open_call, taken, text, time, words};
use super::transcript::{Answer, Transcript};
use super::{Format, LEFT, Left, Recorded, RecordedPart, Recording, Usage, lines};

/// A record of the tree.
struct Entry {
    id: String,
    parent: Option<String>,
    value: Value,
    raw: String,
}

/// Reads a session's file.
pub(super) fn read(from: impl BufRead) -> io::Result<Vec<Recording>> {
    let mut recording = Recording::new(Format::Pi);
    let mut skipped = super::Skipped::default();
    let mut entries: Vec<Entry> = Vec::new();
    lines::each(from, &mut skipped, |raw, value| {
        if value["type"] == "session" && recording.session.is_empty() {
            text(&value["id"]).clone_into(&mut recording.session);
            text(&value["cwd"]).clone_into(&mut recording.project);
            return;
        }
        // Where no ids are, each record follows the one before it.
        let before = entries.last().map(|entry| entry.id.clone());
        let id = value["id"].as_str().map_or_else(|| id_at(entries.len() + 1), str::to_owned);
        let parent = match value.get("parentId") {
            Some(parent) => parent.as_str().map(str::to_owned),
            None => before,
        };
        entries.push(Entry { id, parent, value, raw });
    })?;
    recording.skipped = skipped;
    let on_branch = live(&entries);
    let mut transcript = Transcript::default();
    // The first message at or after each record.
    let mut places: HashMap<String, usize> = HashMap::new();
    // Words on a branch that was left belong to that branch alone.
    let (mut aside, mut left) = (Transcript::default(), Recording::new(Format::Pi));
    let mut stood: Vec<usize> = Vec::new();
    for (entry, on_branch) in entries.into_iter().zip(on_branch) {
        if on_branch {
            places.insert(entry.id.clone(), transcript.messages.len());
            take(entry, &places, &mut transcript, &mut recording);
        } else {
            recording.skipped.count(LEFT);
            take(entry, &HashMap::new(), &mut aside, &mut left);
            stood.resize(aside.messages.len(), transcript.messages.len());
        }
    }
    recording.messages = transcript.messages;
    let last = recording.messages.len().saturating_sub(1);
    let left = stood.into_iter().zip(aside.messages);
    let left = left.map(|(before, message)| Left { before: before.min(last), message });
    recording.left = left.collect();
    Ok(vec![recording])
}

/// Whether each record is one of those from the last to its root.
fn live(entries: &[Entry]) -> Vec<bool> {
    let places: HashMap<&str, usize> =
        entries.iter().enumerate().map(|(place, entry)| (entry.id.as_str(), place)).collect();
    let mut on = vec![false; entries.len()];
    let mut next = entries.len().checked_sub(1);
    while let Some(place) = next {
        if std::mem::replace(&mut on[place], true) {
            break;
        }
        let parent = entries[place].parent.as_deref();
        next = parent.and_then(|id| places.get(id).copied().or(place.checked_sub(1)));
    }
    on
}

fn take(
    entry: Entry,
    places: &HashMap<String, usize>,
    transcript: &mut Transcript,
    recording: &mut Recording,
) {
    let Entry { id, mut value, raw, .. } = entry;
    let at = time(&value["timestamp"]);
    let of_host = |text: String| {
        let mut user = Recorded::new(&id, Role::User, at);
        user.parts.push(words(text, true));
        user
    };
    let mut message = match text(&value["type"]) {
        "message" => {
            let inner = taken(&mut value, "message");
            let Some(message) = said(&id, inner, at, &raw, transcript, recording) else { return };
            message
        }
        "compaction" => {
            let mut summary = Recorded::new(&id, Role::Assistant, at);
            summary.standing = MessageKind::Summary;
            // It may name a record that is no message, such as one of a setting.
            let kept = first_kept(&value).and_then(|id| places.get(&id));
            summary.kept = kept.map(|place| transcript.ids_from(*place)).unwrap_or_default();
            summary.parts.push(words(text(&value["summary"]), false));
            summary
        }
        "branch_summary" => of_host(text(&value["summary"]).to_owned()),
        "custom_message" => of_host(tools::content(&value["content"])),
        "session_info" => {
            recording.title = value["name"].as_str().map(str::to_owned);
            return;
        }
        _ => return recording.skipped.count(tools::kind(&value)),
    };
    message.records.push(raw);
    transcript.push(message);
}

/// Returns the first record that a compaction left: its id, or in old files its line among those of the file, of
/// which the first is about the session.
fn first_kept(compaction: &Value) -> Option<String> {
    let line = || Some(id_at(usize::try_from(compaction["firstKeptEntryIndex"].as_u64()?).ok()?));
    compaction["firstKeptEntryId"].as_str().map(str::to_owned).or_else(line)
}

/// Returns the name of a record without an id, by its line among those of its file.
fn id_at(line: usize) -> String {
    format!("#{line}")
}

/// A message; none where it was the result of a call, or nothing that the model reads.
fn said(
    id: &str,
    mut inner: Value,
    at: Option<i64>,
    raw: &str,
    transcript: &mut Transcript,
    recording: &mut Recording,
) -> Option<Recorded> {
    let at = time(&inner["timestamp"]).or(at);
    match text(&inner["role"]) {
        "user" => {
            let mut user = Recorded::new(id, Role::User, at);
            user.parts = user_parts(&inner["content"]);
            Some(user)
        }
        "assistant" => {
            let mut answer = Recorded::new(id, Role::Assistant, at);
            answer.usage = usage(&inner["usage"]);
            answer.model = inner["model"].as_str().map(str::to_owned);
            answer.broken_off = matches!(text(&inner["stopReason"]), "aborted" | "error");
            for part in inner.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten()
            {
                answer.parts.push(match text(&part["type"]) {
                    "text" => words(text(&part["text"]), false),
                    "thinking" => RecordedPart::Reasoning(text(&part["thinking"]).to_owned()),
                    "toolCall" => {
                        let input = taken(part, "arguments");
                        let call = open_call(text(&part["id"]), text(&part["name"]), input);
                        RecordedPart::Call(Box::new(call))
                    }
                    _ => words(tools::content(part), false),
                });
            }
            Some(answer)
        }
        "toolResult" => {
            let output = tools::content(&inner["content"]);
            let failed = inner["isError"] == true;
            let exit = tools::exit(&output).or((!failed).then_some(0));
            let answer = Answer { output, failed, exit, at };
            if !transcript.answer(text(&inner["toolCallId"]), answer, Some(raw)) {
                recording.skipped.count("toolResult: of no known call");
            }
            None
        }
        "bashExecution" if inner["excludeFromContext"] != true => {
            let mut user = Recorded::new(id, Role::User, at);
            let [command, output] = ["command", "output"].map(|it| text(&inner[it]));
            user.parts.push(words(format!("Ran `{command}`\n```\n{output}\n```"), true));
            Some(user)
        }
        "custom" | "hookMessage" | "branchSummary" | "compactionSummary" => {
            let mut user = Recorded::new(id, Role::User, at);
            let text = [&inner["content"], &inner["summary"]].map(tools::content).concat();
            user.parts.push(words(text, true));
            Some(user)
        }
        role => {
            recording.skipped.count(format!("message: {role}"));
            None
        }
    }
}

fn user_parts(content: &Value) -> Vec<RecordedPart> {
    if let Some(text) = content.as_str() {
        return vec![words(text, false)];
    }
    let part = |part: &Value| match part["text"].as_str() {
        Some(text) => words(text, false),
        None => {
            RecordedPart::File { name: String::new(), mime: text(&part["mimeType"]).to_owned() }
        }
    };
    content.as_array().into_iter().flatten().map(part).collect()
}

/// `input` are those tokens that no cache had a part in.
fn usage(given: &Value) -> Option<Usage> {
    let count = |name: &str| token_count(&given[name]);
    let cached = count("cacheRead");
    let usage = Usage {
        input: count("input") + count("cacheWrite") + cached,
        cached,
        output: count("output"),
    };
    (usage.input + usage.output > 0).then_some(usage)
}
