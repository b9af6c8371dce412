//! The tree of frames, drawn for a terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use callstack_core::event::RecordedFigures;
use callstack_core::frame::Status;
use callstack_engine::tree::ChangedFile;
use callstack_engine::{CheckedView, FrameList, ListedFrame, ListedSession};
use callstack_replay::short;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::page::{BOLD, DIM, PLAIN, Page, columns, date, fitted, style, took};
use crate::wording::counted;

/// The fewest columns of titles on a narrow terminal, to which the columns after them yield.
const TITLE: usize = 16;
/// The fewest columns of a title deep in the tree.
const LEAST: usize = 4;
/// The fewest columns of a note on a frame; a shorter one would be useless.
const NOTE: usize = 10;
/// Columns of the bar of the largest frame.
const BAR: usize = 10;
/// The columns of a terminal from which on bars are shown.
const BESIDE_BARS: usize = 90;
/// The columns of a terminal from which on the numbers of tokens are shown.
const BESIDE_TOKENS: usize = 72;
/// Characters of a session's id.
const ID: usize = 12;
/// Characters of the first group of a UUID.
const GROUP: usize = 8;
/// Columns of a drawing that goes to a file or a pipe.
const UNBOUNDED: usize = 120;
/// The length from which a run of finished frames without children is drawn as one line.
const RUN: usize = 5;

/// How a tree is drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawing {
    /// Whether it is a frame with those below it, above which no session stands.
    pub(crate) below: bool,
    /// The number of levels below the first that are drawn; all if there is none.
    pub(crate) depth: Option<usize>,
    /// Whether every finished frame has a line of its own.
    pub(crate) all: bool,
    /// Columns of the terminal, if there is one.
    pub(crate) width: Option<usize>,
    /// The present time in milliseconds since 1970.
    pub(crate) now: i64,
}

/// A line before the widths of its columns are known.
struct Row<'a> {
    branches: String,
    what: What<'a>,
}

enum What<'a> {
    Session(String),
    Frame(&'a ListedFrame),
    Finished { count: usize, first: &'a str, last: &'a str },
    Deeper(usize),
}

impl Drawing {
    /// Draws the tree and returns the number of frames that it shows or counts.
    pub(crate) fn draw(&self, page: &mut Page, list: &FrameList) -> usize {
        let tree = Tree::of(list);
        let mut rows = Vec::new();
        let mut session = None;
        for root in &tree.roots {
            if !self.below && root.session.as_deref() != session {
                session = root.session.as_deref();
                rows.extend(session.and_then(|it| Self::heading(it, root, list)));
            }
            self.rows(&tree, root, "", "", 0, &mut rows);
        }
        self.put(page, &rows, &list.sessions);
        rows.len()
    }

    /// Returns the heading of an agent's session; that of the terminal has none.
    fn heading<'r>(session: &str, root: &ListedFrame, list: &FrameList) -> Option<Row<'r>> {
        let note = list.sessions.iter().find(|it| it.id == session)?;
        // Clients of `callstack mcp` are on record as `mcp:` and their names.
        let name = note.host.strip_prefix("mcp:").unwrap_or(&note.host);
        let host = match name {
            "cli" => return None,
            "opencode" => "OpenCode",
            "claude-code" => "Claude Code",
            "codex" => "Codex",
            "pi" => "pi",
            other => other,
        };
        let mut parts = vec![host.to_owned(), Self::known_by(session, &list.sessions)];
        if let (true, Some(figures)) = (note.recorded, note.figures) {
            parts.extend(recorded(&figures));
        } else {
            let begun = root.begun_at.unwrap_or(root.created_at);
            let at = Timestamp::from_millisecond(begun).ok()?.to_zoned(TimeZone::system());
            parts.push(at.strftime("%-d %b %Y, %H:%M").to_string());
        }
        Some(Row { branches: String::new(), what: What::Session(parts.join(" · ")) })
    }

    /// Returns as much of a session's id as `--session` needs to find it.
    fn known_by(session: &str, sessions: &[ListedSession]) -> String {
        // The first group of a UUID is enough.
        let first = session.split('-').next().unwrap_or_default();
        let is_group = first.len() == GROUP && first.bytes().all(|it| it.is_ascii_hexdigit());
        let length = if is_group { GROUP } else { ID };
        let id: String = session.chars().take(length).collect();
        // Sessions of its subagents have its name, and a suffix.
        let mut others = sessions.iter().map(|it| &it.id).filter(|id| !id.starts_with(session));
        if others.any(|other| other.starts_with(&id)) { session.to_owned() } else { id }
    }

    fn rows<'t>(
        &self,
        tree: &Tree<'t>,
        line: &'t ListedFrame,
        before: &str,
        below: &str,
        depth: usize,
        rows: &mut Vec<Row<'t>>,
    ) {
        rows.push(Row { branches: before.to_owned(), what: What::Frame(line) });
        let children = tree.children(&line.handle);
        if children.is_empty() {
            return;
        }
        if self.depth.is_some_and(|most| depth >= most) {
            let what = What::Deeper(tree.count(&line.handle));
            rows.push(Row { branches: format!("{below}└ "), what });
            return;
        }
        let mut at = 0;
        while let Some(child) = children.get(at) {
            let run = if self.all { 0 } else { tree.run(children, at) };
            let shown = if run >= RUN { 1 } else { run.max(1) };
            let is_last = |taken: usize| at + taken == children.len();
            let branch = |last: bool| if last { ("└ ", "  ") } else { ("├ ", "│ ") };
            if shown == 1 && run >= RUN {
                let (near, _) = branch(false);
                let leaf = |line: &'t ListedFrame, near: &str| Row {
                    branches: format!("{below}{near}"),
                    what: What::Frame(line),
                };
                let folded = &children[at + 1..at + run - 1];
                rows.push(leaf(child, near));
                if let (Some(first), Some(last)) = (folded.first(), folded.last()) {
                    let (first, last) = (first.handle.as_str(), last.handle.as_str());
                    let what = What::Finished { count: folded.len(), first, last };
                    rows.push(Row { branches: format!("{below}{near}"), what });
                }
                rows.extend(children.get(at + run - 1).map(|it| leaf(it, branch(is_last(run)).0)));
                at += run;
            } else {
                let (near, rest) = branch(is_last(1));
                let before = format!("{below}{near}");
                self.rows(tree, child, &before, &format!("{below}{rest}"), depth + 1, rows);
                at += 1;
            }
        }
    }

    fn put(&self, page: &mut Page, rows: &[Row<'_>], sessions: &[ListedSession]) {
        let width = self.width.unwrap_or(UNBOUNDED);
        let frames = || {
            rows.iter().filter_map(|row| match row.what {
                What::Frame(line) => Some((row, line)),
                _ => None,
            })
        };
        let lead =
            |row: &Row<'_>, line: &ListedFrame| columns(&row.branches) + 3 + columns(&line.handle);
        let recorded = sessions.iter().filter(|it| it.recorded).map(|it| it.id.as_str()).collect();
        let widest = frames().map(|(row, line)| lead(row, line) + columns(&line.title)).max();
        let time = |line: &ListedFrame| self.time(line, &recorded);
        let times = frames().map(|(_, line)| columns(&time(line))).max().unwrap_or(0);
        let sizes = Sizes::of(frames().map(|(_, line)| line), width);
        // A mark is more important than the time, and the time than a note.
        let marks = frames().map(|(_, line)| columns(mark(line))).max().unwrap_or(0);
        let has_notes = frames().any(|(_, line)| !note(line).is_empty());
        // On a wide terminal a long title leaves room for the notes beside the others.
        let titles = if has_notes && width >= BESIDE_BARS { width * 3 / 5 } else { width };
        let room = titles.min(width.saturating_sub(times + 2 + sizes.columns()));
        let narrow = room < TITLE + 8;
        let most = if narrow { width.saturating_sub(marks) } else { room.saturating_sub(marks) };
        let left = widest.unwrap_or(0).min(most);
        for row in rows {
            page.put(DIM, &row.branches);
            match &row.what {
                What::Session(text) => {
                    page.put(DIM, &fitted(text, width)).end();
                }
                What::Finished { count, first, last } => {
                    page.put(DIM, &format!("… {count} finished ({first}–{last})")).end();
                }
                What::Deeper(count) => {
                    page.put(DIM, &format!("… {count} below")).end();
                }
                What::Frame(line) => {
                    let lead = lead(row, line);
                    // Deep in the tree the mark of the open frame is more important than the time.
                    let deep = narrow || left < lead + LEAST;
                    let mark = match mark(line) {
                        long if lead + LEAST + columns(long) > width && line.active => " ←",
                        mark => mark,
                    };
                    let room = if deep { width.saturating_sub(columns(mark)) } else { left };
                    let title = fitted(&line.title, room.saturating_sub(lead).max(1));
                    let used = lead + columns(&title);
                    let style = if line.imported { DIM } else { style(line.status) };
                    page.put(style, &line.sign);
                    page.put(DIM, &format!(" {} ", line.handle));
                    page.put(if line.active { BOLD } else { PLAIN }, &title);
                    let mut rest = String::new();
                    if !deep {
                        let time = time(line);
                        let pad = (left + 2 + times).saturating_sub(used + columns(&time));
                        rest = format!("{}{time}{}", " ".repeat(pad), sizes.of_frame(line.tokens));
                    }
                    let free = width.saturating_sub(used + columns(&rest) + columns(mark) + 2);
                    let note = if deep { String::new() } else { note(line) };
                    let note = if note.is_empty() || free < NOTE.min(columns(&note)) {
                        String::new()
                    } else {
                        format!("  {}", fitted(&note, free))
                    };
                    if mark.is_empty() && note.is_empty() {
                        rest.truncate(rest.trim_end().len());
                    }
                    page.put(DIM, &rest).put(BOLD, mark).put(DIM, &note).end();
                }
            }
        }
    }

    /// Returns the time of work in a frame. Nobody works in a recording: there it ends with the last change.
    fn time(&self, line: &ListedFrame, recorded: &BTreeSet<&str>) -> String {
        let is_recorded = line.session.as_deref().is_some_and(|session| recorded.contains(session));
        let until = if is_recorded { line.updated_at } else { self.now };
        match (line.status, line.worked(until).unwrap_or(0)) {
            (Status::Planned, _) | (Status::Invalidated, 0) => String::new(),
            (_, worked) => took(worked),
        }
    }
}

/// Returns the files that a frame changed, the outcome of its checks, and its results, in one line.
fn note(line: &ListedFrame) -> String {
    if line.still_sent {
        return "still sent".to_owned();
    }
    let changed = match line.changes.as_slice() {
        [] => String::new(),
        [one] => file(one),
        [one, two] => format!("{}, {}", file(one), file(two)),
        [one, rest @ ..] => format!("{}, {} more files", file(one), rest.len()),
    };
    let checked = match line.checked {
        Some(CheckedView::Passed) => "checks pass",
        Some(CheckedView::PassedBefore) => "checks passed before the last change",
        Some(CheckedView::Failed) => "checks fail",
        None => "",
    };
    // Results of an open frame are from before it was resumed.
    let is_open = line.status == Status::InProgress && !line.imported;
    let results = line.results.as_deref().filter(|_| !is_open).unwrap_or_default();
    let results = results.split_whitespace().collect::<Vec<_>>().join(" ");
    let said: Vec<&str> =
        [&changed, checked, &results].into_iter().filter(|it| !it.is_empty()).collect();
    said.join(" · ")
}

/// The sizes of frames in tokens: a column of numbers, and a bar for each frame, relative to the largest.
struct Sizes {
    largest: usize,
    /// Columns of the numbers.
    numbers: usize,
    has_bars: bool,
}

impl Sizes {
    /// Returns the sizes; none of them has a column on a terminal that is too narrow.
    fn of<'t>(frames: impl Iterator<Item = &'t ListedFrame>, width: usize) -> Self {
        let known = frames.map(|line| line.tokens).filter(|tokens| *tokens > 0);
        let known: Vec<usize> = if width < BESIDE_TOKENS { Vec::new() } else { known.collect() };
        let numbers = known.iter().map(|tokens| columns(&short(*tokens as u64))).max();
        let largest = known.into_iter().max().unwrap_or(0);
        Self { largest, numbers: numbers.unwrap_or(0), has_bars: width >= BESIDE_BARS }
    }

    fn columns(&self) -> usize {
        match (self.numbers, self.has_bars) {
            (0, _) => 0,
            (numbers, false) => 2 + numbers,
            (numbers, true) => 2 + numbers + 1 + BAR,
        }
    }

    /// Returns the number and the bar of a frame with so many tokens, as wide as those of all others.
    fn of_frame(&self, tokens: usize) -> String {
        if self.numbers == 0 {
            return String::new();
        }
        if tokens == 0 {
            return " ".repeat(self.columns());
        }
        let number = format!("  {:>width$}", short(tokens as u64), width = self.numbers);
        if !self.has_bars {
            return number;
        }
        // Bars are drawn to half a column.
        let halves = (tokens * BAR * 2).div_ceil(self.largest.max(1));
        let bar = format!("{}{}", "█".repeat(halves / 2), if halves % 2 == 1 { "▌" } else { "" });
        format!("{number} {bar:<BAR$}")
    }
}

/// Returns the figures of an imported session, as far as its recording has them: such as `11 Feb 2026 · 180 calls ·
/// 1h 48m · largest request 145k`.
fn recorded(figures: &RecordedFigures) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(figures.times.and_then(|(begun, _)| date(begun)));
    parts.extend((figures.calls > 0).then(|| counted(figures.calls, "call")));
    let took_of = |(begun, ended): (i64, i64)| ended.saturating_sub(begun);
    parts.extend(figures.times.map(took_of).filter(|passed| *passed > 0).map(took));
    parts.extend(figures.largest.map(|tokens| format!("largest request {}", short(tokens))));
    parts
}

fn mark(line: &ListedFrame) -> &'static str {
    if line.active { "  ← open" } else { "" }
}

/// Returns a changed file with its lines, such as `settings.go +26 −3`.
fn file(file: &ChangedFile) -> String {
    let name = file.path.rsplit(['/', '\\']).next().unwrap_or(&file.path);
    let mut text = name.to_owned();
    for (sign, lines) in [('+', file.added), ('−', file.removed)] {
        if lines > 0 {
            // Writing to a string can't fail.
            let _ = write!(text, " {sign}{lines}");
        }
    }
    text
}

/// Frames by their places.
struct Tree<'t> {
    /// The outermost of them.
    roots: Vec<&'t ListedFrame>,
    children: BTreeMap<&'t str, Vec<&'t ListedFrame>>,
}

impl<'t> Tree<'t> {
    fn of(list: &'t FrameList) -> Self {
        let mut tree = Self { roots: Vec::new(), children: BTreeMap::new() };
        let listed: BTreeSet<_> = list.frames.iter().map(|line| line.handle.as_str()).collect();
        for line in &list.frames {
            match line.parent.as_deref().filter(|above| listed.contains(above)) {
                Some(above) => tree.children.entry(above).or_default().push(line),
                None => tree.roots.push(line),
            }
        }
        tree
    }

    fn children(&self, of: &str) -> &[&'t ListedFrame] {
        self.children.get(of).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns how many frames are below one.
    fn count(&self, frame: &str) -> usize {
        let children = self.children(frame);
        children.iter().map(|child| 1 + self.count(&child.handle)).sum()
    }

    /// Returns the number of `children` in a row, from the one at `at` on, that need no line of their own.
    fn run(&self, children: &[&ListedFrame], at: usize) -> usize {
        let is_quiet = |line: &&&ListedFrame| {
            let done = matches!(line.status, Status::Completed | Status::Invalidated);
            done && !line.active && self.children(&line.handle).is_empty()
        };
        children.iter().skip(at).take_while(is_quiet).count()
    }
}

#[cfg(test)]
#[path = "tree_view_tests.rs"]
mod tests;
