//! A span's changes to files, by replaying its edits.

use std::collections::BTreeSet;

use super::diff::differing;
use super::log::{Did, Kind};
use super::scan::{around, scan};

/// A file that was edited.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub path: String,
    /// Its content before the first edit and after the last one, where that is known.
    pub begin: Option<String>,
    pub now: Option<String>,
    pub is_new: bool,
    pub is_removed: bool,
    /// The edits: what was replaced by what.
    pub pieces: Vec<(String, String)>,
    /// Texts that were read of it.
    pub read: String,
    /// The place of the last edit in the log.
    pub last: usize,
}

/// The changes of the definitions in a file.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub added: BTreeSet<String>,
    pub changed: BTreeSet<String>,
    pub removed: BTreeSet<String>,
}

/// Whether two paths name the same file. One of them may lack folders in front.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let even = |path: &str| path.replace('\\', "/").trim_start_matches("./").to_owned();
    let (one, other) = (even(one), even(other));
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    !one.is_empty() && !other.is_empty() && (ends(&one, &other) || ends(&other, &one))
}

pub(crate) fn files(log: &[Did]) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for (at, did) in log.iter().enumerate().filter(|(_, did)| did.ok) {
        match &did.kind {
            Kind::Replaced { path, old, new, all, was } => {
                file(&mut files, path, at).replace(old, new, *all, was.as_ref());
            }
            Kind::Written { path, text, was } => {
                let file = file(&mut files, path, at);
                let before = was.clone().or(file.now.clone());
                file.is_new |= before.as_deref() == Some("") && file.pieces.is_empty();
                if file.pieces.is_empty() {
                    file.begin.clone_from(&before);
                }
                file.pieces.push((before.unwrap_or_default(), text.clone()));
                file.now = Some(text.clone());
                file.is_removed = false;
            }
            Kind::Removed { path } => file(&mut files, path, at).is_removed = true,
            Kind::Ran { line, .. } if line.contains("rm ") => {
                for file in &mut files {
                    let name = file.path.rsplit(['/', '\\']).next().unwrap_or_default();
                    file.is_removed |= line.contains(name);
                }
            }
            _ => {}
        }
    }
    files
}

fn file<'f>(files: &'f mut Vec<File>, path: &str, at: usize) -> &'f mut File {
    let place = files.iter().position(|file| is_same(&file.path, path));
    let place = place.unwrap_or_else(|| {
        files.push(File { path: path.to_owned(), ..File::default() });
        files.len() - 1
    });
    files[place].last = at;
    &mut files[place]
}

impl File {
    fn replace(&mut self, old: &str, new: &str, all: bool, was: Option<&String>) {
        if let Some(was) = was {
            // Notes count more than replayed edits, which may be incomplete.
            if self.pieces.is_empty() {
                self.begin = Some(was.clone());
            }
            self.now = Some(was.clone());
        }
        self.now = match &self.now {
            Some(text) if text.contains(old) && all => Some(text.replace(old, new)),
            Some(text) if text.contains(old) => Some(text.replacen(old, new, 1)),
            _ => None,
        };
        self.pieces.push((old.to_owned(), new.to_owned()));
        self.is_removed = false;
    }

    /// Returns its earlier and its present content, where both are known.
    pub(crate) fn sides(&self) -> Option<(Vec<&str>, Vec<&str>)> {
        Some((self.begin.as_deref()?.lines().collect(), self.now.as_deref()?.lines().collect()))
    }

    /// Returns the changes of its definitions.
    pub(crate) fn names(&self) -> Names {
        let mut names = Names::default();
        if let Some((old, new)) = self.sides() {
            names.take(&self.path, &old, &new);
            return names;
        }
        for (old, new) in &self.pieces {
            let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            let mut of_piece = Names::default();
            of_piece.take(&self.path, &old, &new);
            names.then(of_piece);
        }
        names
    }
}

impl Names {
    fn take(&mut self, path: &str, old: &[&str], new: &[&str]) {
        let (added, removed) = differing(old, new);
        let (before, after) = (scan(path, old), scan(path, new));
        let was: BTreeSet<&str> = before.iter().map(|it| it.name.as_str()).collect();
        let is: BTreeSet<&str> = after.iter().map(|it| it.name.as_str()).collect();
        let says = |line: &str| line.chars().any(char::is_alphanumeric);
        for (lines, places, found, others, into) in [
            (new, &added, &after, &was, &mut self.added),
            (old, &removed, &before, &is, &mut self.removed),
        ] {
            for place in places.iter().filter(|place| says(lines[**place])) {
                let Some(it) = around(found, *place) else { continue };
                if others.contains(it.name.as_str()) {
                    self.changed.insert(it.name.clone());
                } else if places.contains(&it.line) {
                    into.insert(it.name.clone());
                }
            }
        }
    }

    /// Takes in what a later edit did.
    fn then(&mut self, later: Self) {
        for name in later.added {
            if self.removed.remove(&name) {
                self.changed.insert(name);
            } else {
                self.added.insert(name);
            }
        }
        for name in later.changed {
            if !self.added.contains(&name) {
                self.changed.insert(name);
            }
        }
        for name in later.removed {
            self.changed.remove(&name);
            if !self.added.remove(&name) {
                self.removed.insert(name);
            }
        }
    }
}
