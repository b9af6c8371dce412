//! Recorded messages as evidence reads them.

use callstack_core::evidence::{Action, Activity};
use callstack_core::framing::Division;
use callstack_core::transcript::{CallState, MessageKind, Role, ToolCall};

use crate::tool_input::edits;
use crate::{Recorded, RecordedPart};

impl Recorded {
    /// Returns the agent's words, thoughts and calls for evidence, each with the place of its part. The user's words,
    /// summaries, and calls that only write a todo list are left out: frames show how work was divided.
    pub fn activities(&self) -> Vec<(usize, Activity)> {
        if self.role != Role::Assistant || self.standing != MessageKind::Normal {
            return Vec::new();
        }
        let activity = |part: &RecordedPart| match part {
            RecordedPart::Text { text, synthetic: false } => Some(Activity::Said(text.clone())),
            RecordedPart::Reasoning(text) if !text.trim().is_empty() => {
                Some(Activity::Thought(text.clone()))
            }
            RecordedPart::Call(call) if !matches!(call.division, Some(Division::Todos(_))) => {
                Some(Activity::called(seen(call)))
            }
            _ => None,
        };
        let parts = self.parts.iter().enumerate();
        parts.filter_map(|(at, part)| Some((at, activity(part)?))).collect()
    }
}

/// The output without the lines that Codex puts before it: the exit code and the time it took.
fn printed(output: &str) -> &str {
    const HEADS: [&str; 3] = ["Exit code: ", "Wall time: ", "Total output lines: "];
    let mut rest = output;
    while let Some((line, after)) = rest.split_once('\n') {
        if line == "Output:" {
            return after;
        }
        if !HEADS.iter().any(|head| line.starts_with(head)) {
            break;
        }
        rest = after;
    }
    output
}

/// The call as evidence reads it.
fn seen(call: &ToolCall) -> ToolCall {
    let edits = match &call.action {
        Action::Wrote(paths) if call.state == CallState::Completed && call.edits.is_empty() => {
            edits(&call.input, paths)
        }
        _ => call.edits.clone(),
    };
    let output = call.output.as_deref().map(|output| printed(output).to_owned());
    ToolCall { output, edits, ..call.clone() }
}
