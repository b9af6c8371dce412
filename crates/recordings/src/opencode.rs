//! The output of `opencode export`: one document with a session and its messages.

use callstack_core::framing::Division;
use callstack_core::json::token_count;
use callstack_core::transcript::{MessageKind, Role};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::tools::{self, open_call, taken, text, time, words};
use super::transcript::{Answer, Transcript};
use super::{Format, Parent, Recorded, RecordedPart, Recording, Usage, lines};

#[derive(Deserialize)]
struct Export<'a> {
    info: Value,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

/// Reads an export.
pub(super) fn read(document: &str) -> Result<Vec<Recording>, serde_json::Error> {
    let export: Export<'_> = serde_json::from_str(document)?;
    let info = &export.info;
    let mut recording = Recording {
        session: text(&info["id"]).to_owned(),
        parent: info["parentID"]
            .as_str()
            .map(|session| Parent { session: session.to_owned(), call: None }),
        project: text(&info["directory"]).to_owned(),
        title: info["title"].as_str().map(str::to_owned),
        ..Recording::new(Format::OpenCode)
    };
    let reverted = text(&info["revert"]["messageID"]).to_owned();
    let mut transcript = Transcript::default();
    for raw in export.messages {
        let Ok(value) = lines::value(raw.get()) else {
            recording.skipped.unreadable += 1;
            continue;
        };
        if !reverted.is_empty() && text(&value["info"]["id"]) >= reverted.as_str() {
            recording.skipped.count("of what was taken back");
            continue;
        }
        take(value, raw.get(), &mut transcript, &mut recording);
    }
    recording.messages = transcript.messages;
    Ok(vec![recording])
}

fn take(mut value: Value, raw: &str, transcript: &mut Transcript, recording: &mut Recording) {
    let info = taken(&mut value, "info");
    let parts = match taken(&mut value, "parts") {
        Value::Array(parts) => parts,
        _ => Vec::new(),
    };
    if !matches!(text(&info["role"]), "user" | "assistant") {
        return recording.skipped.count("message: of nobody");
    }
    let id = text(&info["id"]);
    let at = time(&info["time"]["created"]);
    if info["role"] == "user" {
        let mut user = Recorded::new(id, Role::User, at);
        if parts.iter().any(|part| part["type"] == "compaction") {
            user.standing = MessageKind::CompactionRequest;
        }
        let tail = parts.iter().find_map(|part| part["tail_start_id"].as_str());
        let tail = tail.and_then(|id| transcript.messages.iter().position(|it| it.id == id));
        user.kept = tail.map(|place| transcript.ids_from(place)).unwrap_or_default();
        user.parts = parts.iter().filter_map(|part| user_part(part, recording)).collect();
        user.records.push(raw.to_owned());
        transcript.push(user);
        return;
    }
    let mut answer = Recorded::new(id, Role::Assistant, at);
    answer.model = info["modelID"].as_str().map(str::to_owned);
    answer.broken_off = !info["error"].is_null();
    answer.usage = usage(&info["tokens"]);
    // Versions of old do not say how an answer ended, but when it did.
    let is_finished = info["finish"].is_string() || info["time"]["completed"].is_number();
    if info["summary"] == true && is_finished && !answer.broken_off {
        answer.standing = MessageKind::Summary;
        let request = transcript.messages.last_mut();
        answer.kept = request.map(|it| std::mem::take(&mut it.kept)).unwrap_or_default();
    }
    let no_tokens = info["tokens"].is_object() && answer.usage.is_none();
    answer.of_program = no_tokens && is_of_program(&parts);
    let mut steps = steps(parts);
    let several = steps.len() > 1;
    for (place, step) in steps.drain(..).enumerate() {
        let mut answer = Recorded { records: Vec::new(), ..answer.clone() };
        if several {
            answer.usage = step.iter().rev().find_map(|part| usage(&part["tokens"]));
        }
        if place == 0 {
            answer.records.push(raw.to_owned());
        } else {
            answer.id = format!("{id}#{place}");
        }
        let here = transcript.push(answer);
        for part in step {
            agent_part(part, here, transcript, recording);
        }
    }
}

/// Whether the program made the calls of an answer, which no step of the model has then: commands that the
/// user ran, and subagents that a command of theirs starts.
fn is_of_program(parts: &[Value]) -> bool {
    !parts.is_empty() && parts.iter().all(|part| part["type"] == "tool")
}

/// The parts of an answer by the calls of the model that wrote them: OpenCode of old kept several in
/// one message.
fn steps(parts: Vec<Value>) -> Vec<Vec<Value>> {
    let mut steps: Vec<Vec<Value>> = vec![Vec::new()];
    for part in parts {
        let begins = part["type"] == "step-start";
        let written = |step: &Vec<Value>| step.iter().any(|it| it["type"] == "step-finish");
        if begins && steps.last().is_some_and(written) {
            steps.push(Vec::new());
        }
        if let Some(step) = steps.last_mut() {
            step.push(part);
        }
    }
    steps
}

fn user_part(part: &Value, recording: &mut Recording) -> Option<RecordedPart> {
    match text(&part["type"]) {
        "text" if part["ignored"] != true => {
            Some(words(text(&part["text"]), part["synthetic"] == true))
        }
        "file" => Some(RecordedPart::File {
            name: text(&part["filename"]).to_owned(),
            mime: text(&part["mime"]).to_owned(),
        }),
        "compaction" => None,
        _ => {
            recording.skipped.count(format!("part: {}", tools::kind(part)));
            None
        }
    }
}

fn agent_part(
    mut part: Value,
    place: usize,
    transcript: &mut Transcript,
    recording: &mut Recording,
) {
    match text(&part["type"]) {
        "text" if part["ignored"] != true => {
            transcript.add(place, words(text(&part["text"]), part["synthetic"] == true));
        }
        "reasoning" => {
            transcript.add(place, RecordedPart::Reasoning(text(&part["text"]).to_owned()));
        }
        "tool" => {
            let mut state = taken(&mut part, "state");
            let id = text(&part["callID"]);
            let tool = text(&part["tool"]);
            let mut call = open_call(id, tool, taken(&mut state, "input"));
            let status = text(&state["status"]);
            call.division = division(tool, &call.input, status);
            transcript.add(place, RecordedPart::Call(Box::new(call)));
            let failed = status == "error";
            if failed || status == "completed" {
                let output = if failed { &state["error"] } else { &state["output"] };
                let answer = Answer {
                    output: text(output).to_owned(),
                    failed,
                    exit: state["metadata"]["exit"].as_i64(),
                    at: time(&state["time"]["end"]),
                };
                transcript.answer(id, answer, None);
            }
        }
        _ => recording.skipped.count(format!("part: {}", tools::kind(&part))),
    }
}

fn division(tool: &str, input: &Value, status: &str) -> Option<Division> {
    match tool {
        "todowrite" if status == "completed" => {
            tools::todos(&input["todos"], "content").map(Division::Todos)
        }
        tool => handed_on(tool, input),
    }
}

/// Work that a call hands to a subagent.
pub(super) fn handed_on(tool: &str, input: &Value) -> Option<Division> {
    let field = |name: &str| text(&input[name]).to_owned();
    (tool == "task")
        .then(|| Division::Subagent { title: field("description"), prompt: field("prompt") })
}

/// `input` are those tokens that no cache had a part in.
fn usage(given: &Value) -> Option<Usage> {
    let count = token_count;
    let cached = count(&given["cache"]["read"]);
    let usage = Usage {
        input: count(&given["input"]) + count(&given["cache"]["write"]) + cached,
        cached,
        output: count(&given["output"]) + count(&given["reasoning"]),
    };
    (usage.input + usage.output > 0).then_some(usage)
}
