//! What the machine saw in a span: which commands ran and how they ended, what was read, what failed,
//! what was named.

use std::path::Path;

use callstack_core::evidence::{Budget, Happening, Omit, span_tokens, take};
use callstack_store::View;

use crate::conversation::{Conversation, Fact};
use crate::engine::{Engine, lock};
use crate::error::EngineError;

/// How many of each kind are told; of commands and failures the last ones, since they show how things
/// stood at the end.
const COMMANDS: usize = 6;
const FILES: usize = 12;
const FAILURES: usize = 3;

/// What a host makes of one of its messages, as it is stored, in a project's folder.
pub type Reader = fn(&str, &Path) -> Vec<Happening>;

impl Engine {
    /// Lines of evidence for the innermost open span of a session, without what `results` say.
    pub(crate) fn evidence(&self, session: &str, results: Option<&str>) -> Vec<String> {
        let conversation = self.conversation(session);
        let conversation = lock(&conversation);
        let folder = conversation.folder(self);
        let open = self.store.read(|view| view.session_open_spans(session)).unwrap_or_default();
        let Some(span) = open.last() else { return Vec::new() };
        let message = span.open.message.as_deref();
        let read = self.is_readable(&conversation).then(|| {
            self.store.read(|view| {
                let results = results.unwrap_or_default();
                self.lines_between(view, session, (message, None), results, folder)
            })
        });
        match read {
            Some(Ok(lines)) => lines,
            // What this process was shown is better than nothing.
            Some(Err(_)) | None => lines(conversation.facts_behind(message)),
        }
    }

    /// Whether the messages of a conversation can be read back now.
    pub(crate) fn is_readable(&self, conversation: &Conversation) -> bool {
        self.reader.get().is_some()
            && self.recorder.get().is_none_or(|recorder| conversation.written(recorder))
    }

    /// Lines of evidence for the messages behind the first one up to and including the second. Files
    /// are told relative to `folder`.
    pub(crate) fn lines_between(
        &self,
        view: &View<'_>,
        session: &str,
        (open, close): (Option<&str>, Option<&str>),
        results: &str,
        folder: &Path,
    ) -> Result<Vec<String>, EngineError> {
        let span = self.happenings_between(view, session, (open, close), folder)?;
        let project = folder.to_string_lossy();
        let budget = Budget::default().of(span_tokens(&span));
        // Files that were written are the frame's artifacts.
        Ok(take(&span, results, &project, budget).lines(&Omit { written: true }))
    }
}

pub(crate) fn lines<'a>(facts: impl Iterator<Item = &'a Fact>) -> Vec<String> {
    let mut commands: Vec<(&str, Vec<String>)> = Vec::new();
    let mut read: Vec<&str> = Vec::new();
    let mut failures: Vec<String> = Vec::new();
    for fact in facts {
        match fact {
            Fact::Command { line, exit } => {
                let exit = exit.map(|code| code.to_string());
                // One that was run again is told once, where it was run last, with how each run ended.
                let mut exits = commands
                    .iter()
                    .position(|(known, _)| known == line)
                    .map_or_else(Vec::new, |at| commands.remove(at).1);
                exits.extend(exit);
                commands.push((line, exits));
            }
            Fact::Read { path } => {
                if !read.contains(&path.as_str()) {
                    read.push(path);
                }
            }
            // Files that were written are the frame's artifacts, and how work was divided frames tell.
            Fact::Wrote { .. } | Fact::Done { .. } | Fact::Division(_) => {}
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
    let commands: Vec<String> = commands
        .into_iter()
        .map(|(line, exits)| match exits.as_slice() {
            [] => format!("`{line}`"),
            exits => format!("`{line}` (exit {})", exits.join(", then ")),
        })
        .collect();
    let dropped = commands.len().saturating_sub(COMMANDS);
    tell("commands", &commands[dropped..], dropped);
    let read: Vec<String> = read.into_iter().map(str::to_owned).collect();
    let dropped = read.len().saturating_sub(FILES);
    tell("files read", &read[dropped..], dropped);
    let dropped = failures.len().saturating_sub(FAILURES);
    tell("tool failures", &failures[dropped..], dropped);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str, exit: i64) -> Fact {
        Fact::Command { line: line.to_owned(), exit: Some(exit) }
    }

    #[test]
    fn a_command_that_was_run_again_is_told_once_with_how_each_run_ended() {
        let facts = [
            command("make test", 2),
            Fact::Read { path: "src/a.rs".to_owned() },
            command("git diff", 0),
            command("make test", 0),
            Fact::Read { path: "src/a.rs".to_owned() },
            Fact::Failed { tool: "edit".to_owned(), message: "no such text".to_owned() },
        ];
        assert_eq!(
            lines(facts.iter()),
            [
                "commands: `git diff` (exit 0); `make test` (exit 2, then 0)",
                "files read: src/a.rs",
                "tool failures: edit: no such text",
            ]
        );
    }

    #[test]
    fn of_many_commands_the_last_ones_are_told() {
        let facts: Vec<_> = (0..9).map(|n| command(&format!("step {n}"), 0)).collect();
        let [line] = &lines(facts.iter())[..] else { panic!() };
        assert!(line.contains("step 8") && !line.contains("step 2"), "{line}");
        assert!(line.ends_with("(and 3 earlier)"), "{line}");
    }
}
