//! Recordings of agents, as far as they tell what was said and done.

use std::collections::HashMap;
use std::path::Path;

use callstack_core::evidence::{Action, Call, Happening};
use serde_json::Value;

/// A recorded session.
#[derive(Default)]
pub(crate) struct Session {
    pub project: String,
    pub happenings: Vec<Happening>,
    /// Where the user spoke: in front of these happenings.
    turns: Vec<usize>,
    tasks: Vec<(usize, usize)>,
    /// Tasks that are worked on, with where that began.
    begun: HashMap<String, usize>,
    /// Calls that wait for their results, by id.
    waiting: HashMap<String, usize>,
}

impl Session {
    /// User turns and tasks.
    pub(crate) fn spans(&self) -> Vec<(usize, usize)> {
        let ends = self.turns.iter().skip(1).copied().chain([self.happenings.len()]);
        let turns = self.turns.iter().copied().zip(ends);
        turns.chain(self.tasks.iter().copied()).filter(|(from, to)| from < to).collect()
    }

    fn user(&mut self) {
        self.turns.push(self.happenings.len());
    }

    fn said(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.happenings.push(Happening::Said(text.to_owned()));
        }
    }

    fn called(&mut self, id: &str, tool: &str, input: &Value) {
        self.follow(tool, input);
        self.waiting.insert(id.to_owned(), self.happenings.len());
        let call = Call {
            tool: tool.to_owned(),
            input: texts(input),
            action: action(tool, input),
            ..Call::default()
        };
        self.happenings.push(Happening::Called(call));
    }

    fn answered(&mut self, id: &str, output: String, failed: bool) {
        let Some(Happening::Called(call)) =
            self.waiting.remove(id).and_then(|at| self.happenings.get_mut(at))
        else {
            return;
        };
        if matches!(call.action, Action::Ran(_)) {
            call.exit = exit(&output).or_else(|| (!failed).then_some(0));
        }
        call.failed = failed;
        call.output = output;
    }

    /// Follows a task list.
    fn follow(&mut self, tool: &str, input: &Value) {
        let mut states = Vec::new();
        match tool {
            "TaskUpdate" => states.push((input["taskId"].as_str(), input["status"].as_str())),
            "TodoWrite" => {
                for item in input["todos"].as_array().into_iter().flatten() {
                    states.push((item["content"].as_str(), item["status"].as_str()));
                }
            }
            _ => {}
        }
        for (task, status) in states {
            let Some(task) = task else { continue };
            match status {
                Some("in_progress") => {
                    let here = self.happenings.len() + 1;
                    self.begun.entry(task.to_owned()).or_insert(here);
                }
                Some("completed") => {
                    if let Some(from) = self.begun.remove(task) {
                        self.tasks.push((from, self.happenings.len()));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Reads a recording, if it is one.
pub(crate) fn session(file: &Path) -> Option<Session> {
    let text = std::fs::read_to_string(file).ok()?;
    match file.extension()?.to_str()? {
        "jsonl" => {
            let lines: Vec<Value> =
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            let has = |kind: &str| lines.iter().any(|line| line["type"] == kind);
            Some(if has("session_meta") {
                codex(&lines)
            } else if has("session") {
                pi(&lines)
            } else {
                claude_code(&lines)
            })
        }
        "json" => Some(opencode(&serde_json::from_str(&text).ok()?)),
        "traj" => Some(swe_agent(&serde_json::from_str(&text).ok()?)),
        _ => None,
    }
}

fn claude_code(lines: &[Value]) -> Session {
    let mut session = Session::default();
    for line in lines {
        if session.project.is_empty() {
            session.project = line["cwd"].as_str().unwrap_or_default().replace('\\', "/");
        }
        if line["isSidechain"] == true && line["agentId"].is_null() || line["isMeta"] == true {
            continue;
        }
        let content = &line["message"]["content"];
        let is_user = line["type"] == "user";
        if let Some(text) = content.as_str() {
            if is_user { session.user() } else { session.said(text) }
        }
        for part in content.as_array().into_iter().flatten() {
            let text = |name: &str| part[name].as_str().unwrap_or_default();
            match part["type"].as_str() {
                Some("text") if is_user => session.user(),
                Some("text") => session.said(text("text")),
                Some("tool_use") => session.called(text("id"), text("name"), &part["input"]),
                Some("tool_result") => {
                    let output = texts(&part["content"]);
                    session.answered(text("tool_use_id"), output, part["is_error"] == true);
                }
                _ => {}
            }
        }
    }
    session
}

fn pi(lines: &[Value]) -> Session {
    let mut session = Session::default();
    for line in lines {
        if line["type"] == "session" {
            line["cwd"].as_str().unwrap_or_default().clone_into(&mut session.project);
        }
        let message = &line["message"];
        match message["role"].as_str() {
            Some("user") => session.user(),
            Some("toolResult") => {
                let id = message["toolCallId"].as_str().unwrap_or_default();
                session.answered(id, texts(&message["content"]), message["isError"] == true);
            }
            Some("assistant") => {
                for part in message["content"].as_array().into_iter().flatten() {
                    let text = |name: &str| part[name].as_str().unwrap_or_default();
                    match part["type"].as_str() {
                        Some("text") => session.said(text("text")),
                        Some("toolCall") => {
                            session.called(text("id"), text("name"), &part["arguments"]);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    session
}

fn codex(lines: &[Value]) -> Session {
    let mut session = Session::default();
    for line in lines {
        let payload = &line["payload"];
        let text = |name: &str| payload[name].as_str().unwrap_or_default();
        if line["type"] == "session_meta" {
            text("cwd").clone_into(&mut session.project);
        }
        match (line["type"].as_str(), payload["type"].as_str()) {
            (Some("event_msg"), Some("user_message")) => session.user(),
            (Some("response_item"), Some("message")) if payload["role"] == "assistant" => {
                session.said(&texts(&payload["content"]));
            }
            (Some("response_item"), Some("function_call")) => {
                let input = serde_json::from_str(text("arguments")).unwrap_or_default();
                session.called(text("call_id"), text("name"), &input);
            }
            (Some("response_item"), Some("custom_tool_call")) => {
                session.called(text("call_id"), text("name"), &payload["input"]);
            }
            (Some("response_item"), Some("function_call_output" | "custom_tool_call_output")) => {
                let output = texts(&payload["output"]);
                let failed = exit(&output).is_some_and(|exit| exit != 0);
                session.answered(text("call_id"), output, failed);
            }
            _ => {}
        }
    }
    session
}

fn opencode(export: &Value) -> Session {
    let mut session = Session::default();
    export["info"]["directory"].as_str().unwrap_or_default().clone_into(&mut session.project);
    for message in export["messages"].as_array().into_iter().flatten() {
        if message["info"]["role"] == "user" {
            session.user();
            continue;
        }
        for part in message["parts"].as_array().into_iter().flatten() {
            let text = |name: &str| part[name].as_str().unwrap_or_default();
            if part["type"] == "text" {
                session.said(text("text"));
            } else if part["type"] == "tool" {
                let state = &part["state"];
                session.called(text("callID"), text("tool"), &state["input"]);
                let output = state["output"].as_str().or_else(|| state["error"].as_str());
                let output = output.unwrap_or_default().to_owned();
                session.answered(text("callID"), output, state["status"] == "error");
            }
        }
    }
    session
}

fn swe_agent(trajectory: &Value) -> Session {
    let mut session = Session::default();
    session.user();
    for (at, step) in trajectory["trajectory"].as_array().into_iter().flatten().enumerate() {
        session.said(step["thought"].as_str().unwrap_or_default());
        let id = at.to_string();
        session.called(&id, "bash", &serde_json::json!({"command": step["action"]}));
        session.answered(&id, texts(&step["observation"]), false);
    }
    session
}

/// All texts in a value, a line each.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => items.iter().map(texts).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.values().map(texts).collect::<Vec<_>>().join("\n"),
        Value::Null | Value::Bool(_) => String::new(),
    }
}

fn action(tool: &str, input: &Value) -> Action {
    let path = ["file_path", "filePath", "path", "notebook_path"]
        .iter()
        .find_map(|name| input[*name].as_str())
        .map(str::to_owned);
    match (tool.to_ascii_lowercase().as_str(), path) {
        ("bash" | "shell" | "shell_command" | "exec_command", _) => {
            let command = input["command"].as_str().or_else(|| input["cmd"].as_str());
            command.map_or(Action::Other, |command| Action::Ran(command.to_owned()))
        }
        ("read" | "view", Some(path)) => Action::Read(path),
        ("write" | "edit" | "multiedit", Some(path)) => Action::Wrote(vec![path]),
        ("apply_patch", _) => {
            let whole = texts(input);
            let named = |line: &str| {
                let rest = line.strip_prefix("*** Update File: ");
                rest.or_else(|| line.strip_prefix("*** Add File: ")).map(str::to_owned)
            };
            Action::Wrote(whole.lines().filter_map(named).collect())
        }
        _ => Action::Other,
    }
}

/// `Exit code: 1`, `Exit code 1`
fn exit(output: &str) -> Option<i64> {
    let rest = output.strip_prefix("Exit code")?.trim_start_matches([':', ' ']);
    rest.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok()
}
