//! Evidence as lines for people and models.

use super::changes::{Changed, Fate, FileChange, What};
use super::reads::{FileRead, span};
use super::room::is_prose;
use super::{CheckRun, Evidence, Remains, WrittenFile, names};
use crate::text::CUT;

/// The most definitions of a new file that are named one by one; of more, only the first ones are.
const NEW_NAMES: usize = 20;
const FIRST_NAMES: usize = 12;

impl Evidence {
    /// One line for each file that was changed and for each kind of other things.
    pub fn lines(&self) -> Vec<String> {
        self.lines_beside(&[])
    }

    /// The same where files are `listed` beside it already; those that were only written are left out.
    pub fn lines_beside(&self, listed: &[String]) -> Vec<String> {
        let mut lines: Vec<String> = self.changes.iter().map(changed).collect();
        if self.more_changes > 0 {
            lines.push(format!("and {} more changed before those", files(self.more_changes)));
        }
        let is_listed = |path: &&String| {
            let it = WrittenFile { path: (*path).clone(), hash: None };
            listed.iter().any(|path| it.is_at(path))
        };
        let besides = self.written_besides.iter().filter(|path| !is_listed(path));
        list("written", " ", besides.cloned(), &mut lines);
        let mut changing: Vec<String> =
            self.changing.iter().map(|line| format!("`{line}`")).collect();
        if let (Some(last), more @ 1..) = (changing.last_mut(), self.more_changing) {
            *last = format!("{last}, and {more} before");
        }
        list("commands that may have changed files", "; ", changing.into_iter(), &mut lines);
        list("committed", "; ", self.commits.iter().cloned(), &mut lines);
        if self.checked_as_told && self.checks.is_empty() {
            lines.push("checks: seen to pass as the results say".to_owned());
        }
        list("checks", "; ", check_lines(&self.checks).into_iter(), &mut lines);
        lines.extend(self.unchecked_line());
        let failed = self.failures.iter().map(|it| format!("{}: {}", it.what, it.how));
        list("failed, and not seen to go well later", "; ", failed, &mut lines);
        lines.extend(self.read_lines());
        lines.extend(self.renumbered_lines());
        self.older_lines(listed, &mut lines);
        lines.extend(self.remaining().lines());
        lines
    }

    /// Returns the remaining work, without the parts that another line shows.
    fn remaining(&self) -> Remains {
        let shows_untested = self.never_checked
            || !self.unchecked.is_empty()
            || (!self.written.is_empty() && self.written.iter().all(|it| is_prose(&it.path)));
        let mut remains = self.remains.clone();
        remains.untried &= !shows_untested;
        remains.failing.retain(|run| {
            let begin = run.line.trim_end_matches(CUT).trim_end();
            let is_same = |line: &str| run.line.contains(line) || line.starts_with(begin);
            let mut known = self.checks.iter().filter(|check| check.is_known());
            let is_checked = known.any(|check| check.line.split("; ").any(is_same));
            let mut failures = self.failures.iter();
            let has_failure_line = failures.any(|it| it.what.trim_matches('`').starts_with(begin));
            !is_checked && !has_failure_line && run.meaningful_exits().last() != Some(&0)
        });
        remains
    }

    fn unchecked_line(&self) -> Option<String> {
        if self.never_checked {
            return Some("no known test, build or lint command was run".to_owned());
        }
        let (first, rest) = self.unchecked.split_first()?;
        let more = match rest.len() {
            0 => String::new(),
            1 => format!(" and {}", rest[0]),
            more => format!(" and {more} more files"),
        };
        Some(format!("changed after the last check: {first}{more}"))
    }

    fn read_lines(&self) -> Vec<String> {
        let (whole, part): (Vec<&FileRead>, Vec<&FileRead>) =
            self.reads.iter().partition(|it| it.whole);
        let mut lines = Vec::new();
        let mut add = |what: &str, files: Vec<&FileRead>| {
            list(what, ", ", files.into_iter().map(FileRead::summary), &mut lines);
        };
        add("read whole", whole);
        add("read in part", part);
        match (lines.last_mut(), self.more_reads) {
            (_, 0) => {}
            (Some(last), more) => *last = format!("{last}, and {} read before", files(more)),
            (None, more) => lines.push(format!("read: {}", files(more))),
        }
        lines
    }

    /// Adds the facts that only evidence of older versions has.
    fn older_lines(&self, listed: &[String], lines: &mut Vec<String>) {
        let is_older =
            !(self.read.is_empty() && self.commands.is_empty() && self.errors.is_empty());
        if is_older {
            let is_known = |it: &&WrittenFile| {
                let mut known = listed.iter().chain(self.changes.iter().map(|change| &change.path));
                known.any(|path| it.is_at(path))
            };
            let written = self.written.iter().filter(|it| !is_known(it));
            list("written", " ", written.map(|it| it.path.clone()), lines);
        }
        list("read", " ", self.read.iter().cloned(), lines);
        let commands = self.commands.iter().map(|run| {
            let tests = self.tests.iter().find(|tests| tests.command == run.line);
            let exits: Vec<_> = run.meaningful_exits().iter().map(i64::to_string).collect();
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
            let gone = if error.gone { "gone since" } else { "not seen to be gone" };
            format!("{} ({gone})", error.text)
        });
        list("errors", "; ", errors, lines);
    }

    /// All of it, to be searched.
    pub fn searchable(&self) -> String {
        self.lines().join("\n")
    }
}

/// Such as "src/limits.rs +3 -1 (lines now 12-14): added limit; changed list".
fn changed(change: &FileChange) -> String {
    let path = &change.path;
    let what = match change.fate {
        Fate::Edited => format!("{path} +{} -{}", change.added, change.removed),
        Fate::Created => format!("{path} new, {}", of_lines(change.added)),
        Fate::Rewritten => format!("{path} written whole, {}", of_lines(change.added)),
        Fate::Removed => return format!("{path} removed"),
    };
    let ranges = change.ranges.iter().map(|(first, last)| span(*first, *last)).collect::<Vec<_>>();
    let ranges = match (change.places, ranges.as_slice()) {
        (_, []) => String::new(),
        (places, [all]) if places > 1 => format!(" ({places} places in what are now lines {all})"),
        (_, [line]) if !line.contains('-') => format!(" (now line {line})"),
        (_, ranges) => format!(" (now lines {})", ranges.join(", ")),
    };
    let mut details: Vec<String> = Vec::new();
    // All that is defined in a new file is.
    let also = if change.also { "also " } else { "" };
    let of = |test: bool, what: What| -> Vec<&Changed> {
        change.symbols.iter().filter(|it| it.test == test && it.what == what).collect()
    };
    for test in [false, true] {
        for (what, word) in
            [(What::Added, "added"), (What::Changed, "changed"), (What::Removed, "removed")]
        {
            match of(test, what).as_slice() {
                [] => {}
                tests if test => details.push(format!("{also}{word} {}", names::of_tests(tests))),
                // Whoever needs them opens the file.
                others if change.fate == Fate::Created && others.len() > NEW_NAMES => {
                    let first = names::in_order(others.iter().take(FIRST_NAMES).copied());
                    let more = others.len() - FIRST_NAMES;
                    details.push(format!("{also}{word} {first} and {more} more"));
                }
                others => {
                    let others = names::in_order(others.iter().copied());
                    details.push(format!("{also}{word} {others}"));
                }
            }
        }
    }
    if change.more > 0 {
        let names = if change.symbols.is_empty() { "" } else { "and " };
        let what = if is_prose(path) { "sections" } else { "functions, types or tests" };
        details.push(format!("{names}{} more {what}", change.more));
    }
    details.extend(change.lines.iter().map(|line| fenced(line)));
    details.extend(change.why.iter().map(|why| format!("why: {why}")));
    let details =
        if details.is_empty() { String::new() } else { format!(": {}", details.join("; ")) };
    format!("{what}{ranges}{details}")
}

/// Returns a line between more backticks than it has in a row.
fn fenced(line: &str) -> String {
    let runs = line.split(|char| char != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    let space = if line.ends_with('`') { " " } else { "" };
    format!("{fence}{line}{space}{fence}")
}

/// Returns the checks whose outcome is known; those that follow each other with the same outcome stand together.
fn check_lines(checks: &[CheckRun]) -> Vec<String> {
    let mut groups: Vec<(String, String)> = Vec::new();
    for check in checks {
        let Some(how) = check.how() else { continue };
        let line = format!("`{}`", check.line);
        match groups.last_mut() {
            Some((lines, same)) if *same == how => *lines = format!("{lines}, {line}"),
            _ => groups.push((line, how)),
        }
    }
    groups.into_iter().map(|(lines, how)| format!("{lines}: {how}")).collect()
}

impl FileChange {
    /// Returns by how much its lines moved, as text that follows its name, empty where that is not known or more than
    /// one shift; none where they have kept their numbers.
    fn moves(&self) -> Option<String> {
        let by = |(below, lines): &(usize, isize)| match below {
            0 => format!("{lines:+} from the first line on"),
            below => format!("{lines:+} below line {below}"),
        };
        Some(match self.moved.as_slice() {
            [] if self.fate == Fate::Removed || self.keeps_numbers => return None,
            [one] => by(one),
            // Nobody adds up several shifts: the file is read again.
            _ => String::new(),
        })
    }
}

impl Evidence {
    /// Files that were read before they were changed, each with how its lines moved.
    pub fn outdated_lines(&self) -> Vec<String> {
        let moves = |path: &String| {
            let change = self.changes.iter().rfind(|change| change.path == *path);
            change.and_then(FileChange::moves).filter(|moves| !moves.is_empty())
        };
        let line = |path: &String| match moves(path) {
            Some(moves) => format!("{path} ({moves})"),
            None => path.clone(),
        };
        self.outdated.iter().map(line).collect()
    }

    /// Returns the files whose line numbers it contains.
    pub fn numbered_files(&self) -> impl Iterator<Item = &str> {
        let numbered = |it: &&FileChange| !it.ranges.is_empty();
        let changed = self.changes.iter().filter(numbered).map(|it| it.path.as_str());
        let read = self.reads.iter().filter(|it| !it.lines.is_empty());
        changed.chain(read.map(|it| it.path.as_str()))
    }

    /// Returns notices that line numbers further up are out of date.
    fn renumbered_lines(&self) -> impl Iterator<Item = String> {
        self.renumbered.iter().filter_map(|path| {
            let change = self.changes.iter().rfind(|change| change.path == *path);
            let moves = change.map_or_else(|| Some(String::new()), FileChange::moves)?;
            let moves = if moves.is_empty() { moves } else { format!(": {moves}") };
            Some(format!("line numbers of {path} further up are out of date{moves}"))
        })
    }
}

fn of_lines(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

fn list(what: &str, between: &str, items: impl Iterator<Item = String>, lines: &mut Vec<String>) {
    let items: Vec<_> = items.collect();
    if !items.is_empty() {
        lines.push(format!("{what}: {}", items.join(between)));
    }
}
