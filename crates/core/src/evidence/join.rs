//! Evidence of a frame that was worked on in several stretches.

use super::room::is_prose;
use super::{CommandRun, Evidence, SeenError, TestRun};

/// Exits of a command that are shown.
const EXITS: usize = 3;

impl Evidence {
    /// Joins the evidence of two stretches of work, `later` being the later one: each fact once, as it was at the
    /// end.
    #[must_use]
    pub fn then(mut self, later: Self) -> Self {
        self.tokens += later.tokens;
        if later.is_empty() {
            return self;
        }
        let had_none = self.never_checked || self.is_empty();
        if later.never_checked && !had_none {
            let paths = later.written.iter().map(|file| file.path.clone()).collect();
            self.unchecked = words(self.unchecked, paths);
        } else if later.never_checked {
            self.never_checked = true;
        } else if later.was_checked() {
            self.never_checked = false;
            self.unchecked.clone_from(&later.unchecked);
        }
        for file in later.written {
            // It keeps its first place, with its last content.
            match self.written.iter_mut().find(|it| it.path == file.path) {
                Some(known) => known.hash = file.hash,
                None => self.written.push(file),
            }
        }
        for change in later.changes {
            let known = self.changes.iter().position(|it| it.path == change.path);
            let known = known.map(|at| self.changes.remove(at));
            self.changes.push(known.unwrap_or_default().then(change));
        }
        self.more_changes += later.more_changes;
        self.written_besides = words(self.written_besides, later.written_besides);
        self.changing = words(self.changing, later.changing);
        self.more_changing += later.more_changing;
        self.commits = words(self.commits, later.commits);
        self.checked_as_told |= later.checked_as_told;
        for run in later.checks {
            self.checks.retain(|it| it.line != run.line);
            self.checks.push(run);
        }
        // Nobody recorded whether the failures of the first stretch were settled in the second one.
        self.failures = later.failures;
        for read in later.reads {
            match self.reads.iter_mut().find(|it| it.path == read.path) {
                Some(known) => known.and(read),
                None => self.reads.push(read),
            }
        }
        self.more_reads += later.more_reads;
        self.read = words(self.read, later.read);
        for run in later.commands {
            let known = self.commands.iter().position(|it| it.line == run.line);
            let mut exits = known.map_or_else(Vec::new, |at| self.commands.remove(at).exits);
            exits.extend(run.exits);
            exits.drain(..exits.len().saturating_sub(EXITS));
            self.commands.push(CommandRun { line: run.line, exits });
        }
        replace(&mut self.tests, later.tests, |a: &TestRun, b| a.command == b.command);
        replace(&mut self.errors, later.errors, |a: &SeenError, b| a.text == b.text);
        self.outdated = words(self.outdated, later.outdated);
        self.renumbered = words(self.renumbered, later.renumbered);
        self.files = self.files.then(later.files);
        self.unseen = later.unseen;
        self.remains = self.remains.then(later.remains);
        self.gaps = self.gaps.and(later.gaps);
        // It was closed at once, and opened again since if there is more than one.
        self.closed = self.closed.or(later.closed);
        self
    }

    /// Whether anything was checked, even if it is not listed since the results report its outcome.
    fn was_checked(&self) -> bool {
        let has_code = self.written.iter().any(|file| !is_prose(&file.path));
        !self.never_checked && (!self.checks.is_empty() || !self.unchecked.is_empty() || has_code)
    }
}

fn words(mut earlier: Vec<String>, later: Vec<String>) -> Vec<String> {
    for word in later {
        if !earlier.contains(&word) {
            earlier.push(word);
        }
    }
    earlier
}

fn replace<T>(earlier: &mut Vec<T>, later: Vec<T>, same: impl Fn(&T, &T) -> bool) {
    earlier.retain(|it| !later.iter().any(|new| same(it, new)));
    earlier.extend(later);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::WrittenFile;

    fn written(path: &str, hash: &str) -> WrittenFile {
        WrittenFile { path: path.to_owned(), hash: Some(hash.to_owned()) }
    }

    fn ran(line: &str, exit: i64) -> CommandRun {
        CommandRun { line: line.to_owned(), exits: vec![exit] }
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_stood_at_the_end_counts() {
        let error = |gone| SeenError { text: "no such file".to_owned(), gone };
        let first = Evidence {
            written: vec![written("a.rs", "1"), written("b.rs", "1")],
            read: texts(&["c.rs", "d.rs"]),
            commands: vec![ran("make", 2), ran("git diff", 0)],
            errors: vec![error(false)],
            ..Evidence::default()
        };
        let second = Evidence {
            written: vec![written("a.rs", "2"), written("c.rs", "2")],
            read: texts(&["e.rs"]),
            commands: vec![ran("make", 0)],
            errors: vec![error(true)],
            ..Evidence::default()
        };
        let both = first.then(second);
        assert_eq!(
            both.written,
            [written("a.rs", "2"), written("b.rs", "1"), written("c.rs", "2")]
        );
        assert_eq!(both.read, texts(&["c.rs", "d.rs", "e.rs"]));
        let make = CommandRun { line: "make".to_owned(), exits: vec![2, 0] };
        assert_eq!(both.commands, [ran("git diff", 0), make]);
        assert_eq!(both.errors, vec![error(true)]);
    }

    #[test]
    fn nothing_adds_nothing() {
        let some = Evidence { commands: vec![ran("make", 0)], ..Evidence::default() };
        assert_eq!(some.clone().then(Evidence::default()), some);
        assert_eq!(Evidence::default().then(some.clone()), some);
    }
}
