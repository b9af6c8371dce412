//! Decodes OpenCode's messages for the engine, once [`callstack_core::stored`] has read them: what its tools do, and
//! what is ours in them. Unknown kinds of parts are kept in the stored JSON and ignored here.

mod any;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use callstack_core::evidence::Action;
use callstack_core::framing::{Division, Todo, TodoStatus};
use callstack_core::masking::outputs::ResultWeight;
use callstack_core::masking::subject::{Subject, hash};
use callstack_core::secrets::mask;
use callstack_core::stored::{self, Asked, Call, PartBody as Body, Tokens};
use callstack_core::subagent::Trouble;
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{CallState, Message, MessageKind, Part, PartBody, Role, ToolCall};
use callstack_engine::{HostMessage, ReturnedTask};
use serde_json::Value;

pub(crate) use any::decode_any;

/// Characters of a text that a pointer may show.
const HEAD: usize = 200;
/// Characters of a command or an error that are kept in memory.
const LINE: usize = 160;
/// Bytes of it in which secrets are looked for.
const LOOKED_AT: usize = 16 * 1024;
/// Bytes of a text by which its tokens are estimated: the whole of a long session is decoded before its
/// first call.
const SAMPLE: usize = 512;
/// The largest whole number that JavaScript represents exactly.
const MOST_TOKENS: u64 = (1 << 53) - 1;

/// Decodes one message, as far as it can be read; none if it is no message. `project` is the folder to which file
/// names become relative.
pub(crate) fn decode(json: &str, project: &Path) -> Option<HostMessage> {
    let message = stored::Message::read(json).filter(|message| !message.id.is_empty())?;
    Some(HostMessage { json: json.to_owned(), ..shown(&message, project) })
}

/// Returns a message that has been read, without its stored form.
pub(crate) fn shown(message: &stored::Message, project: &Path) -> HostMessage {
    let (role, standing) = (message.role(), message.kind());
    let parts = message.parts();
    let words = words(parts, role);
    let summary = (standing == MessageKind::Summary).then(|| all_texts(parts));
    let tokens = Some(all_tokens(&message.tokens)).filter(|tokens| *tokens > 0);
    let broken_off = role == Role::Assistant && message.error.is_some();
    let opened = message.calls().filter_map(opening).collect();
    let tasks = message.calls().filter_map(task).collect();
    let (said, heard) = tokens_of(parts, role);
    let outputs = message.calls().filter_map(Call::output);
    let returned = outputs.map(|output| output.chars().count()).sum();
    let results = parts.iter().filter_map(maskable).collect();
    let parts = parts.iter().map(|it| part(it, project)).collect();
    HostMessage {
        message: Message { id: message.id.clone(), role, standing, parts },
        json: String::new(),
        broken_off,
        opened,
        tasks,
        tokens,
        said,
        heard,
        returned,
        results,
        words,
        summary,
    }
}

/// Tokens of a request and its answer. Counts that no program reports exactly are none.
fn all_tokens(tokens: &Tokens) -> u64 {
    let counts = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_written];
    counts.into_iter().flatten().filter(|count| *count <= MOST_TOKENS).sum()
}

/// Returns the estimated tokens of a message, and of the part of it that is new to the next step.
fn tokens_of(parts: &[stored::Part], role: Role) -> (usize, usize) {
    let (mut said, mut heard) = (0, 0);
    for part in parts {
        if let Some(call) = part.call().filter(|call| call.status.is_some()) {
            said += estimate(&call.made.input.to_string());
            heard += call.result().map_or(0, estimate);
        } else if !matches!(part.body, Body::Text { ignored: true, .. }) {
            let slot = if role == Role::User { &mut heard } else { &mut said };
            *slot += estimate(part.words());
        }
    }
    (said, heard)
}

/// Tools whose results never leave the context while the work goes on: those of our own tools are texts of ours, a
/// subagent's answer is short for its work, and a skill is to be followed.
const KEPT: [&str; 5] = ["stack", "flame", "task", "todo", "skill"];

/// A result that may leave the context while the work goes on.
fn maskable(part: &stored::Part) -> Option<ResultWeight> {
    let call = part.call().filter(|call| call.made.state == CallState::Completed)?;
    let ToolCall { tool, input, .. } = &call.made;
    if tool.is_empty() || KEPT.iter().any(|it| tool.starts_with(it)) {
        return None;
    }
    // A line can't replace a picture, nor a result that OpenCode has cleared itself.
    let output = call.output().filter(|_| !call.has_attachments && !call.is_cleared)?;
    let written = input.to_string();
    let subject = match (tool.as_str(), input["filePath"].as_str()) {
        ("read", Some(path)) => Subject::read(path, hash(&(tool.as_str(), &written)), output),
        ("write", Some(path)) => Subject::written(path),
        _ => Subject::called(tool, &written),
    };
    let (part, tokens) = (part.id.clone(), estimate(output));
    Some(ResultWeight { part, tokens, subject: Some(subject) })
}

/// Reads only the beginning of a long text: a whole history is decoded after a restart.
fn estimate(text: &str) -> usize {
    let end = text.floor_char_boundary(SAMPLE);
    let tokens = estimate_tokens(&text[..end]);
    if end == text.len() { tokens } else { tokens * text.len() / end.max(1) }
}

fn own_texts(parts: &[stored::Part]) -> impl DoubleEndedIterator<Item = &str> {
    let texts = parts.iter().filter_map(stored::Part::own_text);
    texts.map(str::trim).filter(|text| !text.is_empty())
}

fn all_texts(parts: &[stored::Part]) -> String {
    own_texts(parts).collect::<Vec<_>>().join("\n\n")
}

fn words(parts: &[stored::Part], role: Role) -> String {
    let mut texts = own_texts(parts);
    match role {
        Role::User => texts.collect::<Vec<_>>().join("\n"),
        Role::Assistant => texts.next_back().unwrap_or_default().to_owned(),
    }
}

fn part(part: &stored::Part, project: &Path) -> Part {
    let body = match &part.body {
        // Parts that OpenCode ignores are never sent to the model.
        Body::Text { text, synthetic, ignored: false } => {
            let text = text.trim();
            PartBody::Text {
                synthetic: *synthetic,
                chars: text.chars().count(),
                head: text.chars().take(HEAD).collect(),
            }
        }
        // The user asked for it, in words of their own.
        Body::Asked(Asked::Subagent, _) => {
            PartBody::Text { synthetic: false, chars: 0, head: String::new() }
        }
        Body::Reasoning { sealed, .. } => PartBody::Reasoning { sealed: *sealed },
        Body::Call(call) => call_of(call, project).into(),
        Body::File { name, mime } => PartBody::File {
            name: name.clone().unwrap_or_else(|| "file".to_owned()),
            mime: mime.clone().unwrap_or_default(),
        },
        _ => PartBody::Other,
    };
    Part { id: part.id.clone(), body }
}

/// Tools with which a frame begins.
const OPENING: [&str; 4] =
    ["stack_frame_push", "stack_frame_activate", "flame_push", "flame_activate"];

/// Whether a frame may have begun or returned without the model's knowledge: this process ended before its answer
/// arrived, and the plugin asked the model to go on without frames.
fn answer_lost(call: &Call) -> bool {
    let tool = call.made.tool.as_str();
    let reached = call.made.input["op"].as_str().filter(|_| tool == "stack");
    let operation = reached.unwrap_or(tool);
    let short = |it: &str| reached.is_some_and(|op| it.strip_prefix("stack_") == Some(op));
    let opening = OPENING.iter().any(|it| *it == operation || short(it));
    opening && !call.metadata["callstack"].is_object()
}

/// The call of ours with which a frame began, and the frame's id, which a fork of the session keeps.
fn opening(call: &Call) -> Option<(String, String)> {
    let frame = call.metadata["callstack"]["opened"].as_str()?;
    Some((call.made.id.clone(), frame.to_owned())).filter(|(call, _)| !call.is_empty())
}

/// Returns a call of OpenCode's own that had a subagent work in a session of its own. The message of the call is
/// being sent to the model, so nobody waits for the call any more, whatever its state; but a subagent that continues
/// in the background has not returned yet.
fn task(call: &Call) -> Option<ReturnedTask> {
    let session = call.metadata["sessionId"].as_str().filter(|_| call.made.tool == "task")?;
    let answer = call.result().unwrap_or_default();
    let outcome = match call.made.state {
        CallState::Completed if call.metadata["background"] == true => return None,
        CallState::Completed => Ok(task_result(answer)),
        CallState::Failed => {
            let message = answer.trim();
            let failed = message.strip_prefix("Subagent failed");
            let why =
                failed.and_then(|rest| rest.split_once("): ")).map_or(message, |(_, why)| why);
            Err(Trouble { aborted: failed.is_none(), message: why.to_owned() })
        }
        CallState::Open => {
            Err(Trouble { aborted: true, message: "its caller was interrupted".to_owned() })
        }
    };
    Some(ReturnedTask { session: session.to_owned(), outcome })
}

/// Returns the answer of a subagent, without the marks that OpenCode puts around it.
fn task_result(output: &str) -> String {
    let inner = output
        .split_once("<task_result>")
        .and_then(|(_, rest)| Some(rest.rsplit_once("</task_result>")?.0));
    inner.unwrap_or(output).trim().to_owned()
}

/// Tools that write the files that their arguments or metadata name.
const WRITING: [&str; 5] = ["write", "edit", "multiedit", "patch", "apply_patch"];

/// Reads a call: in short, since its message is on the disk.
fn call_of(call: &Call, project: &Path) -> ToolCall {
    let made = &call.made;
    let (id, tool) = (made.id.as_str(), made.tool.as_str());
    if call.status.is_none() {
        return ToolCall::new(id, tool, CallState::Open);
    }
    let action = action(call, project);
    let division = divided(made);
    let is_named = action == Action::Other && !matches!(tool, "bash" | "read");
    let input_hash = (is_named && made.state == CallState::Completed).then(|| {
        let mut hasher = DefaultHasher::new();
        made.input.to_string().hash(&mut hasher);
        hasher.finish()
    });
    let output = match (&division, made.state) {
        (_, CallState::Failed) => Some(first_line(call.result().unwrap_or_default())),
        (Some(Division::Subagent { .. }), _) => made.output.clone(),
        _ => None,
    };
    let state = if answer_lost(call) { CallState::Failed } else { made.state };
    ToolCall {
        input_hash,
        output,
        exit: made.exit,
        began: made.began,
        ended: made.ended,
        action,
        division,
        ..ToolCall::new(id, tool, state)
    }
}

/// Returns the action of a call, of a command its first line.
fn action(call: &Call, project: &Path) -> Action {
    let relative = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(project).unwrap_or(path).to_string_lossy().into_owned()
    };
    let ToolCall { tool, input, .. } = &call.made;
    match (tool.as_str(), input["command"].as_str(), input["filePath"].as_str()) {
        ("bash", Some(command), _) => Action::Ran(first_line(command)),
        ("read", _, Some(path)) => Action::Read(relative(path)),
        (tool, ..) if WRITING.contains(&tool) => {
            let files = written(input, &call.metadata);
            Action::Wrote(files.iter().map(|path| relative(path)).collect())
        }
        _ => Action::Other,
    }
}

/// Returns the division of work that a call shows.
fn divided(call: &ToolCall) -> Option<Division> {
    match (call.tool.as_str(), call.state) {
        ("todowrite", CallState::Completed) => {
            let items = call.input["todos"].as_array()?.iter().filter_map(todo).collect();
            Some(Division::Todos(items))
        }
        ("task", _) => {
            let text = |name: &str| call.input[name].as_str().unwrap_or_default().to_owned();
            Some(Division::Subagent { title: text("description"), prompt: text("prompt") })
        }
        _ => None,
    }
}

fn todo(item: &Value) -> Option<Todo> {
    Some(Todo {
        id: item["id"].as_str().map(str::to_owned),
        content: item["content"].as_str()?.to_owned(),
        status: match item["status"].as_str()? {
            "in_progress" => TodoStatus::InProgress,
            "completed" => TodoStatus::Completed,
            "cancelled" => TodoStatus::Cancelled,
            _ => TodoStatus::Pending,
        },
    })
}

/// Returns the first line of a text without secrets, which may not be recognized in the line alone.
fn first_line(text: &str) -> String {
    let text = text.trim();
    // Masking all of a long output would hold up the request that brings it.
    let beginning = text.get(..text.floor_char_boundary(LOOKED_AT)).unwrap_or(text);
    let masked = mask(beginning);
    let line = masked.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(LINE).collect();
    if short.len() < masked.len() || beginning.len() < text.len() {
        short.push_str(" …");
    }
    short
}

/// The files that a tool has just written, from the small fields that the plugin sends.
pub(super) fn written(args: &Value, metadata: &Value) -> Vec<String> {
    let mut files = Vec::new();
    let mut add = |path: Option<&str>| {
        if let Some(path) = path
            && !files.iter().any(|known| known == path)
        {
            files.push(path.to_owned());
        }
    };
    for file in metadata["files"].as_array().into_iter().flatten() {
        let deleted = file["type"] == "delete";
        add(file["movePath"].as_str().or_else(|| file["filePath"].as_str()).filter(|_| !deleted));
    }
    add(metadata["filepath"].as_str());
    if files.is_empty() {
        files.extend(args["filePath"].as_str().map(str::to_owned));
    }
    files
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
