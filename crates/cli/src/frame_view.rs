//! A frame on a page: its outcome, and where to read more.

use callstack_core::evidence::CheckRun;
use callstack_core::frame::Status;
use callstack_engine::tree::{LEFT_OPEN, sign};
use callstack_engine::{FrameMetadata, NearFrames};
use callstack_replay::lines_of;

use crate::page::{BAD, BOLD, DIM, GOOD, PLAIN, Page, WARN, columns, fitted, style, took, when};

/// Columns of a page that goes to a file or a pipe.
const UNBOUNDED: usize = 100;

/// The most lines of the criteria that are shown: those of a root contain the user's whole request.
const CRITERIA: usize = 8;

/// A frame and its neighbours.
#[derive(Debug)]
pub(crate) struct FrameView<'a> {
    /// The frame.
    pub(crate) frame: &'a FrameMetadata,
    /// The frames around it.
    pub(crate) near: &'a NearFrames,
    /// Whether it never ended in an imported session.
    pub(crate) left_open: bool,
    /// Files that were changed since the frame ended, with the kind of change.
    pub(crate) changed_since: Vec<(String, String)>,
    /// The reason why the steps of the ended frame are still sent; empty if they are not.
    pub(crate) still_sent: &'a str,
    /// Whether to show the recorded evidence, too.
    pub(crate) evidence: bool,
    /// The present time in milliseconds since 1970.
    pub(crate) now: i64,
    /// Columns of the terminal, if there is one.
    pub(crate) width: Option<usize>,
}

impl FrameView<'_> {
    /// Draws the page.
    pub(crate) fn draw(&self, page: &mut Page) {
        self.head(page);
        self.result(page);
        self.files(page);
        self.checks(page);
        let frame = self.frame;
        self.left_to_do(page);
        list(page, "Decisions", frame.decisions.iter().map(|text| format!("- {text}")));
        list(page, "Pins", frame.pins.iter().map(|(num, text)| format!("{num} {text}")));
        self.below(page);
        self.criteria(page);
        if self.evidence {
            self.ids(page);
            list(page, "Evidence", frame.evidence.lines_beside(&[]));
        }
        self.foot(page);
    }

    fn head(&self, page: &mut Page) {
        let frame = self.frame;
        if self.left_open {
            page.put(DIM, LEFT_OPEN);
        } else {
            page.put(style(frame.status), sign(frame.status));
        }
        page.put(PLAIN, &format!(" {} ", frame.handle)).put(BOLD, &frame.title).end();
        let begun = frame.begun_at.unwrap_or(frame.created_at);
        let status = if self.left_open { "imported, never ended" } else { frame.status.as_str() };
        let mut about = vec![status.replace('_', " ")];
        match frame.ended_at {
            Some(ended) => {
                about.push(format!("took {}", took(ended.saturating_sub(begun))));
                about.push(format!("ended {}", when(ended, self.now)));
            }
            None if frame.status == Status::Planned => {
                about = vec![format!("planned {}", when(frame.created_at, self.now))];
            }
            None => about.push(format!("begun {}", when(begun, self.now))),
        }
        if let Some(session) = &frame.worked_in {
            about.push(format!("session {session}"));
        }
        page.put(DIM, &format!("  {}", about.join(" · "))).end();
        if let Some(above) = &self.near.above {
            page.put(DIM, &format!("  below {} {}", above.handle, above.title)).end();
        }
        if !self.still_sent.is_empty() {
            page.put(WARN, &format!("  still sent: {}", self.still_sent)).end();
        }
    }

    fn result(&self, page: &mut Page) {
        let frame = self.frame;
        if let Some(reason) = &frame.invalidation_reason {
            text(page, "Invalidated because", reason);
        }
        match (&frame.results, frame.results_source) {
            (Some(results), Some(source)) => {
                text(page, &format!("Result, {}", source.for_people()), results);
            }
            (Some(results), None) => text(page, "Result", results),
            (None, _) if frame.ended_at.is_some() => {
                page.end().put(DIM, "No result was given.").end();
            }
            (None, _) => {}
        }
    }

    fn files(&self, page: &mut Page) {
        let frame = self.frame;
        let mut rows: Vec<(String, String)> =
            frame.evidence.changes.iter().map(|it| (it.path.clone(), lines_of(it))).collect();
        let is_known = |path: &String| {
            frame.evidence.changes.iter().any(|it| {
                it.path == *path
                    || it.path.ends_with(&format!("/{path}"))
                    || path.ends_with(&format!("/{}", it.path))
            })
        };
        let besides = frame.artifacts.iter().filter(|path| !is_known(path));
        rows.extend(besides.map(|path| (path.clone(), String::new())));
        if rows.is_empty() {
            return;
        }
        heading(page, "Files");
        let longest = rows.iter().map(|(path, _)| columns(path)).max().unwrap_or(0);
        let room = self.width.unwrap_or(UNBOUNDED).saturating_sub(14).max(10);
        let longest = longest.min(room);
        for (path, lines) in rows {
            let shown = fitted(&path, room);
            let pad = " ".repeat(longest.saturating_sub(columns(&shown)));
            page.put(PLAIN, &format!("  {shown}"));
            let since = self.changed_since.iter().find(|(it, _)| *it == path);
            if !lines.is_empty() || since.is_some() {
                page.put(DIM, &format!("{pad}  {lines}"));
            }
            if let Some((_, since)) = since {
                page.put(WARN, &format!("  {since}"));
            }
            page.end();
        }
        if frame.evidence.more_changes > 0 {
            page.put(DIM, &format!("  and {} more", frame.evidence.more_changes)).end();
        }
    }

    fn checks(&self, page: &mut Page) {
        let evidence = &self.frame.evidence;
        let has_any = !(evidence.checks.is_empty()
            && evidence.failures.is_empty()
            && evidence.unchecked.is_empty());
        if !has_any {
            return;
        }
        heading(page, "Checks");
        for check in &evidence.checks {
            let (mark, style) = match check.passed {
                Some(true) => ("✓", GOOD),
                Some(false) => ("✗", BAD),
                None => ("?", DIM),
            };
            page.put(style, &format!("  {mark}")).put(PLAIN, &format!(" {}", check.line));
            page.put(DIM, &outcome(check)).end();
        }
        for failure in &evidence.failures {
            page.put(BAD, "  ✗").put(PLAIN, &format!(" {}", failure.what));
            page.put(DIM, &format!("  {}", failure.how)).end();
        }
        if !evidence.unchecked.is_empty() {
            let files = evidence.unchecked.join(", ");
            page.put(WARN, &format!("  changed after the last check: {files}")).end();
        }
    }

    fn left_to_do(&self, page: &mut Page) {
        let Some(open) = &self.frame.evidence.remains.list else { return };
        let mut lines: Vec<_> = open.next.iter().map(|item| format!("- {item}")).collect();
        if open.more > 0 {
            lines.push(format!("  and {} more", open.more));
        }
        list(page, "Left on its todo list", lines);
    }

    fn below(&self, page: &mut Page) {
        if self.near.below.is_empty() {
            return;
        }
        heading(page, "Below it");
        for child in &self.near.below {
            let took = match child.status {
                Status::Planned => String::new(),
                _ => format!("  {}", took(child.worked_ms)),
            };
            let room = self.width.unwrap_or(UNBOUNDED).saturating_sub(columns(&took) + 10);
            let (style, sign) = if child.imported {
                (DIM, LEFT_OPEN)
            } else {
                (style(child.status), sign(child.status))
            };
            page.put(PLAIN, "  ").put(style, sign);
            page.put(PLAIN, &format!(" {} {}", child.handle, fitted(&child.title, room.max(8))));
            page.put(DIM, &took).end();
        }
    }

    fn criteria(&self, page: &mut Page) {
        let criteria = self.frame.success_criteria.trim();
        if criteria == self.frame.title {
            return;
        }
        let count = criteria.lines().count();
        if self.evidence || count <= CRITERIA {
            text(page, "Done when", criteria);
            return;
        }
        let first: Vec<_> = criteria.lines().take(CRITERIA).collect();
        text(page, "Done when", &first.join("\n"));
        page.put(DIM, &format!("  … {} more lines with --evidence", count - CRITERIA)).end();
    }

    fn ids(&self, page: &mut Page) {
        let frame = self.frame;
        let mut rows = vec![format!("id {}", frame.session_id)];
        rows.extend(frame.parent_session_id.iter().map(|it| format!("parent {it}")));
        rows.extend(frame.former_ids.iter().map(|it| format!("also {it}")));
        rows.extend(frame.log_path.iter().map(|it| format!("log {it}")));
        list(page, "Ids", rows);
    }

    fn foot(&self, page: &mut Page) {
        let handle = &self.frame.handle;
        let mut ways = Vec::new();
        if !self.evidence && !self.frame.evidence.is_empty() {
            ways.push(format!("`callstack show {handle} --evidence` for all that was seen"));
        }
        if self.frame.status != Status::Planned {
            ways.push(format!("`callstack log {handle}` for what was said"));
        }
        if !ways.is_empty() {
            page.end().put(DIM, &ways.join(", ")).end();
        }
    }
}

fn heading(page: &mut Page, name: &str) {
    page.end().put(BOLD, name).end();
}

fn text(page: &mut Page, name: &str, text: &str) {
    if !text.trim().is_empty() {
        heading(page, name);
        page.block("  ", text.trim_end());
    }
}

fn list(page: &mut Page, name: &str, lines: impl IntoIterator<Item = String>) {
    text(page, name, &lines.into_iter().collect::<Vec<_>>().join("\n"));
}

fn outcome(check: &CheckRun) -> String {
    if check.said.is_empty() { String::new() } else { format!("  {}", check.said) }
}
