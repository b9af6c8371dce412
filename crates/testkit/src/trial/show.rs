//! A request as a reader sees it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callstack_scripted_model::{RecordedRequest, RequestKind, content_text};
use serde_json::Value;

use super::folder::Folder;
use crate::TestError;

/// The most characters that are printed at once; the rest is written to a file.
const MOST: usize = 24_000;
/// The length up to which a message is printed whole even if not everything is printed.
const SHORT: usize = 2_000;

/// The request from message `from` on, for a terminal. Content that is too long for one is written to files as a
/// whole.
pub(super) fn show(
    folder: &Folder,
    number: usize,
    request: &RecordedRequest,
    from: usize,
) -> Result<String, TestError> {
    let head = head(number, request, from);
    let tools = if from == 0 { tools(request) } else { String::new() };
    let names = names(request);
    let messages: Vec<String> = (from..request.messages().len())
        .filter_map(|at| Some(message(at, request.messages().get(at)?, &names)))
        .collect();
    let whole = format!("{head}{tools}{}", messages.concat());
    if whole.chars().count() <= MOST {
        return Ok(whole);
    }
    let name = format!("shown/{number:04}.txt");
    folder.write(&name, &whole)?;
    let file = folder.path().join(&name);
    let mut cut = format!("{head}All of it stands in {}\n", file.display());
    if !tools.is_empty() {
        cut.push_str("(the tools stand in that file)\n");
    }
    for (at, text) in (from..).zip(&messages) {
        cut.push_str(&shortened(folder, number, at, text)?);
    }
    Ok(if cut.chars().count() <= MOST {
        cut
    } else {
        let count = whole.chars().count();
        format!("{head}It is {count} characters; read all of it, in parts: {}\n", file.display())
    })
}

fn shortened(folder: &Folder, number: usize, at: usize, text: &str) -> Result<String, TestError> {
    let count = text.chars().count();
    if count <= SHORT {
        return Ok(text.to_owned());
    }
    let name = format!("shown/{number:04}-{at}.txt");
    folder.write(&name, text)?;
    let beginning: String = text.chars().take(SHORT / 2).collect();
    let file = folder.path().join(&name);
    Ok(format!("{beginning}\n… {count} characters in all; read all of it: {}\n", file.display()))
}

fn head(number: usize, request: &RecordedRequest, from: usize) -> String {
    let count = request.messages().len();
    let mut head = format!("REQUEST {number}, {count} messages");
    match from {
        0 => {}
        _ if from == count => head.push_str(", the same as before: its answer did not arrive"),
        _ => {
            // Writing to a String cannot fail.
            let _ = write!(head, ", new from [{from}] on");
        }
    }
    match (&request.parent, request.kind) {
        (_, RequestKind::Compaction) => {
            head.push_str(" (the agent wants a summary: answer with a text, without calls)");
        }
        (Some(_), _) => head.push_str(" (a session that another session started)"),
        (None, _) => {}
    }
    head.push('\n');
    head
}

fn tools(request: &RecordedRequest) -> String {
    let mut out = "\nTOOLS (name, description, JSON schema of the input)\n".to_owned();
    for tool in request.tools() {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or("?");
        let description = function["description"].as_str().unwrap_or_default();
        let _ = writeln!(out, "* {name}: {description}\n  {}", function["parameters"]);
    }
    out.push_str("\nCONVERSATION\n");
    out
}

/// The tools' names by the ids of their calls.
fn names(request: &RecordedRequest) -> BTreeMap<&str, &str> {
    calls(request.messages())
        .filter_map(|call| Some((call["id"].as_str()?, call["function"]["name"].as_str()?)))
        .collect()
}

pub(super) fn calls(messages: &[Value]) -> impl Iterator<Item = &Value> {
    messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten()
}

fn message(at: usize, message: &Value, names: &BTreeMap<&str, &str>) -> String {
    let text = content_text(&message["content"]);
    let mut out = match message["role"].as_str() {
        Some("assistant") => format!("--- [{at}] you\n"),
        Some("tool") => {
            let id = message["tool_call_id"].as_str().unwrap_or("?");
            let name = names.get(id).copied().unwrap_or("?");
            format!("--- [{at}] result of {name} ({id})\n")
        }
        role => format!("--- [{at}] {}\n", role.unwrap_or("?")),
    };
    if let Some(reasoning) = message["reasoning_content"].as_str().filter(|text| !text.is_empty()) {
        let _ = writeln!(out, "(thought) {reasoning}");
    }
    if !text.is_empty() {
        let _ = writeln!(out, "{text}");
    }
    for call in calls(std::slice::from_ref(message)) {
        let said = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let function = &call["function"];
        let (id, name, input) =
            (said(&call["id"]), said(&function["name"]), said(&function["arguments"]));
        let _ = writeln!(out, "> {name} {input} ({id})");
    }
    out
}
