//! All that a span shows, before it is cut to a budget.

use std::collections::HashSet;

use super::changes::{Changed, Edit, Fate, FileChange, Parts, is_new_prose};
use super::checks::{CheckRun, checks};
use super::commits::commits;
use super::document::Document;
use super::hunks::{Hunk, HunkLine};
use super::reads::{FileRead, shown};
use super::room::is_beside;
use super::terms::relative;
use super::{Action, Activity, Failure, errors, reasons, shell};
use crate::named_steps::{is_our_command, is_ours};
use crate::secrets::{mask, secrets};
use crate::text::cap;
use crate::transcript::ToolCall;

/// Files of a span that are followed.
const FILES: usize = 200;
/// Bytes of a file that are compared with its known content.
const LARGEST: usize = 1_000_000;

/// All that is known of a span.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The files in the order in which they were changed last.
    pub changes: Vec<FileChange>,
    /// All that were written, by any tool.
    pub written: Vec<String>,
    /// Those of them whose changes are not known.
    pub besides: Vec<String>,
    pub reads: Vec<FileRead>,
    pub checks: Vec<CheckRun>,
    /// Whether there were checks whose outcomes the results give.
    pub checked_as_told: bool,
    pub failures: Vec<Failure>,
    /// Files that were changed after the last check; none where there was none at all.
    pub unchecked: Option<Vec<String>>,
    /// Commands that may have changed files which no call shows.
    pub changing: Vec<String>,
    /// Commits in the order in which they were made.
    pub commits: Vec<String>,
    /// Files of the span that a command ran, and that did what they should.
    pub tried: HashSet<String>,
}

/// A file of the span.
#[derive(Debug, Default)]
struct File<'a> {
    path: String,
    parts: Parts<'a>,
    fate: Fate,
    why: Vec<String>,
    /// Whether an unknown change may have moved its lines.
    is_moved: bool,
}

/// Gathers the facts of a span. `contents` returns the content of files at its end, where that can be known.
pub(super) fn gather<'a>(
    span: &'a [Activity],
    project: &'a str,
    contents: &'a [(String, String)],
) -> Gathered {
    let edited: HashSet<&str> = calls(span)
        .flat_map(|call| &call.edits)
        .map(|edit| relative(&edit.path, project))
        .take(FILES)
        .collect();
    let mut work = Work { project, ..Work::default() };
    for activity in span {
        match activity {
            Activity::Said(text) => {
                work.said = Some(text);
                work.explained = None;
            }
            Activity::Thought(text) => {
                work.thought = Some(text);
                work.explained = None;
            }
            Activity::Called(call) => work.called(call, &edited),
        }
    }
    let Work { mut all, files, hidden, checked, since, .. } = work;
    all.unchecked = checked.then_some(since);
    all.written.truncate(FILES);
    let known: HashSet<String> = files.iter().map(|file| file.path.clone()).collect();
    all.besides = all.written.iter().filter(|path| !known.contains(*path)).cloned().collect();
    for mut file in files {
        let now = contents.iter().find(|(path, text)| *path == file.path && text.len() <= LARGEST);
        if let Some((_, now)) = now.filter(|_| file.fate != Fate::Removed) {
            if file.is_new() {
                file.parts.file.becomes(now);
            }
            file.parts.place(now);
        } else if file.is_moved {
            file.parts.placed = false;
        }
        let path = file.path.clone();
        match file.into_change(&hidden) {
            Some(change) => all.changes.push(change),
            // A change that was taken back is none.
            None => all.written.retain(|it| *it != path),
        }
    }
    all
}

/// A span as far as it was gone through.
#[derive(Debug, Default)]
struct Work<'a> {
    project: &'a str,
    all: Gathered,
    files: Vec<File<'a>>,
    /// Lines with secrets.
    hidden: HashSet<&'a str>,
    /// The last words and thoughts, where no other call followed them, and the file that they explain.
    said: Option<&'a str>,
    thought: Option<&'a str>,
    explained: Option<String>,
    /// Whether anything was checked.
    checked: bool,
    /// Files that were changed since.
    since: Vec<String>,
}

impl<'a> Work<'a> {
    fn called(&mut self, call: &'a ToolCall, edited: &HashSet<&str>) {
        if !is_own(call) {
            self.all.took(call, self.project);
            self.showed(call, edited);
        }
        match &call.action {
            Action::Wrote(paths) if !call.is_failed() => return self.wrote(paths, call),
            Action::Ran(command) => self.ran(command, call),
            _ => {}
        }
        // Words before a call that writes nothing are about that call.
        (self.said, self.thought, self.explained) = (None, None, None);
    }

    fn showed(&mut self, call: &'a ToolCall, edited: &HashSet<&str>) {
        for shown in shown(call, self.project) {
            let path = shown.path.clone();
            if let Some(file) = self.files.iter_mut().find(|file| file.path == path) {
                file.learn(&shown.lines, shown.whole);
            } else if edited.contains(&*path) && !call.has_failed() {
                let mut file = File::at(&path);
                file.learn(&shown.lines, shown.whole);
                self.files.insert(0, file);
            }
        }
    }

    fn ran(&mut self, command: &str, call: &ToolCall) {
        let found = checks(command, call, self.project);
        if !found.is_empty() {
            self.checked = true;
            self.since.clear();
        }
        self.all.checked(found);
        self.all.commits.extend(commits(command, call));
        if !call.has_failed() {
            let ran = self.all.written.iter().filter(|path| shell::runs(command, path));
            self.all.tried.extend(ran.cloned());
        }
        if shell::changes_files(command) && !call.has_failed() && !is_our_command(command) {
            let line = command_line(command, self.project);
            self.all.changing.retain(|it| *it != line);
            self.all.changing.push(line);
        }
        if shell::may_change_files(command) {
            for file in &mut self.files {
                file.is_moved = true;
            }
        }
        for removed in call.removed(self.project) {
            for file in &mut self.files {
                if removed.takes(&file.path, self.project) {
                    file.fate = Fate::Removed;
                }
            }
            self.all.written.retain(|path| !removed.takes(path, self.project));
            self.since.retain(|path| !removed.takes(path, self.project));
        }
    }

    fn wrote(&mut self, paths: &[String], call: &'a ToolCall) {
        let relative = |path| relative(path, self.project);
        for path in paths.iter().map(|path| relative(path)).filter(|it| is_path(it)) {
            self.since.retain(|it| it != path);
            if !is_beside(path) {
                self.since.push(path.to_owned());
            }
            if !self.all.written.iter().any(|it| it == path) {
                self.all.written.push(path.to_owned());
            }
        }
        let why = self.said.take().or(self.thought.take()).and_then(reasons::reason);
        for edit in call.edits.iter().filter(|edit| is_path(&edit.path)) {
            let path = relative(&edit.path);
            let known = self.files.iter().position(|file| file.path == path);
            let mut file = known.map_or_else(|| File::at(path), |at| self.files.remove(at));
            file.take(edit);
            for text in edit.before.iter().chain([&edit.after]) {
                self.hidden.extend(reasons::lines_with_secrets(text));
            }
            self.files.push(file);
        }
        let mut paths = call.edits.iter().map(|edit| &edit.path);
        let first = paths.next();
        self.explain(why.filter(|_| paths.all(|path| Some(path) == first)));
    }

    /// Gives the last changed file its reason. Words before changes of several files explain no single one of them.
    fn explain(&mut self, why: Option<String>) {
        let Some(last) = self.files.last_mut() else { return };
        match (why, self.explained.take()) {
            (Some(why), _) => {
                self.explained = Some(last.path.clone());
                last.why.push(why);
            }
            (None, Some(path)) if path != last.path => {
                let first = self.files.iter_mut().find(|file| file.path == path);
                first.and_then(|file| file.why.pop());
            }
            (None, explained) => self.explained = explained,
        }
    }
}

fn calls(span: &[Activity]) -> impl Iterator<Item = &ToolCall> {
    span.iter().filter_map(Activity::call)
}

/// Whether it is a call of callstack itself, whose answer is in its store already.
fn is_own(call: &ToolCall) -> bool {
    match &call.action {
        Action::Ran(command) => is_our_command(command),
        _ => is_ours(&call.tool),
    }
}

/// Returns a command without its environment variables: a command that failed with one `PYTHONPATH` may go well with
/// another.
fn without_assignments(line: &str) -> String {
    let is_assignment = |word: &str| {
        word.trim_start_matches('`').split_once('=').is_some_and(|(name, _)| {
            let plain =
                |char: char| char.is_ascii_uppercase() || char == '_' || char.is_ascii_digit();
            !name.is_empty() && name.chars().all(plain)
        })
    };
    let words = line.split_whitespace().filter(|word| !is_assignment(word));
    words.map(|word| word.trim_matches('`')).collect::<Vec<_>>().join(" ")
}

/// Whether a command runs the program that an earlier `line` ran, with the same arguments; its output may go elsewhere.
fn runs_the_same(line: &str, command: &str) -> bool {
    let later = shell::programs(command);
    let mut earlier = shell::programs(line.trim_matches('`')).into_iter();
    earlier.next().is_some_and(|program| later.contains(&program))
}

/// Returns a check without the flags that change only what it prints.
fn without_display_flags(line: &str) -> String {
    const FLAGS: [&str; 10] =
        ["-q", "-qq", "-v", "-vv", "-s", "-ra", "-rA", "--no-header", "--nocapture", "--verbose"];
    let is_shown = |word: &&str| {
        FLAGS.contains(word) || word.starts_with("--tb=") || word.starts_with("--color")
    };
    line.split_whitespace().filter(|word| !is_shown(word)).collect::<Vec<_>>().join(" ")
}

fn is_path(path: &str) -> bool {
    !path.is_empty() && !path.contains(['\n', '\r']) && secrets(path).is_empty()
}

impl Gathered {
    /// Records how a call ended, and what it read.
    fn took(&mut self, call: &ToolCall, project: &str) {
        let (what, is_shown) = match &call.action {
            Action::Ran(command) => {
                let line = command_line(command, project);
                let is_shown = shell::is_plain(command) && super::checks::kind(command).is_none();
                (format!("`{line}`"), is_shown)
            }
            Action::Wrote(paths) => {
                let paths: Vec<&str> = paths.iter().map(|path| relative(path, project)).collect();
                (format!("{} {}", call.tool, paths.join(" ")), paths.iter().all(|it| is_path(it)))
            }
            Action::Read(_) | Action::Other => (String::new(), false),
        };
        let bare = without_assignments(&what);
        self.failures.retain(|failure| without_assignments(&failure.what) != bare);
        if call.has_failed() {
            let output = mask(call.output_text());
            let how = errors::informative_line(&call.action, &output);
            if let (Some(how), true) = (how, is_shown) {
                self.failures.push(Failure { what, how: how.to_owned() });
            }
            return;
        }
        if let Action::Ran(command) = &call.action {
            self.failures.retain(|failure| !runs_the_same(&failure.what, command));
        }
        for shown in shown(call, project) {
            if !is_path(&shown.path) {
                continue;
            }
            match self.reads.iter_mut().find(|it| it.path == shown.path) {
                Some(known) => known.and(shown.read()),
                None => self.reads.push(shown.read()),
            }
        }
    }

    fn checked(&mut self, found: Vec<CheckRun>) {
        for run in found {
            let line = without_display_flags(&run.line);
            self.checks.retain(|it| without_display_flags(&it.line) != line);
            self.checks.push(run);
        }
    }
}

impl<'a> File<'a> {
    fn at(path: &str) -> Self {
        let parts = Parts { placed: true, ..Parts::default() };
        Self { path: path.to_owned(), parts, ..Self::default() }
    }

    fn learn(&mut self, lines: &[(usize, &'a str)], whole: bool) {
        // Some hosts show one after the end of the last line.
        let (lines, whole) = match lines.split_last() {
            Some(((_, ""), rest)) if whole => (rest, false),
            _ => (lines, whole),
        };
        let mut learnt = self.parts.file.clone();
        let fits = lines
            .iter()
            .all(|(number, line)| number.checked_sub(1).is_some_and(|at| learnt.learn(at, *line)));
        if fits {
            self.parts.file = learnt;
            if let (true, Some((last, _))) = (whole, lines.last()) {
                self.parts.file.ends_after(*last);
            }
        } else if self.is_new() {
            // All of it is new, whatever it holds.
            self.is_moved = true;
        } else {
            // It was changed in an unknown way.
            self.lose();
            for (number, line) in lines {
                if let Some(at) = number.checked_sub(1) {
                    let _new = self.parts.file.learn(at, *line);
                }
            }
        }
    }

    /// Whether all that the file holds was put there.
    fn is_new(&self) -> bool {
        matches!(self.fate, Fate::Created | Fate::Rewritten)
    }

    /// Forgets the places of the changes so far.
    fn lose(&mut self) {
        let lost = std::mem::take(&mut self.parts.file);
        if lost.is_changed() {
            self.parts.pieces.push(lost);
            self.parts.placed = false;
        }
    }

    fn take(&mut self, edit: &'a Edit) {
        if edit.removes {
            self.fate = Fate::Removed;
            return;
        }
        if self.fate == Fate::Removed {
            self.fate = Fate::Edited;
        }
        if let Some(original) = &edit.original {
            let file = &self.parts.file;
            if !file.may_be(original) {
                if !file.is_changed() {
                    self.parts.file = Document::of(original);
                } else if file.whole().is_some() {
                    self.parts.file.becomes(original);
                } else {
                    self.lose();
                }
            }
            if !self.parts.file.is_changed() && self.parts.file.whole().is_none() {
                self.parts.file = Document::of(original);
            }
            if original.is_empty()
                && edit.before.is_none()
                && self.fate == Fate::Edited
                && !self.parts.is_changed()
            {
                self.fate = Fate::Created;
            }
        }
        let Some(before) = &edit.before else {
            if self.parts.file.whole().is_none() {
                // The earlier content is not known.
                if self.fate != Fate::Created {
                    self.fate = Fate::Rewritten;
                }
                self.parts.file = Document::of("");
            }
            self.parts.pieces.clear();
            self.parts.placed = true;
            self.parts.file.becomes(&edit.after);
            return;
        };
        let indent = indent(edit);
        if !edit.hunks.is_empty() && self.parts.file.patch(&edit.hunks, &indent).is_ok() {
            return;
        }
        if self.parts.file.edit(before, &edit.after, edit.all).is_ok() {
            return;
        }
        if !edit.hunks.is_empty() {
            // Where it is the host knows better.
            self.lose();
            if self.parts.file.patch(&edit.hunks, &indent).is_ok() {
                return;
            }
        }
        self.parts.placed = false;
        let inside = self.parts.pieces.iter_mut().rev();
        for piece in inside {
            if piece.edit(before, &edit.after, edit.all).is_ok() {
                return;
            }
        }
        self.parts.pieces.push(Document::piece(before, &edit.after));
    }

    /// Returns its change, without the lines in `hidden`; none where nothing is left of it.
    fn into_change(mut self, hidden: &HashSet<&str>) -> Option<FileChange> {
        self.parts.file.settle();
        self.parts.pieces.iter_mut().for_each(Document::settle);
        let is_empty = matches!(self.fate, Fate::Created | Fate::Rewritten)
            && self.parts.file.rows().is_empty();
        if !self.parts.is_changed() && !is_empty {
            return None;
        }
        if self.fate == Fate::Removed {
            // Text that was added and removed again is no change.
            let was_there = self.parts.file.old_rows().iter().any(Option::is_some)
                || !self.parts.pieces.is_empty();
            return was_there.then(|| FileChange {
                path: self.path,
                fate: self.fate,
                ..FileChange::default()
            });
        }
        let (added, removed) = self.parts.counts();
        let ranges = if self.fate == Fate::Edited { self.parts.ranges() } else { Vec::new() };
        let moved = self.parts.moved();
        let (symbols, beside) = self.parts.symbols(&self.path);
        let mut symbols: Vec<Changed> =
            symbols.into_iter().filter(|it| secrets(&it.name).is_empty()).collect();
        if is_new_prose(&self.path, self.fate) {
            symbols.clear();
        }
        let is_shown = symbols.is_empty() && reasons::shows_lines(&self.path, self.fate);
        let mut lines: Vec<String> = Vec::new();
        for (is_added, line) in beside.into_iter().filter(|_| is_shown) {
            let marked = format!("{}{}", if is_added { '+' } else { '-' }, reasons::shown(&line));
            if !hidden.contains(line.as_str())
                && !lines.contains(&marked)
                && reasons::is_informative(&line)
            {
                lines.push(marked);
            }
        }
        let mut why = self.why;
        why.dedup();
        // The newest words are closest to the final text.
        why.reverse();
        Some(FileChange {
            path: self.path,
            fate: self.fate,
            added,
            removed,
            ranges,
            keeps_numbers: moved.as_ref().is_some_and(Vec::is_empty),
            moved: moved.unwrap_or_default(),
            symbols,
            lines,
            why,
            ..FileChange::default()
        })
    }
}

/// Returns the indentation that the hunks of an edit lack: some hosts remove the prefix that all lines share.
fn indent(edit: &Edit) -> String {
    let before = edit.before.as_deref().unwrap_or_default();
    let changed =
        edit.hunks.iter().flat_map(|Hunk { lines, .. }| lines).filter_map(|line| match line {
            HunkLine::Added(text) => Some((text.as_str(), edit.after.as_str())),
            HunkLine::Removed(text) => Some((text.as_str(), before)),
            HunkLine::Kept(_) => None,
        });
    // The longest line is the least likely to be the end of another.
    let Some((text, lines)) = changed.max_by_key(|(text, _)| text.len()) else {
        return String::new();
    };
    let indents = lines.lines().filter_map(|line| line.strip_suffix(text));
    indents
        .filter(|it| it.trim().is_empty())
        .min_by_key(|it| it.len())
        .unwrap_or_default()
        .to_owned()
}

/// The longest command that is shown, in bytes.
const COMMAND: usize = 240;

/// Returns a command in one line, as it is shown: with its secrets masked, without the change into the project's own
/// folder, which is where it runs anyway, and cut between two words where it is very long.
pub fn command_line(command: &str, project: &str) -> String {
    // Masked first: in one line, or cut, some secrets are no longer recognized.
    let line = mask(command).split_whitespace().collect::<Vec<_>>().join(" ");
    let project = project.trim_end_matches('/');
    let bare = line
        .strip_prefix("cd ")
        .and_then(|rest| rest.trim_start_matches('"').strip_prefix(project))
        .filter(|_| !project.is_empty())
        .and_then(|rest| rest.trim_start_matches(['/', '"']).strip_prefix(" && "));
    let line = bare.unwrap_or(&line);
    if line.len() <= COMMAND {
        return line.to_owned();
    }
    let cut = cap(line, COMMAND);
    format!("{} …", cut.rsplit_once(' ').map_or(cut, |(whole, _)| whole))
}
