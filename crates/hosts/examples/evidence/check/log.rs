//! The actions in a span, read from its stored messages.

use std::fmt::Write as _;

use serde_json::Value;

/// Something that was done by a call.
#[derive(Clone, Debug)]
pub(crate) struct Did {
    pub kind: Kind,
    /// Whether it went well.
    pub ok: bool,
    /// The output of the call.
    pub output: String,
    /// The whole call, for its size; empty for further actions of the same call.
    pub whole: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A text in a file took the place of another.
    Replaced {
        path: String,
        old: String,
        new: String,
        all: bool,
        was: Option<String>,
    },
    /// A file was written as a whole.
    Written {
        path: String,
        text: String,
        was: Option<String>,
    },
    /// A file was removed.
    Removed {
        path: String,
    },
    /// A file was read: from a line on, and so many lines.
    Read {
        path: String,
        from: Option<usize>,
        lines: Option<usize>,
    },
    /// A command was run.
    Ran {
        line: String,
        exit: Option<i64>,
    },
    /// Something was said.
    Said,
    Other,
}

/// Returns the actions of a message's parts, each with the id of its call.
pub(crate) fn done_in(message: &Value) -> Vec<(Option<String>, Vec<Did>)> {
    if message["info"]["role"] != "assistant" {
        return Vec::new();
    }
    let parts = message["parts"].as_array().into_iter().flatten();
    parts.map(|part| (part["callID"].as_str().map(str::to_owned), done(message, part))).collect()
}

fn done(message: &Value, part: &Value) -> Vec<Did> {
    if part["type"] == "text" {
        let whole = part["text"].as_str().unwrap_or_default().to_owned();
        return vec![Did { kind: Kind::Said, ok: true, output: String::new(), whole }];
    }
    if part["type"] != "tool" {
        return Vec::new();
    }
    let state = &part["state"];
    let input = &state["input"];
    let output = ["output", "error"].iter().find_map(|name| state[*name].as_str());
    let output = output.unwrap_or_default().to_owned();
    let exit = state["metadata"]["exit"].as_i64();
    let ok = state["status"] == "completed";
    let was = original(message, part);
    let mut whole = input.to_string();
    whole.push_str(&output);
    let kinds = kinds(part["tool"].as_str().unwrap_or_default(), input, exit, was.as_ref());
    let each = kinds.into_iter().enumerate().map(|(at, kind)| Did {
        kind,
        ok,
        output: output.clone(),
        whole: if at == 0 { whole.clone() } else { String::new() },
    });
    each.collect()
}

/// Returns the file before an edit, where a host recorded it.
fn original(message: &Value, part: &Value) -> Option<String> {
    let metadata = &part["state"]["metadata"];
    if let Some(before) = metadata["filediff"]["before"].as_str() {
        return Some(before.to_owned());
    }
    if metadata["exists"] == false {
        return Some(String::new());
    }
    let records = message["recorded"]["records"].as_array()?;
    let of_call = |record: &&Value| {
        let results = record["message"]["content"].as_array().into_iter().flatten();
        results.into_iter().any(|it| it["tool_use_id"] == part["callID"])
    };
    let result = &records.iter().find(of_call)?["toolUseResult"];
    match (&result["originalFile"], &result["type"]) {
        (Value::String(text), _) => Some(text.clone()),
        (_, Value::String(kind)) if kind == "create" => Some(String::new()),
        _ => None,
    }
}

fn text(value: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| value[*name].as_str()).map(str::to_owned)
}

fn kinds(tool: &str, input: &Value, exit: Option<i64>, was: Option<&String>) -> Vec<Kind> {
    let path = text(input, &["filePath", "file_path", "path", "notebook_path"]);
    let mut texts = Vec::new();
    all_texts(input, &mut texts);
    if let Some(patch) = texts.iter().find(|text| text.contains("*** Begin Patch")) {
        return patched(patch);
    }
    let command = match &input["command"] {
        Value::Array(words) => words.last().and_then(Value::as_str).map(str::to_owned),
        _ => text(input, &["command", "cmd"]),
    };
    let name = tool.to_lowercase();
    if let Some(path) = path.clone() {
        let mut pairs: Vec<&Value> = vec![input];
        pairs.extend(input["edits"].as_array().into_iter().flatten());
        let replaced = pairs.into_iter().filter_map(|pair| {
            Some(Kind::Replaced {
                path: path.clone(),
                old: text(pair, &["oldString", "old_string", "oldText", "old_str"])?,
                new: text(pair, &["newString", "new_string", "newText", "new_str"])?,
                all: ["replaceAll", "replace_all"].iter().any(|name| pair[*name] == true),
                was: was.cloned(),
            })
        });
        let replaced: Vec<Kind> = replaced.collect();
        if !replaced.is_empty() {
            return replaced;
        }
        if let Some(text) = text(input, &["content", "file_text"]) {
            return vec![Kind::Written { path, text, was: was.cloned() }];
        }
        if name.contains("read") || name.contains("view") {
            let number = |name: &str| input[name].as_u64().and_then(|it| usize::try_from(it).ok());
            return vec![Kind::Read { path, from: number("offset"), lines: number("limit") }];
        }
    }
    match command {
        Some(line) => vec![Kind::Ran { line, exit }],
        None => vec![Kind::Other],
    }
}

fn all_texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| all_texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|item| all_texts(item, found)),
        _ => {}
    }
}

/// The hunks of a patch as Codex writes them.
fn patched(patch: &str) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    let mut file = String::new();
    for line in patch.lines() {
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            let (text, was) = (String::new(), Some(String::new()));
            kinds.push(Kind::Written { path: path.trim().to_owned(), text, was });
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            kinds.push(Kind::Removed { path: path.trim().to_owned() });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            path.trim().clone_into(&mut file);
            kinds.push(hunk(&file));
        } else if line.starts_with("@@") {
            kinds.push(hunk(&file));
        } else if !line.starts_with("***") {
            let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            match kinds.last_mut() {
                Some(Kind::Written { text, .. }) if mark == "+" => {
                    text.push_str(rest);
                    text.push('\n');
                }
                Some(Kind::Replaced { old, new, .. }) => {
                    for (side, leaves) in [(old, "+"), (new, "-")] {
                        if mark != leaves {
                            side.push_str(rest);
                            side.push('\n');
                        }
                    }
                }
                _ => {}
            }
        }
    }
    kinds.retain(|kind| !matches!(kind, Kind::Replaced { old, new, .. } if old == new));
    kinds
}

fn hunk(path: &str) -> Kind {
    let (path, old, new) = (path.to_owned(), String::new(), String::new());
    Kind::Replaced { path, old, new, all: false, was: None }
}

/// Returns the log for people: each call with the beginning of its result.
pub(crate) fn shown(log: &[Did]) -> String {
    let cut = |text: &str, most: usize| -> String { text.chars().take(most).collect() };
    let mut out = String::new();
    for did in log {
        let ok = if did.ok { "" } else { "FAILED " };
        let answer = || {
            let end: Vec<char> = did.output.chars().rev().take(300).collect();
            end.into_iter().rev().collect::<String>().replace('\n', "\n    ")
        };
        let line = match &did.kind {
            Kind::Replaced { path, old, new, .. } => {
                format!(
                    "replaced in {path}\n<<<\n{}\n===\n{}\n>>>",
                    cut(old, 1_500),
                    cut(new, 2_500)
                )
            }
            Kind::Written { path, text, .. } => format!("written {path}\n{}", cut(text, 3_000)),
            Kind::Removed { path } => format!("removed {path}"),
            Kind::Read { path, from, lines } => {
                format!("read {path} from {from:?} lines {lines:?}")
            }
            Kind::Ran { line, exit } => format!("ran {line} exit {exit:?}\n    {}", answer()),
            Kind::Said => format!("said {}", cut(&did.whole, 1_000)),
            Kind::Other => "other call".to_owned(),
        };
        let _infallible = writeln!(out, "{ok}{line}");
    }
    out
}
