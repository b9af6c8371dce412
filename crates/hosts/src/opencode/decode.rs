//! Decodes OpenCode's messages for the engine. Unknown kinds of parts are kept in the stored JSON and ignored here.
//! Messages of an unusual shape are read as far as possible.

mod lenient;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use callstack_core::evidence::Action;
use callstack_core::framing::{Division, Todo, TodoStatus};
use callstack_core::masking::outputs::ResultWeight;
use callstack_core::masking::subject::{Subject, hash};
use callstack_core::secrets::mask;
use callstack_core::subagent::Trouble;
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{CallState, Message, MessageKind, Part, PartBody, Role, ToolCall};
use callstack_engine::{HostMessage, ReturnedTask};
use serde::Deserialize;
use serde_json::Value;

use super::state_of;
pub(crate) use lenient::decode_any;

/// Characters of a text that a pointer may show.
const HEAD: usize = 200;
/// Characters of a command or an error that are kept in memory.
const LINE: usize = 160;
/// Bytes of a text by which its tokens are estimated: the whole of a long session is decoded before its
/// first call.
const SAMPLE: usize = 512;
/// The largest whole number that JavaScript represents exactly.
const MOST_TOKENS: u64 = (1 << 53) - 1;

#[derive(Deserialize)]
struct Wire {
    info: Info,
    #[serde(default)]
    parts: Vec<WirePart>,
}

#[derive(Deserialize)]
struct Info {
    id: String,
    role: String,
    #[serde(default)]
    summary: Value,
    #[serde(default)]
    finish: Value,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    tokens: Option<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input: u64,
    output: u64,
    cache: Cache,
}

impl Tokens {
    /// Counts that no program reports exactly are none.
    fn total(&self) -> u64 {
        let counts = [self.input, self.output, self.cache.read, self.cache.write];
        counts.into_iter().filter(|count| *count <= MOST_TOKENS).sum()
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cache {
    read: u64,
    write: u64,
}

#[derive(Deserialize, Default)]
struct WirePart {
    #[serde(default)]
    id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    synthetic: bool,
    #[serde(default)]
    ignored: bool,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default, rename = "callID")]
    call: Option<String>,
    #[serde(default)]
    state: Option<State>,
    #[serde(default)]
    filename: Option<String>,
    #[serde(default)]
    mime: Option<String>,
    #[serde(default)]
    metadata: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct State {
    status: String,
    input: Value,
    output: Option<String>,
    error: Option<String>,
    metadata: Value,
    attachments: Value,
    time: Value,
}

/// Decodes one message, as far as it can be read; none if it is no message. `project` is the folder to which file
/// names become relative.
pub(crate) fn decode(json: &str, project: &Path) -> Option<HostMessage> {
    let wire = serde_json::from_str(json).ok().or_else(|| lenient::read(json))?;
    let role = if wire.info.role == "user" { Role::User } else { Role::Assistant };
    let standing = if role == Role::User && wire.parts.iter().any(|it| it.kind == "compaction") {
        MessageKind::CompactionRequest
    } else if role == Role::Assistant && is_summary(&wire.info) {
        MessageKind::Summary
    } else {
        MessageKind::Normal
    };
    let words = words(&wire.parts, role);
    let summary = (standing == MessageKind::Summary).then(|| all_texts(&wire.parts));
    let tokens = wire.info.tokens.as_ref().map(Tokens::total).filter(|tokens| *tokens > 0);
    let mut opened = Vec::new();
    let mut tasks = Vec::new();
    let broken_off = role == Role::Assistant && !wire.info.error.is_null();
    for part in &wire.parts {
        opened.extend(opening(part));
        tasks.extend(task(part));
    }
    let (said, heard) = tokens_of(&wire.parts, role);
    let returned = wire.parts.iter().filter_map(|part| part.state.as_ref()).map(returned).sum();
    let results = wire.parts.iter().filter_map(maskable).collect();
    let parts = wire.parts.into_iter().map(|it| part(it, project)).collect();
    Some(HostMessage {
        message: Message { id: wire.info.id, role, standing, parts },
        json: json.to_owned(),
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
    })
}

/// Returns the estimated tokens of a message, and of the part of it that is new to the next step.
fn tokens_of(parts: &[WirePart], role: Role) -> (usize, usize) {
    let (mut said, mut heard) = (0, 0);
    for part in parts.iter().filter(|part| !part.ignored) {
        if let Some(text) = &part.text {
            let slot = if role == Role::User { &mut heard } else { &mut said };
            *slot += estimate(text);
        }
        if let Some(state) = &part.state {
            said += estimate(&state.input.to_string());
            let result = state.output.as_deref().or(state.error.as_deref());
            heard += result.map_or(0, estimate);
        }
    }
    (said, heard)
}

/// Characters that a call returned.
fn returned(state: &State) -> usize {
    state.output.as_deref().map_or(0, |output| output.chars().count())
}

/// Tools whose results never leave the context while the work goes on: those of our own tools are texts of ours, a
/// subagent's answer is short for its work, and a skill is to be followed.
const KEPT: [&str; 5] = ["stack", "flame", "task", "todo", "skill"];

/// A result that may leave the context while the work goes on.
fn maskable(part: &WirePart) -> Option<ResultWeight> {
    let tool = part.tool.as_deref().filter(|tool| !KEPT.iter().any(|it| tool.starts_with(it)))?;
    let state = part.state.as_ref().filter(|state| state.status == "completed")?;
    // A line can't replace a picture, nor a result that OpenCode has cleared itself.
    let pictures = state.attachments.as_array().is_some_and(|it| !it.is_empty());
    let whole = !pictures && !state.time["compacted"].is_number();
    let output = state.output.as_deref().filter(|_| whole && !tool.is_empty())?;
    let input = state.input.to_string();
    let subject = match (tool, state.input["filePath"].as_str()) {
        ("read", Some(path)) => Subject::read(path, hash(&(tool, &input)), output),
        ("write", Some(path)) => Subject::written(path),
        _ => Subject::called(tool, &input),
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

/// Whether a message is a finished summary. One that was not finished, or failed, hides nothing: OpenCode still sends
/// the messages before it.
fn is_summary(info: &Info) -> bool {
    info.summary == Value::Bool(true) && info.finish.is_string() && info.error.is_null()
}

fn own_texts(parts: &[WirePart]) -> impl DoubleEndedIterator<Item = &str> {
    parts
        .iter()
        .filter(|part| part.kind == "text" && !part.synthetic && !part.ignored)
        .filter_map(|part| part.text.as_deref())
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

fn all_texts(parts: &[WirePart]) -> String {
    own_texts(parts).collect::<Vec<_>>().join("\n\n")
}

fn words(parts: &[WirePart], role: Role) -> String {
    let mut texts = own_texts(parts);
    match role {
        Role::User => texts.collect::<Vec<_>>().join("\n"),
        Role::Assistant => texts.next_back().unwrap_or_default().to_owned(),
    }
}

fn part(part: WirePart, project: &Path) -> Part {
    let body = match part.kind.as_str() {
        // Parts that OpenCode ignores are never sent to the model.
        "text" if !part.ignored => {
            let text = part.text.as_deref().unwrap_or_default().trim();
            PartBody::Text {
                synthetic: part.synthetic,
                chars: text.chars().count(),
                head: text.chars().take(HEAD).collect(),
            }
        }
        // A slash command that a subagent is to run: the user asked for it, in words of their own.
        "subtask" => PartBody::Text { synthetic: false, chars: 0, head: String::new() },
        "reasoning" => PartBody::Reasoning { sealed: is_sealed(&part.metadata) },
        "tool" => call_of(&part, project).into(),
        "file" => PartBody::File {
            name: part.filename.unwrap_or_else(|| "file".to_owned()),
            mime: part.mime.unwrap_or_default(),
        },
        _ => PartBody::Other,
    };
    Part { id: part.id, body }
}

/// The names that providers give to the signature or the encrypted form of reasoning that they want back.
const SEALS: [&str; 5] = [
    "signature",
    "redactedData",
    "reasoningEncryptedContent",
    "thoughtSignature",
    "encrypted_content",
];

/// Whether a provider wants reasoning back at its very place: `metadata` holds the data of each provider.
fn is_sealed(metadata: &Value) -> bool {
    let given = metadata.as_object().into_iter().flat_map(|providers| providers.values());
    given.flat_map(|given| SEALS.iter().map(|seal| &given[*seal])).any(Value::is_string)
}

/// Tools with which a frame begins.
const OPENING: [&str; 4] =
    ["stack_frame_push", "stack_frame_activate", "flame_push", "flame_activate"];

/// Whether a frame may have begun or returned without the model's knowledge: this process ended before its answer
/// arrived, and the plugin asked the model to go on without frames.
fn answer_lost(part: &WirePart) -> bool {
    let Some(state) = &part.state else { return false };
    let reached = state.input["op"].as_str().filter(|_| part.tool.as_deref() == Some("stack"));
    let operation = reached.or(part.tool.as_deref()).unwrap_or_default();
    let short = |it: &str| reached.is_some_and(|op| it.strip_prefix("stack_") == Some(op));
    let opening = OPENING.iter().any(|it| *it == operation || short(it));
    opening && !state.metadata["callstack"].is_object()
}

/// The call of ours with which a frame began, and the frame's id, which a fork of the session keeps.
fn opening(part: &WirePart) -> Option<(String, String)> {
    let metadata = &part.state.as_ref()?.metadata["callstack"];
    let frame = metadata["opened"].as_str()?;
    Some((part.call.clone()?, frame.to_owned()))
}

/// Returns a call of OpenCode's own that had a subagent work in a session of its own. The message of the call is
/// being sent to the model, so nobody waits for the call any more, whatever its state; but a subagent that continues
/// in the background has not returned yet.
fn task(part: &WirePart) -> Option<ReturnedTask> {
    let state = part.state.as_ref().filter(|_| part.tool.as_deref() == Some("task"))?;
    let session = state.metadata["sessionId"].as_str()?.to_owned();
    let outcome = match state.status.as_str() {
        "completed" if state.metadata["background"] == true => return None,
        "completed" => Ok(task_result(state.output.as_deref().unwrap_or_default())),
        "error" => {
            let message = state.error.as_deref().unwrap_or_default().trim();
            let failed = message.strip_prefix("Subagent failed");
            let why =
                failed.and_then(|rest| rest.split_once("): ")).map_or(message, |(_, why)| why);
            Err(Trouble { aborted: failed.is_none(), message: why.to_owned() })
        }
        _ => Err(Trouble { aborted: true, message: "its caller was interrupted".to_owned() }),
    };
    Some(ReturnedTask { session, outcome })
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
fn call_of(part: &WirePart, project: &Path) -> ToolCall {
    let tool = part.tool.clone().unwrap_or_default();
    let id = part.call.clone().unwrap_or_default();
    let Some(state) = &part.state else { return ToolCall::new(id, tool, CallState::Open) };
    let action = action(&tool, state, project);
    let ended = state_of(&state.status);
    let division = divided(&tool, state);
    let is_named = action == Action::Other && !matches!(tool.as_str(), "bash" | "read");
    let input_hash = (is_named && ended == CallState::Completed).then(|| {
        let mut hasher = DefaultHasher::new();
        state.input.to_string().hash(&mut hasher);
        hasher.finish()
    });
    let output = match (&division, ended) {
        (_, CallState::Failed) => Some(first_line(state.error.as_deref().unwrap_or_default())),
        (Some(Division::Subagent { .. }), _) => state.output.clone(),
        _ => None,
    };
    let time = |name: &str| state.time[name].as_i64();
    let state_seen = if answer_lost(part) { CallState::Failed } else { ended };
    ToolCall {
        input_hash,
        output,
        exit: state.metadata["exit"].as_i64(),
        began: time("start"),
        ended: time("end"),
        action,
        division,
        ..ToolCall::new(id, tool, state_seen)
    }
}

/// Returns the action of a call, of a command its first line.
fn action(tool: &str, state: &State, project: &Path) -> Action {
    let relative = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(project).unwrap_or(path).to_string_lossy().into_owned()
    };
    let named = |name: &str| state.input[name].as_str();
    match (tool, named("command"), named("filePath")) {
        ("bash", Some(command), _) => Action::Ran(first_line(command)),
        ("read", _, Some(path)) => Action::Read(relative(path)),
        (tool, ..) if WRITING.contains(&tool) => {
            let files = written(&state.input, &state.metadata);
            Action::Wrote(files.iter().map(|path| relative(path)).collect())
        }
        _ => Action::Other,
    }
}

/// Returns the division of work that a call shows.
fn divided(tool: &str, state: &State) -> Option<Division> {
    match (tool, state.status.as_str()) {
        ("todowrite", "completed") => {
            let items = state.input["todos"].as_array()?.iter().filter_map(todo).collect();
            Some(Division::Todos(items))
        }
        ("task", _) => {
            let text = |name: &str| state.input[name].as_str().unwrap_or_default().to_owned();
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
    let text = mask(text.trim());
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(LINE).collect();
    if short.len() < text.len() {
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
