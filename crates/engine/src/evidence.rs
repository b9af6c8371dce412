//! What the machine saw in a span: which commands ran and how they ended, what was read, what failed.

use crate::conversation::Fact;
use crate::engine::{Engine, lock};

/// How many of each kind are told; of commands and failures the last ones, since they show how things
/// stood at the end.
const COMMANDS: usize = 6;
const FILES: usize = 12;
const FAILURES: usize = 3;

impl Engine {
    /// Lines of evidence for the innermost open span of a session.
    pub(crate) fn evidence(&self, session: &str) -> Vec<String> {
        let conversation = self.conversation(session);
        let conversation = lock(&conversation);
        let open = self.store.read(|view| view.session_open_spans(session)).unwrap_or_default();
        let Some(span) = open.last() else { return Vec::new() };
        lines(conversation.facts_behind(span.open.message.as_deref()))
    }
}

fn lines<'a>(facts: impl Iterator<Item = &'a Fact>) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut read: Vec<&str> = Vec::new();
    let mut failures: Vec<String> = Vec::new();
    for fact in facts {
        match fact {
            Fact::Command { line, exit } => {
                let exit = exit.map_or_else(String::new, |code| format!(" (exit {code})"));
                commands.push(format!("`{line}`{exit}"));
            }
            Fact::Read { path } => {
                if !read.contains(&path.as_str()) {
                    read.push(path);
                }
            }
            Fact::Failed { tool, message } => failures.push(format!("{tool}: {message}")),
        }
    }
    let mut lines = Vec::new();
    let mut tell = |what: &str, items: &[String], dropped: usize| {
        if !items.is_empty() {
            let more =
                if dropped > 0 { format!(" (and {dropped} earlier)") } else { String::new() };
            lines.push(format!("{what}: {}{more}", items.join("; ")));
        }
    };
    let dropped = commands.len().saturating_sub(COMMANDS);
    tell("commands", &commands[dropped..], dropped);
    let read: Vec<String> = read.into_iter().map(str::to_owned).collect();
    let dropped = read.len().saturating_sub(FILES);
    tell("files read", &read[dropped..], dropped);
    let dropped = failures.len().saturating_sub(FAILURES);
    tell("tool failures", &failures[dropped..], dropped);
    lines
}
