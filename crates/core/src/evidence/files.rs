//! The content of files that stays with a span that nobody summed up: the text that was written last, where the next
//! change often begins, the first lines of files, whose imports and titles grow with most changes, and the definitions
//! of files that were only read, which say where to read again.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::room::is_experiment;
use super::terms::{file_name, relative};
use super::{Action, Activity, Edit};
use crate::masking::subject::numbered;
use crate::outline::{definitions, is_outlined, outline};
use crate::secrets::secrets;
use crate::text::estimate_tokens;
use crate::transcript::ToolCall;

/// Estimated tokens of the content of files that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Those of texts that were written.
    pub passages: usize,
    /// Those of outlines.
    pub outlines: usize,
    /// Those of first lines.
    pub heads: usize,
}

impl Limits {
    /// Nothing stays.
    pub const NONE: Self = Self { passages: 0, outlines: 0, heads: 0 };
}

/// Content of files that stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KeptFiles {
    /// Whether one of the last calls changed a file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changed_last: bool,
    /// Texts that were written, in the order in which they were written last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<Passage>,
    /// Outlines of files that were read and not changed, in the order in which they were read last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outlines: Vec<FileOutline>,
    /// The first lines of files that were read or written, in the order in which they were shown last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<Passage>,
}

impl KeptFiles {
    /// Whether nothing stays.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Joins two stretches of work: the later one's content stays.
    pub(super) fn then(self, later: Self) -> Self {
        if later.is_empty() { self } else { later }
    }
}

/// A text of a file, as it stood there after the last change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Passage {
    /// The file as the agent named it.
    pub path: String,
    /// The text, word for word.
    pub text: String,
}

/// The definitions of a file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileOutline {
    /// The file as the agent named it.
    pub path: String,
    /// The numbers of the first and the last line that were read last.
    pub lines: (u32, u32),
    /// Lines such as `12: fn parse(text: &str)`.
    pub definitions: Vec<String>,
}

/// The last calls of a span, whose changes are recent.
const LAST: usize = 10;
/// Lines of an outline.
const LINES: usize = 40;
/// Lines of a text that is kept.
const PASSAGE: usize = 120;
/// First lines of a file that are kept: those before the first definition, but at least and at most so many.
const HEAD: RangeInclusive<usize> = 5..=20;
/// Bytes of a text that is followed through changes.
const BYTES: usize = 16_000;
/// Texts that are followed at a time, the newest ones.
const FOLLOWED: usize = 32;
/// Files that are outlined, those that were read last.
const FILES: usize = 24;
/// Estimated tokens around a text or an outline.
const AROUND: usize = 8;

/// Returns the content of files that stays with a span, within limits. `project` is the project's folder, or empty.
pub(super) fn kept(span: &[Activity], project: &str, limits: Limits) -> KeptFiles {
    if limits == Limits::NONE {
        return KeptFiles::default();
    }
    let passages = passages(span, project, limits.passages);
    KeptFiles {
        changed_last: succeeded(span).rev().take(LAST).any(|call| !call.edits.is_empty()),
        heads: heads(span, project, &passages, limits.heads),
        passages,
        outlines: outlines(span, limits.outlines),
    }
}

fn succeeded(span: &[Activity]) -> impl DoubleEndedIterator<Item = &ToolCall> {
    span.iter().filter_map(Activity::call).filter(|call| !call.has_failed())
}

/// Texts that were written, the newest first as far as they fit, each whole.
fn passages(span: &[Activity], project: &str, room: usize) -> Vec<Passage> {
    if room == 0 {
        return Vec::new();
    }
    let mut followed: Vec<Passage> = Vec::new();
    for call in succeeded(span) {
        for removed in call.removed(project) {
            followed.retain(|passage| !removed.takes(&passage.path, project));
        }
        for edit in &call.edits {
            let Some(before) = edit.before.as_deref() else {
                followed.retain(|passage| passage.path != edit.path);
                follow(&mut followed, &edit.path, edit.after.clone());
                continue;
            };
            let holds = |it: &Passage| {
                it.path == edit.path && !before.is_empty() && it.text.contains(before)
            };
            let text = match followed.iter().rposition(holds) {
                Some(at) => followed.remove(at).text.replacen(before, &edit.after, 1),
                None => edit.after.clone(),
            };
            followed.retain(|it| it.path != edit.path || !is_changed(&it.text, before));
            follow(&mut followed, &edit.path, text);
        }
    }
    followed.retain(|it| !is_experiment(relative(&it.path, project)));
    newest(followed, PASSAGE, room)
}

/// The texts that fit, the newest first, each whole.
fn newest(texts: Vec<Passage>, lines: usize, mut room: usize) -> Vec<Passage> {
    let mut kept = Vec::new();
    for passage in texts.into_iter().rev() {
        let cost = estimate_tokens(&passage.text) + estimate_tokens(&passage.path) + AROUND;
        let is_plain = |text: &str| secrets(text).is_empty();
        if passage.text.lines().count() <= lines
            && cost <= room
            && is_plain(&passage.text)
            && is_plain(&passage.path)
        {
            room -= cost;
            kept.push(passage);
        }
    }
    kept.reverse();
    kept
}

/// First lines of files that were read or written and are not among the texts that stay, as far as they fit.
fn heads(span: &[Activity], project: &str, passages: &[Passage], room: usize) -> Vec<Passage> {
    if room == 0 {
        return Vec::new();
    }
    let mut followed: Vec<Passage> = Vec::new();
    for call in succeeded(span) {
        for removed in call.removed(project) {
            followed.retain(|head| !removed.takes(&head.path, project));
        }
        if let Action::Read(path) = &call.action {
            show(&mut followed, path, head(path, &exact_lines(call.output_text())));
        }
        for edit in &call.edits {
            let Some(before) = edit.before.as_deref() else {
                let lines: Vec<(u32, &str)> = (1..).zip(edit.after.lines()).collect();
                followed.retain(|head| head.path != edit.path);
                show(&mut followed, &edit.path, head(&edit.path, &lines));
                continue;
            };
            followed.retain_mut(|head| head.path != edit.path || goes_on(head, before, edit));
        }
    }
    let stands = |head: &Passage| {
        passages
            .iter()
            .any(|passage| passage.path == head.path && passage.text.contains(&head.text))
    };
    followed.retain(|head| !stands(head) && !is_experiment(relative(&head.path, project)));
    newest(followed, *HEAD.end(), room)
}

/// Moves the first lines of a file that was shown to the end of the list.
fn show(followed: &mut Vec<Passage>, path: &str, head: Option<String>) {
    if let Some(text) = head {
        followed.retain(|known| known.path != path);
        follow(followed, path, text);
    }
}

/// Applies an edit to the first lines of its file if it lies within them. Returns whether they are known afterwards.
fn goes_on(head: &mut Passage, before: &str, edit: &Edit) -> bool {
    if !before.is_empty() && head.text.contains(before) {
        let times = if edit.all { usize::MAX } else { 1 };
        head.text = head.text.replacen(before, &edit.after, times);
        return !head.text.trim().is_empty();
    }
    let mut begins = before.match_indices('\n').map(|(at, _)| before[..at].trim_end());
    !begins.any(|lines| !lines.is_empty() && head.text.ends_with(lines))
        && !before.contains(head.text.trim())
}

/// Returns the first lines of a file of which the definitions are known, from its beginning.
fn head(path: &str, lines: &[(u32, &str)]) -> Option<String> {
    let numbered = (1..).zip(lines).take_while(|(number, line)| *number == line.0);
    let lines: Vec<(u32, &str)> = numbered.take(*HEAD.end()).map(|(_, line)| *line).collect();
    if lines.is_empty() || !is_outlined(path) {
        return None;
    }
    let first = definitions(path, lines.iter().copied()).first().map(|found| found.line as usize);
    let count = first.map_or(lines.len(), |line| line.saturating_sub(1).max(*HEAD.start()));
    let text: Vec<&str> = lines.iter().take(count).map(|(_, line)| *line).collect();
    Some(text.join("\n").trim_end().to_owned())
}

/// Whether a text is changed by the replacement of another one: the other contains it, or one of the two ends with
/// lines that the other begins with.
fn is_changed(text: &str, replaced: &str) -> bool {
    replaced.contains(text.trim()) || overlap(text, replaced) || overlap(replaced, text)
}

/// Whether `front` ends with lines that `back` begins with, of which at least one has a few letters or digits.
fn overlap(front: &str, back: &str) -> bool {
    let (front, back): (Vec<&str>, Vec<&str>) = (front.lines().collect(), back.lines().collect());
    let most = front.len().min(back.len()).min(LINES);
    let says = |line: &&str| line.chars().filter(|char| char.is_alphanumeric()).count() > 3;
    let shares = |count: &usize| {
        let shared = &back[..*count];
        front.ends_with(shared) && shared.iter().any(says)
    };
    (1..=most).any(|count| shares(&count))
}

fn follow(followed: &mut Vec<Passage>, path: &str, text: String) {
    let is_name = !file_name(path).is_empty() && !path.contains(['\n', '\r']);
    if is_name && !text.trim().is_empty() && text.len() <= BYTES {
        followed.push(Passage { path: path.to_owned(), text });
        followed.drain(..followed.len().saturating_sub(FOLLOWED));
    }
}

/// Outlines of files that were read and not written, of as many lines as fit; then of fewer files, those that were
/// read last.
fn outlines(span: &[Activity], room: usize) -> Vec<FileOutline> {
    if room == 0 {
        return Vec::new();
    }
    let mut known: HashSet<&str> = HashSet::new();
    for call in succeeded(span) {
        if let Action::Wrote(paths) = &call.action {
            known.extend(paths.iter().map(String::as_str));
        }
        known.extend(call.edits.iter().map(|edit| edit.path.as_str()));
    }
    let mut read = Vec::new();
    for call in succeeded(span).rev() {
        let Action::Read(path) = &call.action else { continue };
        if read.len() < FILES && !path.contains(['\n', '\r']) && known.insert(path.as_str()) {
            read.push((path, numbered_lines(call.output_text())));
        }
    }
    read.retain(|(_, lines)| !lines.is_empty());
    read.reverse();
    for most in [LINES, 20, 10, 5] {
        let all: Vec<FileOutline> =
            read.iter().filter_map(|(path, lines)| outlined(path, lines, most)).collect();
        if all.iter().map(cost).sum::<usize>() <= room {
            return all;
        }
    }
    let mut all: Vec<FileOutline> =
        read.iter().filter_map(|(path, lines)| outlined(path, lines, 5)).collect();
    let mut taken: usize = all.iter().map(cost).sum();
    let fits = all.iter().position(|outline| {
        let fits = taken <= room;
        taken -= cost(outline).min(taken);
        fits
    });
    all.drain(..fits.unwrap_or(all.len()));
    all
}

fn outlined(path: &str, lines: &[(u32, &str)], most: usize) -> Option<FileOutline> {
    let definitions = outline(path, lines.iter().copied(), most);
    let is_plain = |line: &String| secrets(line).is_empty();
    let definitions: Vec<String> = definitions.into_iter().filter(is_plain).collect();
    let (first, last) = (lines.first()?.0, lines.last()?.0);
    let is_shown = !definitions.is_empty() && secrets(path).is_empty();
    is_shown.then(|| FileOutline { path: path.to_owned(), lines: (first, last), definitions })
}

/// Returns lines that stand after their numbers. Without numbers the place of a text in its file is not known.
fn numbered_lines(output: &str) -> Vec<(u32, &str)> {
    let lines = output.lines().filter_map(numbered);
    lines.map(|(number, line)| (number, line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// Returns lines as they stand in their file, after their numbers. Some hosts put a blank after each number.
fn exact_lines(output: &str) -> Vec<(u32, &str)> {
    let lines = output.lines().map(|line| line.strip_prefix("<content>").unwrap_or(line));
    let mut lines: Vec<(u32, &str)> = lines.filter_map(numbered).collect();
    if lines.iter().all(|(_, line)| line.is_empty() || line.starts_with(' ')) {
        for (_, line) in &mut lines {
            *line = line.strip_prefix(' ').unwrap_or(line);
        }
    }
    lines
}

fn cost(outline: &FileOutline) -> usize {
    let lines: usize = outline.definitions.iter().map(|line| estimate_tokens(line) + 2).sum();
    lines + estimate_tokens(&outline.path) + AROUND
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
