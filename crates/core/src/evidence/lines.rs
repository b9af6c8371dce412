//! Evidence as lines for people and models.

use super::{Evidence, WrittenFile, changes};

impl Evidence {
    /// One line for each file that was changed and for each kind of other things.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = changes::lines(&self.changes);
        files(
            "written (reread to edit)",
            self.written.iter().map(|WrittenFile { path, .. }| path),
            &mut lines,
        );
        files("read", self.read.iter(), &mut lines);
        files("named", self.named.iter(), &mut lines);
        let commands = self.commands.iter().map(|run| {
            let tests = self.tests.iter().find(|tests| tests.command == run.line);
            let exits: Vec<_> = run.told_exits().iter().map(i64::to_string).collect();
            let mut ended: Vec<String> = Vec::new();
            if !exits.is_empty() {
                ended.push(format!("exit {}", exits.join(", then ")));
            }
            if let Some(tests) = tests {
                let before = tests.failed_before.map(|failed| format!(", before {failed} failed"));
                ended.push(format!("tests: {}{}", tests.counts, before.unwrap_or_default()));
            }
            match ended.as_slice() {
                [] => format!("`{}`", run.line),
                ended => format!("`{}` ({})", run.line, ended.join("; ")),
            }
        });
        list("commands", "; ", commands, &mut lines);
        let errors = self.errors.iter().map(|error| {
            format!(
                "{} ({})",
                error.text,
                if error.gone { "gone since" } else { "not seen to be gone" }
            )
        });
        list("errors", "; ", errors, &mut lines);
        list("names", " ", self.identifiers.iter().cloned(), &mut lines);
        list("numbers", " ", self.numbers.iter().cloned(), &mut lines);
        list("strings", " ", self.strings.iter().map(in_quotes), &mut lines);
        list("addresses", " ", self.urls.iter().cloned(), &mut lines);
        lines.extend(self.remains.lines());
        lines
    }

    /// The same without the written files that are `listed` beside it already.
    pub fn lines_beside(&self, listed: &[String]) -> Vec<String> {
        let mut rest = self.clone();
        rest.written.retain(|file| !listed.iter().any(|path| file.is_at(path)));
        rest.lines()
    }

    /// All of it, to be searched.
    pub fn searchable(&self) -> String {
        self.lines().join("\n")
    }
}

fn list(what: &str, between: &str, items: impl Iterator<Item = String>, lines: &mut Vec<String>) {
    let items: Vec<_> = items.collect();
    if !items.is_empty() {
        lines.push(format!("{what}: {}", items.join(between)));
    }
}

/// Files, each whole: what is written in pieces can be neither found nor copied.
fn files<'a>(what: &str, paths: impl Iterator<Item = &'a String>, lines: &mut Vec<String>) {
    let mut paths: Vec<String> = paths.cloned().collect();
    paths.sort_unstable();
    list(what, " ", paths.into_iter(), lines);
}

/// A string between quotes of a kind that is not in it.
fn in_quotes(text: &String) -> String {
    let quote = ['"', '\'', '`'].into_iter().find(|quote| !text.contains(*quote)).unwrap_or('"');
    format!("{quote}{text}{quote}")
}
