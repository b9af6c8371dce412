//! Recorded messages as evidence reads them.

use callstack_core::evidence::{Action, Activity, Call};
use callstack_core::transcript::{CallState, MessageKind, Role};

use crate::tool_input::{edits, replaced, told_texts, with_places};
use crate::{Division, Recorded, RecordedCall, RecordedPart, Replaced};

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
                Some(Activity::Called(call.as_seen()))
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

impl RecordedCall {
    /// All texts of its arguments, a line each, without those that are secrets by their names.
    pub fn asked(&self) -> String {
        told_texts(&self.input)
    }

    /// Returns the texts that it replaced in files.
    pub fn replaced(&self) -> Vec<Replaced> {
        match &self.action {
            Action::Wrote(paths) if self.state == CallState::Completed => {
                replaced(&self.input, paths)
            }
            _ => Vec::new(),
        }
    }

    /// The call as evidence reads it.
    pub fn as_seen(&self) -> Call {
        Call {
            tool: self.tool.clone(),
            input: self.asked(),
            output: printed(self.output.as_deref().unwrap_or_default()).to_owned(),
            exit: self.exit,
            failed: self.state == CallState::Failed,
            action: self.action.clone(),
            edits: match &self.action {
                Action::Wrote(paths) if self.state == CallState::Completed => {
                    with_places(edits(&self.input, paths), &self.noted)
                }
                _ => Vec::new(),
            },
        }
    }
}
