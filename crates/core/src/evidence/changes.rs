//! Changes of files in a span: lines added and removed, the places of these at its end, and the functions, types and
//! tests that were added, changed or removed.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Hunk;
use super::document::Document;
use super::room::is_prose;
use super::symbols::{Symbol, innermost, symbols};

/// The most places after which lines moved that evidence names.
const MOVES: usize = 12;

/// A piece of a file that a call replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: String,
    /// The text that was replaced; none where the file was written as a whole, or removed.
    pub before: Option<String>,
    /// The text that replaced it.
    pub after: String,
    /// Whether every occurrence was replaced.
    pub all: bool,
    /// Whether the file was removed.
    pub removes: bool,
    /// The places of the edit in the file, as reported by the host.
    pub hunks: Vec<Hunk>,
    /// The whole file before the edit, as reported by the host; empty where there was none.
    pub original: Option<String>,
}

/// The change of a file in a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// The change of the file as a whole.
    #[serde(skip_serializing_if = "Fate::is_edited")]
    pub fate: Fate,
    /// Lines that were added.
    pub added: usize,
    /// Lines that were removed.
    pub removed: usize,
    /// First and last line of each range that was added, by their numbers at the end of the span.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(usize, usize)>,
    /// The number of such ranges, where only the first and the last line of all of them are given.
    #[serde(skip_serializing_if = "is_zero")]
    pub places: usize,
    /// The shifts of its lines: each entry is a line before the span, and by how much the lines after it moved. Empty
    /// where that is not known, or there are too many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<(usize, isize)>,
    /// Whether all lines that the file held before are known to have kept their numbers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_numbers: bool,
    /// The definitions that were added, changed or removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<Changed>,
    /// The number of further ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Whether the results name others, which are not repeated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub also: bool,
    /// Lines that describe the change where no symbol does, after a `+` if they were added and a `-` if they were
    /// removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// The agent's words, or its thoughts where it said nothing, before it wrote there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

/// The change of a file as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// The file was edited.
    #[default]
    Edited,
    /// The file was created.
    Created,
    /// The file was written as a whole, and its earlier content is not known.
    Rewritten,
    /// The file was removed.
    Removed,
}

impl Fate {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
    fn is_edited(&self) -> bool {
        *self == Self::Edited
    }
}

/// A function, a type, a test or a section that was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Changed {
    /// Its name, after the names of the definitions around it.
    pub name: String,
    /// How it was changed.
    pub what: What,
    /// Whether it is a test.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
}

/// The change of a definition in a file.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// It is new.
    Added,
    /// It has other content.
    #[default]
    Changed,
    /// It was removed.
    Removed,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl FileChange {
    /// Joins the changes of a file in two stretches of work.
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
        // The lines of the first stretch may stand elsewhere after the second.
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

/// Whether a file is prose that was written as a whole. Its length describes it well enough.
pub(super) fn is_new_prose(path: &str, fate: Fate) -> bool {
    matches!(fate, Fate::Created | Fate::Rewritten) && is_prose(path)
}

/// The known parts of a file's change: the file, and pieces of it whose places are not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts<'a> {
    pub file: Document<'a>,
    pub pieces: Vec<Document<'a>>,
    /// Whether lines of the file have their places at the end of the span.
    pub placed: bool,
}

impl<'a> Parts<'a> {
    /// Moves the pieces to their places in the present content of the file.
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
                // `may_be` has made sure that the file may hold this.
                let _known = self.file.learn(at, line);
            }
            self.file.ends_after(now.lines().count());
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

    /// Returns the numbers of lines that were added and removed.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count = |of: &dyn Fn(&Document<'a>) -> usize| self.all().map(of).sum();
        (count(&|it| it.added()), count(&|it| it.gone().len()))
    }

    /// Returns the first and last line of each range that was added, from 1; empty where that is not known.
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

    /// Returns each line after which lines moved, and by how much; none where that is not known.
    pub(super) fn moved(&self) -> Option<Vec<(usize, isize)>> {
        let is_known = self.placed && self.pieces.is_empty() && !self.file.is_marked();
        is_known.then(|| self.file.moved()).filter(|moved| moved.len() <= MOVES)
    }

    /// Returns the definitions that were added, changed or removed, and the changed lines outside of any, each with
    /// whether it was added.
    pub(super) fn symbols(&self, path: &str) -> (Vec<Changed>, Vec<(bool, String)>) {
        let mut all = Vec::new();
        let mut beside = Vec::new();
        for (at, document) in self.all().enumerate() {
            if !document.is_changed() && !document.is_marked() {
                continue;
            }
            let known = of_document(path, document);
            merge(&mut all, known.0);
            // A piece that has a place is better known from the file.
            if at == 0 || !self.placed {
                beside.extend(known.1);
            }
        }
        // The name of an inner definition contains that of the outer one.
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

/// Returns the name of the definition around another one.
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
                // A piece knows the earlier text, the file only that its line is new.
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
    let around = innermost(&new, rows.len());
    for (at, line) in rows.iter().enumerate().filter(|(at, _)| is_new(*at)) {
        match around[at] {
            Some(symbol) if says(*line) || !is_blank(*line) => {
                touched.insert(new[symbol].name.as_str());
            }
            None if says(*line) => beside.push((true, line.unwrap_or_default().to_owned())),
            _ => {}
        }
    }
    let around = innermost(&old, old_rows.len());
    for at in document.gone() {
        let line = old_rows.get(*at).copied().flatten();
        match around.get(*at).copied().flatten() {
            Some(symbol) if !is_blank(line) => {
                touched.insert(old[symbol].name.as_str());
            }
            None if says(line) => beside.push((false, line.unwrap_or_default().to_owned())),
            _ => {}
        }
    }
    let mut changed: Vec<Changed> = Vec::new();
    let mut named = HashSet::new();
    let mut add = |symbol: &Symbol, what: What| {
        if named.insert(symbol.name.clone()) {
            changed.push(Changed { name: symbol.name.clone(), what, test: symbol.is_test });
        }
    };
    for symbol in &new {
        let added = is_new(symbol.line) && !was.contains(symbol.name.as_str());
        if added {
            add(symbol, What::Added);
        } else if touched.contains(symbol.name.as_str()) {
            add(symbol, What::Changed);
        }
    }
    for symbol in &old {
        if is.contains(symbol.name.as_str()) {
            continue;
        }
        if is_gone.contains(&symbol.line) {
            add(symbol, What::Removed);
        } else if touched.contains(symbol.name.as_str()) {
            add(symbol, What::Changed);
        }
    }
    (changed, beside)
}

fn is_blank(line: Option<&str>) -> bool {
    line.is_none_or(|line| line.trim().is_empty())
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
