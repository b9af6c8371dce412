//! Evidence as lines for people and models.

use std::collections::BTreeMap;

use super::{Evidence, WrittenFile};

/// What is told elsewhere already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omit {
    /// Files that were written, where they are listed as artifacts.
    pub written: bool,
}

impl Evidence {
    /// One line for each kind of thing and, for files, each folder.
    pub fn lines(&self, omit: &Omit) -> Vec<String> {
        let mut lines = Vec::new();
        if !omit.written {
            files("written", self.written.iter().map(|WrittenFile { path, .. }| path), &mut lines);
        }
        files("read", self.read.iter(), &mut lines);
        files("named", self.named.iter(), &mut lines);
        self.others(&mut lines);
        lines
    }

    /// The same without the written files that are `listed` beside it already.
    pub fn lines_beside(&self, listed: &[String]) -> Vec<String> {
        let mut rest = self.clone();
        rest.written.retain(|file| !listed.contains(&file.path));
        rest.lines(&Omit::default())
    }

    /// Every line with every path whole, to be searched.
    pub fn searchable(&self) -> String {
        let mut lines = Vec::new();
        list("written", " ", self.written.iter().map(|it| it.path.clone()), &mut lines);
        list("read", " ", self.read.iter().cloned(), &mut lines);
        list("named", " ", self.named.iter().cloned(), &mut lines);
        self.others(&mut lines);
        lines.join("\n")
    }

    fn others(&self, lines: &mut Vec<String>) {
        let commands = self.commands.iter().map(|run| {
            let tests = self.tests.iter().find(|tests| tests.command == run.line);
            let exits: Vec<_> = run.exits.iter().map(i64::to_string).collect();
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
        list("commands", "; ", commands, lines);
        let errors = self.errors.iter().map(|error| {
            format!(
                "{} ({})",
                error.text,
                if error.gone { "gone since" } else { "not seen to be gone" }
            )
        });
        list("errors", "; ", errors, lines);
        list("names", " ", self.identifiers.iter().cloned(), lines);
        list("numbers", " ", self.numbers.iter().cloned(), lines);
        list("addresses", " ", self.urls.iter().cloned(), lines);
    }
}

fn list(what: &str, between: &str, items: impl Iterator<Item = String>, lines: &mut Vec<String>) {
    let items: Vec<_> = items.collect();
    if !items.is_empty() {
        lines.push(format!("{what}: {}", items.join(between)));
    }
}

/// Files by folder: a folder's name is told once.
fn files<'a>(what: &str, paths: impl Iterator<Item = &'a String>, lines: &mut Vec<String>) {
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in paths {
        let (folder, name) =
            path.rsplit_once('/').map_or(("", path.as_str()), |(folder, name)| (folder, name));
        folders.entry(folder).or_default().push(name);
    }
    let mut single = Vec::new();
    for (folder, mut names) in folders {
        names.sort_unstable();
        match names.as_slice() {
            [name] if folder.is_empty() => single.push((*name).to_owned()),
            [name] => single.push(format!("{folder}/{name}")),
            names if folder.is_empty() => {
                single.extend(names.iter().map(|name| (*name).to_owned()));
            }
            names => lines.push(format!("{what} in {folder}/: {}", names.join(" "))),
        }
    }
    list(what, " ", single.into_iter(), lines);
}
