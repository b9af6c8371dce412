//! A tool call, in the one form in which live sessions, stored messages and recordings show it.

use serde_json::Value;

use super::CallState;
use crate::evidence::{Action, Edit};
use crate::framing::Division;
use crate::secrets::mask_named;

/// A tool call with its result.
///
/// Readers of stored messages and of recordings fill it in whole. In the transcript of a live session, which is held
/// in memory and whose messages are on the disk, it is short: see each field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The host's id of it, which a fork keeps.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// How it ended.
    pub state: CallState,
    /// Its arguments; null where it is short.
    pub input: Value,
    /// A hash of the arguments, by which a repeated call is known from a new one. Only where it is short, and known by
    /// nothing else.
    pub input_hash: Option<u64>,
    /// The answer for the model, or the error; none where there is none yet. Where it is short, it is the answer of a
    /// subagent or the first line of an error.
    pub output: Option<String>,
    /// The exit code, where the host reports one.
    pub exit: Option<i64>,
    /// When it began, where the host reports it: milliseconds since 1970.
    pub began: Option<i64>,
    /// When it had ended.
    pub ended: Option<i64>,
    /// The action that it took, or tried to take where it failed, as far as the host's tools are known. Where it is
    /// short, of a command it has the first line.
    pub action: Action,
    /// The edits that it made to files, in order; none where it is short.
    pub edits: Vec<Edit>,
    /// The division of work that it shows.
    pub division: Option<Division>,
}

impl ToolCall {
    /// Returns a call of a tool of which nothing else is known.
    pub fn new(id: impl Into<String>, tool: impl Into<String>, state: CallState) -> Self {
        Self { id: id.into(), tool: tool.into(), state, ..Self::default() }
    }

    /// Whether the host calls it failed.
    pub fn is_failed(&self) -> bool {
        self.state == CallState::Failed
    }

    /// Whether it failed, by the host's report or by its exit code.
    pub fn has_failed(&self) -> bool {
        self.is_failed() || self.exit.is_some_and(|exit| exit != 0)
    }

    /// Returns the file that it read; none where it failed.
    pub fn file_read(&self) -> Option<&str> {
        match &self.action {
            Action::Read(path) if !self.is_failed() => Some(path),
            _ => None,
        }
    }

    /// Returns the files that it is known to have written.
    pub fn files_written(&self) -> &[String] {
        match &self.action {
            Action::Wrote(paths) if self.state == CallState::Completed => paths,
            _ => &[],
        }
    }

    /// Removes what it shows of its work, but for its outcome, and for a todo list: where the work was divided stays
    /// known.
    pub fn empty(&mut self) {
        (self.input, self.input_hash, self.output) = (Value::Null, None, None);
        (self.action, self.edits) = (Action::Other, Vec::new());
        if let Some(Division::Subagent { title, prompt }) = &mut self.division {
            title.clear();
            prompt.clear();
        }
    }

    /// Returns all texts of its arguments, a line each, without those that are secrets by their names.
    pub fn input_text(&self) -> String {
        masked_texts(&self.input)
    }

    /// Returns its answer; empty where there is none.
    pub fn output_text(&self) -> &str {
        self.output.as_deref().unwrap_or_default()
    }
}

/// Returns all texts in a value, a line each.
pub fn texts(value: &Value) -> String {
    joined(value, &|_, _| None)
}

/// Returns the same with masks for values that only their names show to be secrets: the names are lost here.
fn masked_texts(value: &Value) -> String {
    joined(value, &mask_named)
}

/// Returns all texts in a value, a line each; `instead` may know by its name of another one for a text.
fn joined(value: &Value, instead: &dyn Fn(&str, &str) -> Option<String>) -> String {
    let texts = |value: &Value| joined(value, instead);
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => items.iter().map(texts).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            let text = |(name, value): (&String, &Value)| {
                let other = value.as_str().and_then(|text| instead(name, text));
                other.unwrap_or_else(|| texts(value))
            };
            fields.iter().map(text).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_only_its_name_makes_a_secret_is_masked() {
        let secret = ["swordfish", "9"].concat();
        let input = json!({ "user": "me", "login": { "password": secret, "tokens": 12 } });
        assert!(texts(&input).contains(&secret));
        let text = ToolCall { input, ..ToolCall::default() }.input_text();
        assert!(!text.contains(&secret), "{text}");
        for part in ["me", "‹masked: password›", "12"] {
            assert!(text.lines().any(|line| line == part), "{part} in {text}");
        }
    }
}
