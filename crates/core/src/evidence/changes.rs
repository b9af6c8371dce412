//! What was changed in files: how many lines, those that say most, and what the agent said when it did it.
//!
//! Nobody has summed up work that folds by itself, and its edits leave with it. A declaration or a condition
//! that was put in tells a reader more than the names in it.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::Happening;
use super::terms::file_name;
use crate::secrets::{mask, secrets};
use crate::text::{CUT, cap, estimate_tokens, truncate_to_token_budget};

/// A piece of a file that a call put in the place of another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: String,
    /// What stood there; none where the file was written as a whole.
    pub before: Option<String>,
    /// What stands there now.
    pub after: String,
}

/// What became of a file in a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileChange {
    /// The file as the agent named it.
    pub path: String,
    /// Lines that were added.
    pub added: usize,
    /// Lines that were removed.
    pub removed: usize,
    /// Lines that say what was done, behind a `+` if they were added and a `-` if they were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// What the agent said, or thought where it said nothing, before it wrote there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

impl FileChange {
    /// What became of a file in two stretches of work.
    pub(super) fn then(mut self, later: Self) -> Self {
        self.path = later.path;
        self.added += later.added;
        self.removed += later.removed;
        self.lines.extend(later.lines);
        self.why.extend(later.why);
        self
    }
}

/// Lines of a file that are told, and reasons.
const LINES: usize = 6;
const REASONS: usize = 2;
/// Bytes of a line.
const LINE: usize = 100;
/// Estimated tokens of a reason.
const REASON: usize = 40;

/// The changes in a span in at most `budget` estimated tokens: of each file as many lines as fit, then fewer
/// files, those changed last. `project` is the project's folder, or empty.
pub(super) fn changes(span: &[Happening], project: &str, budget: usize) -> Vec<FileChange> {
    let mut all = gather(span, project);
    // A line for each of so many never fits: names are compared with one another, so few are looked at.
    let most = budget / (1 + super::LINE);
    if all.len() > most {
        all.drain(..all.len() - most);
        for change in &mut all {
            change.lines.clear();
            change.why.clear();
        }
    }
    for lines in (0..=LINES).rev() {
        for change in &mut all {
            change.lines.truncate(lines);
            change.why.truncate(lines.min(REASONS));
        }
        if cost(&all) <= budget {
            return all;
        }
    }
    while cost(&all) > budget {
        all.remove(0);
    }
    all
}

pub(super) fn cost(changes: &[FileChange]) -> usize {
    lines(changes).iter().map(|line| estimate_tokens(line) + super::LINE).sum()
}

/// A line for each file.
pub(super) fn lines(changes: &[FileChange]) -> Vec<String> {
    changes.iter().map(|change| line(change, changes)).collect()
}

/// Such as "changed limits.rs (+3 -1): `+pub fn limit(days: u32) -> u32`; why: Days have a limit now."
fn line(change: &FileChange, all: &[FileChange]) -> String {
    let FileChange { path, added, removed, lines, why } = change;
    let name = short_name(path, all.iter().map(|it| it.path.as_str()));
    let mut told: Vec<String> = lines.iter().map(|line| format!("`{line}`")).collect();
    told.extend(why.iter().map(|why| format!("why: {why}")));
    let told = if told.is_empty() { String::new() } else { format!(": {}", told.join("; ")) };
    format!("changed {name} (+{added} -{removed}){told}")
}

/// A file's name, behind its folders where another has the same: the whole path is told elsewhere.
fn short_name<'a>(path: &'a str, mut all: impl Iterator<Item = &'a str>) -> &'a str {
    let name = file_name(path);
    let is_alone = all.all(|other| other == path || file_name(other) != name);
    if is_alone { name } else { path }
}

/// The files in the order in which they were changed last, without those that were removed behind that.
fn gather(span: &[Happening], project: &str) -> Vec<FileChange> {
    let mut files: Vec<File<'_>> = Vec::new();
    let mut said: Option<&str> = None;
    let mut thought: Option<&str> = None;
    let mut hidden: HashSet<&str> = HashSet::new();
    for happening in span {
        match happening {
            Happening::Said(text) => said = Some(text),
            Happening::Thought(text) => thought = Some(text),
            Happening::Called(call) if call.edits.is_empty() || call.failed => {
                for removed in call.removed(project) {
                    files.retain(|file| !removed.takes(file.path, project));
                }
            }
            Happening::Called(call) => {
                let why = said.take().or(thought).and_then(reason);
                thought = None;
                let is_path = |edit: &&Edit| {
                    !edit.path.is_empty()
                        && !edit.path.contains(['\n', '\r'])
                        && secrets(&edit.path).is_empty()
                };
                for edit in call.edits.iter().filter(is_path) {
                    let known = files.iter().position(|file| file.path == edit.path);
                    let mut file = match known {
                        Some(at) => files.remove(at),
                        None => File { path: &edit.path, ..File::default() },
                    };
                    file.take(edit);
                    for text in edit.before.iter().chain([&edit.after]) {
                        hidden.extend(lines_with_secrets(text));
                    }
                    files.push(file);
                }
                if let (Some(file), Some(why)) = (files.last_mut(), why) {
                    file.why.push(why);
                }
            }
        }
    }
    // What was taken back is no change.
    let is_change = |file: &File<'_>| !file.added.is_empty() || !file.removed.is_empty();
    files.into_iter().filter(is_change).map(|file| file.told(&hidden)).collect()
}

/// Lines of a text that have a secret in them, or a part of one.
fn lines_with_secrets(text: &str) -> impl Iterator<Item = &str> {
    let mut found = secrets(text).into_iter().peekable();
    let mut next = 0;
    let lines = text.split_inclusive('\n').filter(move |line| {
        let (from, to) = (next, next + line.len());
        next = to;
        while found.next_if(|secret| secret.place.end <= from).is_some() {}
        found.peek().is_some_and(|secret| secret.place.start < to)
    });
    lines.map(|line| line.lines().next().unwrap_or_default())
}

/// What somebody says before they write, in a line; none where it is nothing.
fn reason(text: &str) -> Option<String> {
    let line = mask(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = truncate_to_token_budget(line.trim_end_matches(':'), REASON, CUT);
    (!line.is_empty()).then(|| line.into_owned())
}

#[derive(Debug, Default)]
struct File<'a> {
    path: &'a str,
    added: Vec<&'a str>,
    removed: Vec<&'a str>,
    /// The line of each edit that says most.
    telling: Vec<&'a str>,
    why: Vec<String>,
}

impl<'a> File<'a> {
    fn take(&mut self, edit: &'a Edit) {
        let Some(before) = &edit.before else {
            *self = Self { path: self.path, why: std::mem::take(&mut self.why), ..Self::default() };
            self.added = edit.after.lines().collect();
            self.telling.extend(edit.after.lines().find(|line| is_telling(line)));
            return;
        };
        let (added, removed) = difference(before, &edit.after);
        let changed = if added.iter().any(|line| is_telling(line)) { &added } else { &removed };
        self.telling.extend(changed.iter().find(|line| is_telling(line)));
        for line in removed {
            // What was put in a moment ago was not there before.
            match self.added.iter().position(|it| it.trim() == line.trim()) {
                Some(at) => drop(self.added.remove(at)),
                None => self.removed.push(line),
            }
        }
        self.added.extend(added);
    }

    /// What is told of it, without the lines in `hidden`.
    fn told(self, hidden: &HashSet<&str>) -> FileChange {
        let mut lines: Vec<String> = Vec::new();
        let mut tell = |sign: char, line: &str| {
            let told = format!("{sign}{}", shown(line));
            if lines.len() < LINES && !lines.contains(&told) && !hidden.contains(line) {
                lines.push(told);
            }
        };
        let declared = |lines: &[&'a str]| -> Vec<&'a str> {
            lines.iter().copied().filter(|line| is_declaration(line)).collect()
        };
        for line in declared(&self.added) {
            tell('+', line);
        }
        for line in declared(&self.removed) {
            tell('-', line);
        }
        for line in self.telling.iter().rev() {
            if self.added.contains(line) {
                tell('+', line);
            } else if self.removed.contains(line) {
                tell('-', line);
            }
        }
        let mut why = self.why;
        why.dedup();
        // What was said last is closest to what stands there.
        why.reverse();
        FileChange {
            path: self.path.to_owned(),
            added: self.added.len(),
            removed: self.removed.len(),
            lines,
            why,
        }
    }
}

/// Lines that only one of two texts has, by what is in them.
fn difference<'a>(before: &'a str, after: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let mut there: HashMap<&str, usize> = HashMap::new();
    for line in before.lines() {
        *there.entry(line.trim()).or_default() += 1;
    }
    let mut is_there = |line: &&str| match there.get_mut(line.trim()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    let added = after.lines().filter(|line| !is_there(line)).collect();
    let mut left = there;
    let removed = before.lines().filter(|line| match left.get_mut(line.trim()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    });
    (added, removed.collect())
}

/// A line as it is told: in one piece, without what opens a block behind it.
fn shown(line: &str) -> String {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches(['{', ' ']).replace('`', "'");
    match cap(&line, LINE) {
        whole if whole.len() == line.len() => line,
        cut => format!("{cut}{CUT}"),
    }
}

/// Words that say how a thing is seen or kept, before what it is.
const MODIFIERS: [&str; 15] = [
    "pub",
    "pub(crate)",
    "pub(super)",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "abstract",
    "final",
    "unsafe",
    "override",
];

/// Words that declare something.
const DECLARING: [&str; 17] = [
    "fn",
    "func",
    "def",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "impl",
    "function",
    "function*",
    "macro_rules!",
    "module",
    "namespace",
    "record",
    "protocol",
];

/// Calls that declare a test.
const TESTS: [&str; 4] = ["describe(", "it(", "test(", "t.Run("];

fn is_declaration(line: &str) -> bool {
    let line = line.trim();
    if TESTS.iter().any(|begin| line.starts_with(begin)) || line.starts_with("CREATE TABLE") {
        return true;
    }
    let mut words = line.split_whitespace();
    let first = words.by_ref().find(|word| !MODIFIERS.contains(word)).unwrap_or_default();
    let named = words.next().is_some();
    let is_function = matches!(first, "const" | "let" | "var") && line.contains("=>");
    let is_method = line.contains('(')
        && line.ends_with('{')
        && ["public ", "private ", "protected "].iter().any(|begin| line.starts_with(begin));
    (DECLARING.contains(&first) && named) || is_function || is_method
}

/// Whether a line says something by itself: neither brackets nor what a file takes in from others.
fn is_telling(line: &str) -> bool {
    let line = line.trim();
    let taken_in = ["import ", "use ", "from ", "#include", "package ", "require(", "using "];
    let letters = line.chars().filter(|char| char.is_alphabetic()).count();
    let is_text = line.starts_with(['"', '\'']);
    letters >= 6 && !is_text && !taken_in.iter().any(|begin| line.starts_with(begin))
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
