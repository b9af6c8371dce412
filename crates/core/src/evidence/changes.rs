//! What became of files in a span: lines added and removed, where these stand now, and the functions, types and tests
//! that were added, changed or removed.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Hunk;
use super::document::Document;
use super::room::is_prose;
use super::symbols::{Symbol, around, symbols};

/// Places from which on lines moved that are told.
const MOVES: usize = 12;

/// A piece of a file that a call put in the place of another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: String,
    /// What stood there; none where the file was written as a whole, or removed.
    pub before: Option<String>,
    /// What stands there now.
    pub after: String,
    /// Whether it was replaced wherever it stood.
    pub all: bool,
    /// Whether the file was removed.
    pub removes: bool,
    /// Where in the file that was, as the host told.
    pub hunks: Vec<Hunk>,
    /// The whole file in front of it, where the host told; empty where there was none.
    pub original: Option<String>,
}

/// What became of a file in a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// What became of it as a whole.
    #[serde(skip_serializing_if = "Fate::is_edited")]
    pub fate: Fate,
    /// Lines that were added.
    pub added: usize,
    /// Lines that were removed.
    pub removed: usize,
    /// First and last of lines that were added, by their numbers at the end of the span.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(usize, usize)>,
    /// How many such places there are, where only the first and the last line of all of them are told.
    #[serde(skip_serializing_if = "is_zero")]
    pub places: usize,
    /// By how much its lines moved: those behind each of these lines, by their numbers before the span. Empty where
    /// that is not known, or they are too many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<(usize, isize)>,
    /// Whether all lines that it held before are known to have the numbers that they had.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_numbers: bool,
    /// What is defined in it and was added, changed or removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<Changed>,
    /// How many more there are than those.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Whether the results name others, which are not told again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub also: bool,
    /// Lines that say what was done where no symbol does, behind a `+` if they were added and a `-` if they were
    /// removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// What the agent said, or thought where it said nothing, before it wrote there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

/// What became of a file as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// It was edited.
    #[default]
    Edited,
    /// It was not there before.
    Created,
    /// It was written as a whole, and nobody knows what it held before.
    Rewritten,
    /// It is gone.
    Removed,
}

impl Fate {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
    fn is_edited(&self) -> bool {
        *self == Self::Edited
    }
}

/// A function, a type, a test or a section, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changed {
    /// Its name, behind those of what it is defined in.
    pub name: String,
    /// What became of it.
    pub what: What,
    /// Whether it is a test.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
}

/// What became of something that is defined in a file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// It is new.
    Added,
    /// It is another.
    #[default]
    Changed,
    /// It is gone.
    Removed,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl FileChange {
    /// What became of a file in two stretches of work.
    pub(super) fn then(mut self, later: Self) -> Self {
        if self.path.is_empty() {
            return later;
        }
        let created = self.fate == Fate::Created;
        for change in later.symbols {
            let known = self.symbols.iter().position(|it| it.name == change.name);
            let before = known.map(|at| self.symbols.remove(at));
            let what = match (before.map(|it| it.what), change.what) {
                (Some(What::Added), What::Removed) => continue,
                (Some(What::Added), _) => What::Added,
                (Some(What::Removed), What::Added) => What::Changed,
                (_, what) => what,
            };
            self.symbols.push(Changed { what, ..change });
        }
        self.more += later.more;
        self.fate = match later.fate {
            Fate::Edited | Fate::Rewritten if created => Fate::Created,
            Fate::Edited => self.fate,
            fate => fate,
        };
        self.path = later.path;
        self.added += later.added;
        self.removed += later.removed;
        // Where the lines of the first stretch stand now nobody counted.
        self.ranges.clear();
        self.places = 0;
        self.moved.clear();
        self.keeps_numbers &= later.keeps_numbers;
        self.also |= later.also;
        self.lines.extend(later.lines);
        self.why.extend(later.why);
        if is_new_prose(&self.path, self.fate) {
            (self.more, self.also) = (0, false);
            self.symbols.clear();
            self.lines.clear();
        } else if !self.symbols.is_empty() || self.also {
            self.lines.clear();
        }
        self
    }
}

/// Whether a file is a text for people that was written as a whole, of which its length says enough.
pub(super) fn is_new_prose(path: &str, fate: Fate) -> bool {
    matches!(fate, Fate::Created | Fate::Rewritten) && is_prose(path)
}

/// What is known of a file's change: the file, and pieces of it whose places are not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts<'a> {
    pub file: Document<'a>,
    pub pieces: Vec<Document<'a>>,
    /// Whether lines of the file have their places at the end of the span.
    pub placed: bool,
}

impl<'a> Parts<'a> {
    /// Puts the pieces where they stand in what the file holds now.
    pub(super) fn place(&mut self, now: &'a str) {
        if self.file.is_changed() && !self.file.may_be(now) {
            if self.file.whole().is_some() {
                self.file.becomes(now);
            } else {
                self.pieces.push(std::mem::take(&mut self.file));
            }
        }
        if !self.file.is_changed() && self.file.whole().is_none() {
            self.file = Document::of(now);
        } else {
            for (at, line) in now.lines().enumerate() {
                // That it may hold this was seen above.
                let _known = self.file.learn(at, line);
            }
            self.file.ends_behind(now.lines().count());
        }
        self.placed = true;
        let mut placed = self.file.clone();
        self.placed = self.pieces.iter().all(|piece| placed.mark(piece));
        if self.placed {
            self.file = placed;
        }
    }

    pub(super) fn is_changed(&self) -> bool {
        self.file.is_changed() || self.pieces.iter().any(Document::is_changed)
    }

    fn all(&self) -> impl Iterator<Item = &Document<'a>> {
        std::iter::once(&self.file).chain(&self.pieces)
    }

    /// Numbers of lines that were added and removed.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count = |of: &dyn Fn(&Document<'a>) -> usize| self.all().map(of).sum();
        (count(&|it| it.added()), count(&|it| it.gone().len()))
    }

    /// First and last lines of what was added, from 1; empty where that is not known.
    pub(super) fn ranges(&self) -> Vec<(usize, usize)> {
        if !self.placed {
            return Vec::new();
        }
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (at, row) in self.file.rows().iter().enumerate() {
            if !row.is_new() {
                continue;
            }
            match ranges.last_mut() {
                Some((_, last)) if *last == at => *last = at + 1,
                _ => ranges.push((at + 1, at + 1)),
            }
        }
        ranges
    }

    /// By how much lines that were there before moved, and behind which of them; none where that is not known.
    pub(super) fn moved(&self) -> Option<Vec<(usize, isize)>> {
        let is_known = self.placed && self.pieces.is_empty() && !self.file.is_marked();
        is_known.then(|| self.file.moved()).filter(|moved| moved.len() <= MOVES)
    }

    /// What is defined in the file and was added, changed or removed, and lines that no such thing holds, with
    /// whether they were added.
    pub(super) fn symbols(&self, path: &str) -> (Vec<Changed>, Vec<(bool, String)>) {
        let mut all = Vec::new();
        let mut beside = Vec::new();
        for (at, document) in self.all().enumerate() {
            if !document.is_changed() && !document.is_marked() {
                continue;
            }
            let known = of_document(path, document);
            merge(&mut all, known.0);
            // What a piece alone shows is known better where it stands in the file.
            if at == 0 || !self.placed {
                beside.extend(known.1);
            }
        }
        // What is defined in a thing names it, too.
        let outer: Vec<String> = all.iter().filter_map(|it| outer_name(&it.name)).collect();
        let is_module = |it: &Changed| it.name == "tests" || it.name == "test";
        all.retain(|it| it.what != What::Changed || !(outer.contains(&it.name) || is_module(it)));
        (all, beside)
    }
}

pub(super) fn last_name(name: &str) -> &str {
    let name = name.rsplit("::").next().unwrap_or_default();
    if name.starts_with(['"', '\'', '`']) || name.contains(' ') {
        return name;
    }
    name.rsplit('.').next().unwrap_or_default()
}

/// The name of what something is defined in.
fn outer_name(name: &str) -> Option<String> {
    let outer = name.strip_suffix(last_name(name))?;
    let outer = outer.strip_suffix("::").or_else(|| outer.strip_suffix('.'))?;
    (!outer.is_empty()).then(|| outer.to_owned())
}

fn merge(all: &mut Vec<Changed>, more: Vec<Changed>) {
    for change in more {
        let same = |it: &&mut Changed| {
            it.name == change.name
                || (last_name(&it.name) == last_name(&change.name)
                    && (it.name.len() == last_name(&it.name).len()
                        || change.name.len() == last_name(&change.name).len()))
        };
        match all.iter_mut().find(same) {
            Some(known) => {
                // A piece tells what was there before, the file only that its line is new.
                known.what = match (known.what, change.what) {
                    (What::Added, what) | (what, What::Added) if what != What::Added => {
                        What::Changed
                    }
                    (known, _) => known,
                };
                if change.name.len() > known.name.len() {
                    known.name = change.name;
                }
            }
            None => all.push(change),
        }
    }
}

fn of_document(path: &str, document: &Document<'_>) -> (Vec<Changed>, Vec<(bool, String)>) {
    let rows: Vec<Option<&str>> = document.rows().iter().map(|row| row.text.as_deref()).collect();
    let old_rows = document.old_rows();
    let new = symbols(path, &rows);
    let old = symbols(path, &old_rows);
    let is_gone: HashSet<usize> = document.gone().iter().copied().collect();
    let was: HashSet<&str> = old.iter().map(|it| it.name.as_str()).collect();
    let is: HashSet<&str> = new.iter().map(|it| it.name.as_str()).collect();
    let is_new = |line: usize| document.rows().get(line).is_some_and(super::document::Row::is_new);
    let mut touched: HashSet<&str> = HashSet::new();
    let mut beside = Vec::new();
    let says = |line: Option<&str>| line.is_some_and(|it| it.chars().any(char::is_alphanumeric));
    for (at, line) in rows.iter().enumerate().filter(|(at, _)| is_new(*at)) {
        match around(&new, at) {
            Some(symbol) if says(*line) || !is_blank(*line) => {
                touched.insert(new[symbol].name.as_str());
            }
            None if says(*line) => beside.push((true, line.unwrap_or_default().to_owned())),
            _ => {}
        }
    }
    for at in document.gone() {
        let line = old_rows.get(*at).copied().flatten();
        match around(&old, *at) {
            Some(symbol) if !is_blank(line) => {
                touched.insert(old[symbol].name.as_str());
            }
            None if says(line) => beside.push((false, line.unwrap_or_default().to_owned())),
            _ => {}
        }
    }
    let mut told: Vec<Changed> = Vec::new();
    let mut tell = |symbol: &Symbol, what: What| {
        if told.iter().all(|it| it.name != symbol.name) {
            told.push(Changed { name: symbol.name.clone(), what, test: symbol.is_test });
        }
    };
    for symbol in &new {
        let added = is_new(symbol.line) && !was.contains(symbol.name.as_str());
        if added {
            tell(symbol, What::Added);
        } else if touched.contains(symbol.name.as_str()) {
            tell(symbol, What::Changed);
        }
    }
    for symbol in &old {
        if is.contains(symbol.name.as_str()) {
            continue;
        }
        if is_gone.contains(&symbol.line) {
            tell(symbol, What::Removed);
        } else if touched.contains(symbol.name.as_str()) {
            tell(symbol, What::Changed);
        }
    }
    (told, beside)
}

fn is_blank(line: Option<&str>) -> bool {
    line.is_none_or(|line| line.trim().is_empty())
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
