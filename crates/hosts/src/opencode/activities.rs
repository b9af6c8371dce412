//! The content of OpenCode's messages, for evidence.

use std::path::Path;

use callstack_core::evidence::{Action, Activity};
use callstack_core::transcript::{CallState, ToolCall};
use callstack_recordings::tool_input::{edits, with_places};
use serde_json::Value;

use super::decode::written;

/// Returns an agent's words, thoughts and calls in a stored message, each with the id of its part. Empty for a user's
/// message. Calls of our own tools are left out: frames show how work was divided.
pub fn activities(json: &str, project: &Path) -> Vec<(String, Activity)> {
    let Ok(message) = serde_json::from_str::<Value>(json) else { return Vec::new() };
    if message["info"]["role"] != "assistant" {
        return Vec::new();
    }
    let parts = message["parts"].as_array().into_iter().flatten();
    let id = |part: &Value| part["id"].as_str().unwrap_or_default().to_owned();
    parts.filter_map(|part| Some((id(part), activity(part, project)?))).collect()
}

/// The prefixes of tools that are not part of the work itself.
const OURS: [&str; 3] = ["stack", "flame", "todo"];

/// Reads a call, without the meaning that its tool gives it.
pub(crate) fn called(part: &Value, tool: &str) -> ToolCall {
    let state = &part["state"];
    let output = state["output"].as_str().or_else(|| state["error"].as_str());
    let status = state["status"].as_str().unwrap_or_default();
    ToolCall {
        input: state["input"].clone(),
        output: output.map(str::to_owned),
        exit: state["metadata"]["exit"].as_i64(),
        began: state["time"]["start"].as_i64(),
        ended: state["time"]["end"].as_i64(),
        ..ToolCall::new(part["callID"].as_str().unwrap_or_default(), tool, state_of(status))
    }
}

/// Returns the state of a call by its status.
pub(crate) fn state_of(status: &str) -> CallState {
    match status {
        "completed" => CallState::Completed,
        "error" => CallState::Failed,
        _ => CallState::Open,
    }
}

fn activity(part: &Value, project: &Path) -> Option<Activity> {
    if part["type"] == "text" && part["synthetic"] != true && part["ignored"] != true {
        return Some(Activity::Said(part["text"].as_str()?.to_owned()));
    }
    if part["type"] == "reasoning" {
        let thought = part["text"].as_str()?.trim();
        return (!thought.is_empty()).then(|| Activity::Thought(thought.to_owned()));
    }
    let tool = part["tool"].as_str()?;
    if OURS.iter().any(|begin| tool.starts_with(begin)) {
        return None;
    }
    let state = &part["state"];
    let relative = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(project).unwrap_or(path).to_string_lossy().into_owned()
    };
    let named = |name: &str| state["input"][name].as_str();
    let files = written(&state["input"], &state["metadata"]);
    let action = match (named("command"), named("filePath")) {
        (Some(command), _) => Action::Ran(command.to_owned()),
        (None, Some(path)) if tool == "read" => Action::Read(relative(path)),
        _ if !files.is_empty() && tool != "read" => {
            Action::Wrote(files.iter().map(|path| relative(path)).collect())
        }
        _ => Action::Other,
    };
    Some(Activity::called(ToolCall {
        edits: if matches!(action, Action::Wrote(_)) {
            with_places(edits(&state["input"], &files), &state["metadata"])
        } else {
            Vec::new()
        },
        action,
        ..called(part, tool)
    }))
}

#[cfg(test)]
#[path = "activities_tests.rs"]
mod tests;
