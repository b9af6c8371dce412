//! The tools of the recorded programs, and small things that their files have in common.

use callstack_core::evidence::Action;
use callstack_core::framing::{Todo, TodoStatus};
use callstack_core::transcript::{CallState, ToolCall};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::RecordedPart;
pub(super) use callstack_core::transcript::texts;

/// Returns a call that has not been answered yet.
pub fn open_call(id: &str, tool: &str, input: Value) -> ToolCall {
    let action = action(tool, &input);
    ToolCall { input, action, ..ToolCall::new(id, tool, CallState::Open) }
}

/// Returns the action of a call, by the names that the programs give their tools and arguments.
pub(super) fn action(tool: &str, input: &Value) -> Action {
    let named = |names: &[&str]| names.iter().find_map(|name| input[*name].as_str());
    let path = named(&["file_path", "filePath", "notebook_path", "path"]).map(str::to_owned);
    match (tool.to_ascii_lowercase().as_str(), path) {
        (
            "bash" | "powershell" | "shell" | "shell_command" | "local_shell" | "exec_command"
            | "container.exec",
            _,
        ) => command(input).map_or(Action::Other, |line| match patched(input) {
            files if patches(&line) && !files.is_empty() => Action::Wrote(files),
            _ => Action::Ran(line),
        }),
        ("read" | "view" | "view_image" | "notebookread", Some(path)) => Action::Read(path),
        ("write" | "edit" | "multiedit" | "notebookedit", Some(path)) => Action::Wrote(vec![path]),
        ("apply_patch" | "patch", _) => match patched(input) {
            files if files.is_empty() => Action::Other,
            files => Action::Wrote(files),
        },
        _ => Action::Other,
    }
}

/// A command line, or the words of one: `["bash", "-lc", "…"]` is the line that the shell is given.
fn command(input: &Value) -> Option<String> {
    let command = ["command", "cmd"].iter().map(|name| &input[*name]).find(|it| !it.is_null())?;
    if let Some(line) = command.as_str() {
        return Some(line.to_owned());
    }
    let words: Vec<&str> = command.as_array()?.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [] => None,
        [shell, flag, line] if shell.ends_with("sh") && flag.starts_with('-') => {
            Some((*line).to_owned())
        }
        words => Some(words.join(" ")),
    }
}

/// Whether a command line applies a patch that stands in it.
fn patches(line: &str) -> bool {
    let begin = line.find("*** Begin Patch").map(|at| &line[..at]);
    begin.is_some_and(|begin| begin.contains("apply_patch") || begin.contains("applypatch"))
}

/// The files that a patch writes.
fn patched(input: &Value) -> Vec<String> {
    let texts = texts(input);
    let named = |line: &str| {
        ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "]
            .iter()
            .find_map(|begin| line.strip_prefix(begin))
            .map(|path| path.trim().to_owned())
    };
    texts.lines().filter_map(named).collect()
}

/// Returns the text of a content that is a text or a list of parts: the words, and for anything else its kind.
pub(super) fn content(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    let shown = |part: &Value| match (part.as_str(), part["text"].as_str()) {
        (Some(text), _) | (None, Some(text)) => text.to_owned(),
        _ => match part["type"].as_str() {
            Some("tool_reference") => texts(&part["tool_name"]),
            Some(kind) => format!("[{kind}]"),
            None => texts(part),
        },
    };
    match value {
        Value::Array(parts) => parts.iter().map(shown).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        other => texts(other),
    }
}

/// Returns the exit code in an answer, after one of the words that the programs use for it.
pub(super) fn exit(output: &str) -> Option<i64> {
    let begin = output.trim_start();
    let first = ["Exit code", "Process exited with code"];
    let mut rest = first.iter().find_map(|words| begin.strip_prefix(words));
    if rest.is_none() {
        let head = &output[..output.floor_char_boundary(600)];
        rest = head.split_once("Process exited with code").map(|(_, rest)| rest);
    }
    if rest.is_none() {
        let tail = &output[output.floor_char_boundary(output.len().saturating_sub(200))..];
        rest = tail.rsplit_once("Command exited with code").map(|(_, rest)| rest);
    }
    let rest = rest?.trim_start_matches([':', ' ']);
    let end = rest.find(|char: char| !char.is_ascii_digit() && char != '-').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Items of a todo list, each with its words under `content`, as three of the programs write it.
pub(super) fn todos(items: &Value, content: &str) -> Option<Vec<Todo>> {
    let todo = |item: &Value| {
        Some(Todo {
            id: item["id"].as_str().map(str::to_owned),
            content: item[content].as_str()?.to_owned(),
            status: todo_status(item["status"].as_str()?),
        })
    };
    Some(items.as_array()?.iter().filter_map(todo).collect())
}

pub(super) fn todo_status(word: &str) -> TodoStatus {
    match word {
        "in_progress" => TodoStatus::InProgress,
        "completed" => TodoStatus::Completed,
        "cancelled" | "deleted" => TodoStatus::Cancelled,
        _ => TodoStatus::Pending,
    }
}

/// Returns an id for a message without one: it depends on nothing but the text.
pub(super) fn id_of(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let id = hash.iter().take(8).fold(0, |id: u64, byte| id << 8 | u64::from(*byte));
    format!("{id:016x}")
}

/// Milliseconds since 1970 of a time stamp, which is a number or a text.
pub(super) fn time(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            #[expect(clippy::cast_possible_truncation, reason = "a time stamp is far below 2^53")]
            let whole = number.as_f64().map(|it| it as i64);
            number.as_i64().or(whole)
        }
        Value::String(text) => {
            text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
        }
        _ => None,
    }
}

/// Takes a field out of a record, whatever that is.
pub(super) fn taken(value: &mut Value, name: &str) -> Value {
    value.get_mut(name).map(Value::take).unwrap_or_default()
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn words(text: impl Into<String>, synthetic: bool) -> RecordedPart {
    RecordedPart::Text { text: text.into(), synthetic }
}

/// Returns the kind of a record, for counting.
pub(super) fn kind(value: &Value) -> String {
    let kind = value["type"].as_str().unwrap_or("without a type");
    let within = [&value["subtype"], &value["data"]["type"], &value["attachment"]["type"]];
    match within.iter().find_map(|it| it.as_str()) {
        Some(within) => format!("{kind}: {within}"),
        None => kind.to_owned(),
    }
}
