//! The files that were read, and the parts of them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;
use super::chain::segments;
use super::terms::relative;
use crate::masking::subject::numbered;
use crate::transcript::ToolCall;

/// A file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FileRead {
    /// The file.
    pub path: String,
    /// Whether all of it was.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// First and last line of each range that was read, where not all of it was; empty where that is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(usize, usize)>,
    /// Whether the last of these lines is known to be the file's.
    #[serde(skip)]
    pub to_end: bool,
}

impl FileRead {
    /// Adds further reads of it.
    pub(super) fn and(&mut self, other: Self) {
        self.whole |= other.whole;
        self.to_end |= other.to_end;
        self.lines.extend(other.lines);
        self.lines.sort_unstable();
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for (first, last) in self.lines.drain(..) {
            match joined.last_mut() {
                Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        // Read in several pieces.
        self.whole |= self.to_end && matches!(joined.as_slice(), [(1, _)]);
        if !self.whole {
            self.lines = joined;
        }
    }

    pub(super) fn summary(&self) -> String {
        const MOST: usize = 4;
        if self.whole {
            return self.path.clone();
        }
        let shown = self.lines.iter().take(MOST).map(|(first, last)| span(*first, *last));
        let mut parts: Vec<String> = shown.collect();
        match self.lines.len() {
            0 => return self.path.clone(),
            count if count > MOST => parts.push(format!("and {} more", count - MOST)),
            _ => {}
        }
        format!("{} lines {}", self.path, parts.join(", "))
    }
}

/// Writes the first and the last line, or only one where they are the same.
pub(super) fn span(first: usize, last: usize) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// The lines of a file that an output shows.
#[derive(Clone, Debug)]
pub(super) struct ShownFile<'a> {
    pub path: Cow<'a, str>,
    /// Lines with their numbers, from 1.
    pub lines: Vec<(usize, &'a str)>,
    /// First and last line of the shown part, where its lines can't be distinguished from other output.
    pub range: Option<(usize, usize)>,
    /// Whether that is all of it.
    pub whole: bool,
    /// Whether the last of these lines is known to be the file's.
    pub to_end: bool,
}

impl ShownFile<'_> {
    pub(super) fn read(&self) -> FileRead {
        let mut read = FileRead {
            path: self.path.clone().into_owned(),
            whole: self.whole,
            lines: Vec::new(),
            to_end: self.to_end,
        };
        let ends = self.lines.first().zip(self.lines.last()).map(|(first, last)| (first.0, last.0));
        if !self.whole {
            read.lines.extend(ends.or(self.range));
        }
        read
    }
}

/// The files that a call showed, as it names them relative to the project.
pub(super) fn shown<'a>(call: &'a ToolCall, project: &str) -> Vec<ShownFile<'a>> {
    match &call.action {
        Action::Read(path) if !path.is_empty() && !path.contains(['\n', '\r']) => {
            read(call, relative(path, project)).into_iter().collect()
        }
        Action::Ran(command) => by_command(command, call, project),
        _ => Vec::new(),
    }
}

/// The files that a call read, in whole or in part, relative to the project.
pub fn files_read(call: &ToolCall, project: &str) -> Vec<String> {
    let found = if call.has_failed() { Vec::new() } else { shown(call, project) };
    found.into_iter().map(|file| file.path.into_owned()).collect()
}

/// Words with which hosts say that a file goes on.
const GOES_ON: [&str; 5] =
    ["File has more lines", "Use offset=", "Use 'offset'", "more lines in file", "truncated"];

fn read<'a>(call: &'a ToolCall, path: &'a str) -> Option<ShownFile<'a>> {
    let output = call.output_text();
    if output.contains("<type>directory</type>") {
        return None;
    }
    let lines: Vec<(usize, &str)> = output
        .lines()
        .map(|line| line.strip_prefix("<content>").or(line.strip_prefix("<file>")).unwrap_or(line))
        .filter_map(numbered)
        .map(|(number, line)| (number as usize, line))
        .collect();
    // OpenCode puts a blank after the colon.
    let spaced = output.contains("<content>") || output.contains("<file>");
    let bare = |line: &'a str| if spaced { line.strip_prefix(' ').unwrap_or(line) } else { line };
    let lines: Vec<(usize, &str)> = lines.into_iter().map(|(at, line)| (at, bare(line))).collect();
    let in_order = lines.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
    let lines = if in_order { lines } else { Vec::new() };
    let tail = output
        .get(output.ceil_char_boundary(output.len().saturating_sub(400))..)
        .unwrap_or_default();
    let goes_on = GOES_ON.iter().any(|words| tail.contains(words));
    let asked = call
        .input_text()
        .lines()
        .any(|line| !line.is_empty() && line.bytes().all(|it| it.is_ascii_digit()));
    let from_start = lines.first().is_none_or(|(first, _)| *first == 1);
    let ends = tail.contains("(End of file");
    let whole = from_start && !goes_on && (ends || !asked) && !output.is_empty();
    let to_end = ends && !lines.is_empty();
    Some(ShownFile { path: path.into(), lines, range: None, whole, to_end })
}

/// Files that commands print whole or in part, where nothing else is in the output.
fn by_command<'a>(command: &str, call: &'a ToolCall, project: &str) -> Vec<ShownFile<'a>> {
    if call.has_failed() {
        return Vec::new();
    }
    let segments = segments(command);
    let alone = segments.len() == 1;
    let mut shown = Vec::new();
    for segment in segments.iter().filter(|it| !it.piped && !it.aside) {
        let words: Vec<&str> =
            segment.text.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect();
        if words.iter().any(|word| word.contains(['>', '<', '$', '*', '`'])) {
            continue;
        }
        let Some((program, rest)) = words.split_first() else { continue };
        let is_file = |word: &&&str| !word.starts_with('-') && word.contains(['.', '/']);
        let files: Vec<&str> = rest.iter().filter(is_file).copied().collect();
        let range = match *program {
            "cat" | "nl" => None,
            "sed" if rest.first() == Some(&"-n") => match rest.get(1).and_then(|it| printed(it)) {
                Some(range) => Some(range),
                None => continue,
            },
            "head" => Some((1, counted(rest).unwrap_or(10))),
            _ => continue,
        };
        for path in &files {
            let one = alone && files.len() == 1 && *program != "nl";
            let first = range.map_or(1, |(first, _)| first);
            let lines: Vec<(usize, &str)> =
                if one { (first..).zip(call.output_text().lines()).collect() } else { Vec::new() };
            let path = relative(path, project).to_owned();
            let cut = call.output_text().contains("truncated");
            let lines = if cut { Vec::new() } else { lines };
            // Fewer lines than were asked for: there are no more.
            let asked = range.map(|(first, last)| last.saturating_sub(first) + 1);
            let to_end = asked.is_some_and(|asked| !lines.is_empty() && lines.len() < asked);
            let whole = !cut && (range.is_none() || (to_end && first == 1));
            shown.push(ShownFile { path: path.into(), lines, range, whole, to_end });
        }
    }
    shown
}

/// First and last line of `12,40p`.
fn printed(script: &str) -> Option<(usize, usize)> {
    let (first, last) = script.strip_suffix('p')?.split_once(',')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// The number of `-20`, `-n 20` and `-n20`.
fn counted(words: &[&str]) -> Option<usize> {
    words.iter().find_map(|word| word.trim_start_matches(['-', 'n']).parse().ok())
}

#[cfg(test)]
#[path = "reads_tests.rs"]
mod tests;
