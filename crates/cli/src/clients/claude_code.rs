//! `.mcp.json`: the servers of a project, as Claude Code and others read them.

use callstack_engine::{Scope, Setting};
use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

use super::{ARGUMENT, Edited, NAME, is_ours};
use crate::plugin::Outcome;

const SERVERS: &str = "mcpServers";
const ENVIRONMENT: &str = "env";

pub(super) fn with_entry(text: &str, command: &str) -> Result<Edited, String> {
    let mut document = parsed(text)?;
    let servers = document.entry(SERVERS).or_insert_with(|| json!({}));
    let servers = servers.as_object_mut().ok_or("`mcpServers` is no object")?;
    let is_new = !servers.contains_key(NAME);
    let entry = servers.entry(NAME).or_insert_with(|| json!({}));
    let entry = entry.as_object_mut().ok_or("`mcpServers.callstack` is no object")?;
    let before = entry.clone();
    // The file may have come with the project, which may set what a store may set and nothing else.
    entry.retain(|name, _| name == ENVIRONMENT);
    if let Some(variables) = entry.get_mut(ENVIRONMENT).and_then(Value::as_object_mut) {
        // A value with `$` would be replaced by one of the user's variables.
        variables.retain(|name, value| {
            Setting::find(name).is_some_and(|setting| setting.scope == Scope::Project)
                && value.as_str().is_some_and(|value| !value.contains('$'))
        });
    } else {
        entry.remove(ENVIRONMENT);
    }
    // Otherwise its agent sees the names of the tools alone.
    let wanted =
        json!({"type": "stdio", "command": command, "args": [ARGUMENT], "alwaysLoad": true});
    for (name, value) in wanted.as_object().into_iter().flatten() {
        entry.insert(name.clone(), value.clone());
    }
    let outcome = match (is_new, *entry == before) {
        (true, _) => Outcome::Installed,
        (false, true) => Outcome::Unchanged,
        (false, false) => Outcome::Updated,
    };
    Ok(Edited { outcome, text: Some(written(document, text)?) })
}

pub(super) fn without_entry(text: &str) -> Result<Edited, String> {
    let mut document = parsed(text)?;
    let unchanged = |outcome| Ok(Edited { outcome, text: None });
    let Some(servers) = document.get_mut(SERVERS).and_then(Value::as_object_mut) else {
        return unchanged(Outcome::Absent);
    };
    let Some(entry) = servers.get(NAME) else { return unchanged(Outcome::Absent) };
    let arguments = entry["args"].as_array().into_iter().flatten();
    if !is_ours(&arguments.filter_map(Value::as_str).collect::<Vec<_>>()) {
        return unchanged(Outcome::Kept);
    }
    servers.shift_remove(NAME);
    if servers.is_empty() {
        document.shift_remove(SERVERS);
    }
    let is_empty = document.is_empty();
    let text = if is_empty { None } else { Some(written(document, text)?) };
    Ok(Edited { outcome: Outcome::Removed, text })
}

fn parsed(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text).map_err(|error| format!("it is no JSON object: {error}"))
}

/// Returns a document as text, with the indent that it had before.
fn written(document: Map<String, Value>, before: &str) -> Result<String, String> {
    let indented = before.lines().find(|line| line.starts_with([' ', '\t']));
    let indent = indented.map_or("  ", |line| &line[..line.len() - line.trim_start().len()]);
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    Value::Object(document)
        .serialize(&mut Serializer::with_formatter(&mut bytes, formatter))
        .map_err(|error| error.to_string())?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_is_there_stays_in_its_place_and_shape() {
        let before = "{\n    \"mcpServers\": {\n        \"other\": {\n            \
                      \"command\": \"x\"\n        }\n    }\n}\n";
        let with = with_entry(before, "callstack").unwrap();
        assert_eq!(with.outcome, Outcome::Installed);
        let with = with.text.unwrap();
        assert!(with.starts_with(&before[..before.len() - 12]), "{with}");
        let without = without_entry(&with).unwrap();
        assert_eq!((without.outcome, without.text.as_deref()), (Outcome::Removed, Some(before)));
    }

    #[test]
    fn an_entry_keeps_what_the_user_gave_it() {
        let before =
            r#"{"mcpServers": {"callstack": {"command": "/old", "env": {"STACK_TOOLS": "full"}}}}"#;
        let edited = with_entry(before, "callstack").unwrap();
        assert_eq!(edited.outcome, Outcome::Updated);
        let text = edited.text.unwrap();
        assert!(text.contains("STACK_TOOLS") && !text.contains("/old"), "{text}");
        assert_eq!(with_entry(&text, "callstack").unwrap().outcome, Outcome::Unchanged);
    }

    #[test]
    fn an_entry_that_came_with_the_project_sets_what_a_project_may_set() {
        let before = r#"{"mcpServers": {"callstack": {"command": "callstack", "cwd": "/elsewhere", "env": {
            "LD_PRELOAD": "./x.so", "STACK_SUMMARIZER_ADDRESS": "http://x", "CALLSTACK_TRUST": "/",
            "STACK_ROLLBACK": "on", "STACK_LIMIT_DEPTH": "${AWS_SECRET}", "STACK_TOOLS": "full"}}}}"#;
        let text = with_entry(before, "callstack").unwrap().text.unwrap();
        let entry = &parsed(&text).unwrap()[SERVERS][NAME];
        assert_eq!(entry[ENVIRONMENT], json!({"STACK_TOOLS": "full"}));
        assert!(entry.get("cwd").is_none());
    }

    #[test]
    fn an_entry_of_that_name_for_something_else_is_kept() {
        let other = r#"{"mcpServers": {"callstack": {"command": "npx", "args": ["-y", "other"]}}}"#;
        assert_eq!(without_entry(other).unwrap().outcome, Outcome::Kept);
        for wrong in ["[]", "{", r#"{"mcpServers": []}"#, r#"{"mcpServers": {"callstack": 1}}"#] {
            assert!(with_entry(wrong, "callstack").is_err(), "{wrong}");
        }
        for absent in ["", "{}", r#"{"mcpServers": {}}"#] {
            assert_eq!(without_entry(absent).unwrap().outcome, Outcome::Absent, "{absent}");
        }
    }
}
