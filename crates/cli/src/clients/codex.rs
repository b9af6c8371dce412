//! Codex's `config.toml`, edited in place: comments and order stay.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::{ARGUMENT, Edited, NAME, is_ours};
use crate::plugin::Outcome;

const SERVERS: &str = "mcp_servers";

pub(super) fn with_entry(text: &str, command: &str) -> Result<Edited, String> {
    let mut document = parsed(text)?;
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut servers = Table::new();
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers.as_table_like_mut().ok_or("`mcp_servers` is no table")?;
    let is_new = !servers.contains_key(NAME);
    let entry = servers.entry(NAME).or_insert_with(|| Item::Table(Table::new()));
    let entry = entry.as_table_like_mut().ok_or("`mcp_servers.callstack` is no table")?;
    let is_known =
        entry.get("command").and_then(Item::as_str) == Some(command) && is_ours(&arguments(entry));
    if !is_new && is_known {
        return Ok(Edited { outcome: Outcome::Unchanged, text: None });
    }
    set(entry, "command", value(command));
    set(entry, "args", value(Array::from_iter([ARGUMENT])));
    let outcome = if is_new { Outcome::Installed } else { Outcome::Updated };
    Ok(Edited { outcome, text: Some(document.to_string()) })
}

pub(super) fn without_entry(text: &str) -> Result<Edited, String> {
    let mut document = parsed(text)?;
    let unchanged = |outcome| Ok(Edited { outcome, text: None });
    let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) else {
        return unchanged(Outcome::Absent);
    };
    let Some(entry) = servers.get(NAME) else { return unchanged(Outcome::Absent) };
    if !entry.as_table_like().is_some_and(|entry| is_ours(&arguments(entry))) {
        return unchanged(Outcome::Kept);
    }
    servers.remove(NAME);
    if servers.is_empty() {
        document.remove(SERVERS);
    }
    let text = document.to_string();
    Ok(Edited { outcome: Outcome::Removed, text: (!text.trim().is_empty()).then_some(text) })
}

/// Sets a value, and keeps the comment before its key.
fn set(entry: &mut dyn TableLike, key: &str, value: Item) {
    match entry.get_mut(key) {
        Some(known) => *known = value,
        None => drop(entry.insert(key, value)),
    }
}

fn arguments(entry: &dyn TableLike) -> Vec<&str> {
    let arguments = entry.get("args").and_then(Item::as_array);
    arguments.into_iter().flatten().filter_map(toml_edit::Value::as_str).collect()
}

fn parsed(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error| format!("it is no TOML: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_is_there_stays_as_it_is() {
        let before = "# mine\nmodel = \"x\" # the best\n\n[mcp_servers.other]\ncommand = \"y\"\n\n[tui]\ntheme=\"z\"\n";
        let with = with_entry(before, "callstack").unwrap();
        assert_eq!(with.outcome, Outcome::Installed);
        let with = with.text.unwrap();
        let entry = "[mcp_servers.callstack]\ncommand = \"callstack\"\nargs = [\"mcp\"]\n";
        assert!(with.contains(entry), "{with}");
        assert_eq!(with_entry(&with, "callstack").unwrap().outcome, Outcome::Unchanged);
        let without = without_entry(&with).unwrap();
        assert_eq!((without.outcome, without.text.as_deref()), (Outcome::Removed, Some(before)));
    }

    #[test]
    fn an_entry_keeps_what_the_user_gave_it() {
        let before = "[mcp_servers.callstack]\n# here\ncommand = \"/old\"\nenv = { STACK_TOOLS = \"full\" }\n";
        let edited = with_entry(before, "/new").unwrap();
        assert_eq!(edited.outcome, Outcome::Updated);
        let text = edited.text.unwrap();
        assert!(
            text.contains("# here\ncommand = \"/new\"") && text.contains("STACK_TOOLS"),
            "{text}"
        );
    }

    #[test]
    fn an_entry_of_that_name_for_something_else_is_kept() {
        let other = "mcp_servers = { callstack = { command = \"npx\", args = [\"other\"] } }\n";
        assert_eq!(without_entry(other).unwrap().outcome, Outcome::Kept);
        for wrong in ["[", "mcp_servers = 1", "mcp_servers = { callstack = 1 }"] {
            assert!(with_entry(wrong, "callstack").is_err(), "{wrong}");
        }
        let mine = with_entry("", "callstack").unwrap().text.unwrap();
        assert_eq!(without_entry(&mine).unwrap().text, None, "nothing else was in it");
        assert_eq!(without_entry("").unwrap().outcome, Outcome::Absent);
    }
}
