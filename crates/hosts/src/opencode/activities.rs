//! The content of OpenCode's messages, for evidence.

use std::path::Path;

use callstack_core::evidence::{Action, Activity};
use callstack_core::stored::{Call, Message, Part, PartBody};
use callstack_core::transcript::ToolCall;
use callstack_recordings::tool_input::{edits, with_places};

use super::decode::written;

/// Returns an agent's words, thoughts and calls in a stored message, each with the id of its part. Empty for a user's
/// message. Calls of our own tools are left out: frames show how work was divided.
pub(crate) fn activities(message: Message, project: &Path) -> Vec<(String, Activity)> {
    if !message.is_of_assistant() {
        return Vec::new();
    }
    let parts = message.parts.into_iter().flatten();
    parts.filter_map(|Part { id, body }| Some((id, activity(body, project)?))).collect()
}

/// The prefixes of tools that are not part of the work itself.
const OURS: [&str; 3] = ["stack", "flame", "todo"];

fn activity(body: PartBody, project: &Path) -> Option<Activity> {
    match body {
        PartBody::Text { text, synthetic: false, ignored: false } => Some(Activity::Said(text)),
        PartBody::Reasoning { text, .. } => thought(&text),
        PartBody::Call(call) => called(*call, project),
        _ => None,
    }
}

/// Returns a thought; none for one without words.
pub(crate) fn thought(text: &str) -> Option<Activity> {
    let thought = text.trim();
    (!thought.is_empty()).then(|| Activity::Thought(thought.to_owned()))
}

fn called(Call { made, metadata, .. }: Call, project: &Path) -> Option<Activity> {
    let tool = made.tool.as_str();
    if tool.is_empty() || OURS.iter().any(|begin| tool.starts_with(begin)) {
        return None;
    }
    let relative = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(project).unwrap_or(path).to_string_lossy().into_owned()
    };
    let named = |name: &str| made.input[name].as_str();
    let files = written(&made.input, &metadata);
    let action = match (named("command"), named("filePath")) {
        (Some(command), _) => Action::Ran(command.to_owned()),
        (None, Some(path)) if tool == "read" => Action::Read(relative(path)),
        _ if !files.is_empty() && tool != "read" => {
            Action::Wrote(files.iter().map(|path| relative(path)).collect())
        }
        _ => Action::Other,
    };
    let edits = if matches!(action, Action::Wrote(_)) {
        with_places(edits(&made.input, &files), &metadata)
    } else {
        Vec::new()
    };
    Some(Activity::called(ToolCall { edits, action, ..made }))
}

#[cfg(test)]
#[path = "activities_tests.rs"]
mod tests;
