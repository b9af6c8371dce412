//! The tabs of the details.

use callstack_core::frame::Status;
use callstack_core::text::format_duration;
use callstack_engine::{EngineError, Hint};
use ratatui::style::Style;

use super::messages;
use super::theme::{BOLD, DIM, PLAIN, Theme};
use super::writer::{Writer, short};
use crate::data::answers::{Details as Answer, Diff, DiffFile};
use crate::model::details::{Body, Details, Remote, Tab};

/// Draws the lines of the tab that is shown.
pub(crate) fn body(
    details: &Details,
    width: usize,
    now: i64,
    for_a_terminal: fn(&Hint) -> String,
    theme: Theme,
) -> Body {
    let mut writer = Writer::new(width);
    let mut pane = Pane { writer: &mut writer, theme, now, for_a_terminal };
    match details.tab {
        Tab::Result => pane.remote(&details.answer, |pane, answer| pane.result(answer)),
        Tab::Files => pane.remote(&details.diff, |pane, diff| pane.diff(diff, details)),
        Tab::Log => pane.remote(&details.log, |pane, log| {
            messages::write(pane.writer, log, details.frame, theme);
        }),
        Tab::Sent if details.is_finished() == Some(true) => {
            pane.remote(&details.folded, |pane, (folded, left)| {
                pane.folded(folded, left, details);
            });
        }
        Tab::Sent => pane.remote(&details.sent, |pane, sent| {
            let note = "The next request of its session, as far as it stands now. Rules that were \
                        pinned and changes that were made since are told in it when it is sent.";
            pane.writer.text(DIM, "", note);
            messages::write(pane.writer, sent, None, theme);
        }),
        Tab::Pins => pane.remote(&details.answer, |pane, answer| pane.pins(answer)),
    }
    writer.finish()
}

struct Pane<'w> {
    writer: &'w mut Writer,
    theme: Theme,
    now: i64,
    for_a_terminal: fn(&Hint) -> String,
}

impl Pane<'_> {
    fn remote<T>(&mut self, value: &Remote<T>, draw: impl FnOnce(&mut Self, &T)) {
        match value {
            Remote::Known(value) => draw(self, value),
            Remote::Failed(error) => self.failure(error),
            Remote::Unasked | Remote::Asked => self.writer.text(DIM, "", "Reading…"),
        }
    }

    fn failure(&mut self, error: &EngineError) {
        self.writer.text(self.theme.bad(), "", &error.message);
        if let Some(hint) = &error.hint {
            self.writer.text(self.theme.hint(), "", &(self.for_a_terminal)(hint));
        }
    }

    fn heading(&mut self, name: &str) {
        self.writer.gap();
        self.writer.line(&[(BOLD, name)]);
    }

    fn section(&mut self, name: &str, text: &str) {
        if !text.trim().is_empty() {
            self.heading(name);
            self.writer.text(PLAIN, "  ", text);
        }
    }

    fn result(&mut self, answer: &Answer) {
        let theme = self.theme;
        self.about(answer);
        let frame = &answer.frame;
        if let Some(still) = &answer.still_sent {
            self.writer.text(theme.warn(), "", &format!("* still sent: {}", still.told));
        }
        if let Some(reason) = &frame.invalidation_reason {
            self.section("Invalidated because", reason);
        }
        match (&frame.results, frame.results_source) {
            (Some(results), Some(source)) => {
                self.section(&format!("Result, {}", source.for_people()), results);
            }
            (Some(results), None) => self.section("Result", results),
            (None, _) if frame.ended_at.is_some() => {
                self.writer.gap();
                self.writer.text(DIM, "", "No result was given.");
            }
            (None, _) => {
                self.writer.gap();
                self.writer.text(DIM, "", "No result yet.");
            }
        }
        self.checks(answer);
        self.files(answer);
        if let Some(open) = &frame.evidence.remains.list {
            let items: Vec<_> = open.next.iter().map(|item| format!("- {item}")).collect();
            self.section("Left on its todo list", &items.join("\n"));
        }
        if frame.success_criteria.trim() != frame.title {
            self.section("Done when", &frame.success_criteria);
        }
    }

    /// Writes the status, and time, duration and place of the work.
    fn about(&mut self, answer: &Answer) {
        let theme = self.theme;
        let frame = &answer.frame;
        let begun = frame.begun_at.unwrap_or(frame.created_at);
        let mut about = Vec::new();
        match frame.ended_at {
            Some(ended) => {
                about.push(format!("took {}", format_duration(ended.saturating_sub(begun))));
                about.push(format!("ended {}", ago(ended, self.now)));
            }
            None if frame.status == Status::Planned => {
                about.push(format!("planned {}", ago(frame.created_at, self.now)));
            }
            None => about.push(format!("begun {}", ago(begun, self.now))),
        }
        let view = answer.view.clone().unwrap_or_default();
        let mut size = Vec::new();
        if view.messages > 0 {
            size.push(format!("{} messages", view.messages));
        }
        let tokens = if view.tokens > 0 { view.tokens } else { frame.evidence.tokens as u64 };
        if tokens > 0 {
            size.push(format!("{} tokens", short(tokens)));
        }
        let status = if answer.imported {
            "imported, never ended".to_owned()
        } else {
            frame.status.as_str().replace('_', " ")
        };
        let style = theme.status(frame.status).patch(BOLD);
        let sign = callstack_engine::tree::sign(frame.status);
        let about = format!(" · {}", about.join(" · "));
        self.writer.line(&[(style, &format!("{sign} {status}")), (DIM, &about)]);
        if !size.is_empty() {
            self.writer.line(&[(DIM, &size.join(" · "))]);
        }
        if let Some(session) = &frame.worked_in {
            let has_agent = view.host.as_deref().is_some_and(|host| host != "cli");
            let way = if has_agent { " · g goes there" } else { "" };
            self.writer.line(&[(DIM, &format!("session {session}{way}"))]);
            if let Some(parent) = view.session_parent {
                self.writer.line(&[(DIM, &format!("started by session {parent}"))]);
            }
        }
    }

    fn checks(&mut self, answer: &Answer) {
        let theme = self.theme;
        let evidence = &answer.frame.evidence;
        if evidence.checks.is_empty()
            && evidence.failures.is_empty()
            && evidence.unchecked.is_empty()
        {
            return;
        }
        self.heading("Checks");
        for check in &evidence.checks {
            let (mark, style) = match check.passed {
                Some(true) => ("✓", theme.good()),
                Some(false) => ("✗", theme.bad()),
                None => ("?", DIM),
            };
            self.check((style, mark), &check.line, &check.said);
        }
        for failure in &evidence.failures {
            self.check((theme.bad(), "✗"), &failure.what, &failure.how);
        }
        if !evidence.unchecked.is_empty() {
            let line = format!("changed after the last check: {}", evidence.unchecked.join(", "));
            self.writer.text(theme.warn(), "  ", &line);
        }
    }

    /// Writes a command and its outcome: in one line where that has room, else below each other.
    fn check(&mut self, (style, mark): (Style, &str), line: &str, said: &str) {
        let mark = format!("  {mark} ");
        if self.writer.has_room(&[&mark, line, "  ", said]) {
            let said = format!("  {said}");
            return self.writer.line(&[(style, &mark), (PLAIN, line), (DIM, &said)]);
        }
        self.writer.text_after((style, &mark), PLAIN, line);
        self.writer.text(DIM, "      ", said);
    }

    fn files(&mut self, answer: &Answer) {
        let theme = self.theme;
        let frame = &answer.frame;
        let is_known =
            |path: &&String| frame.evidence.changes.iter().any(|it| it.path.ends_with(*path));
        let besides: Vec<_> = frame.artifacts.iter().filter(|path| !is_known(path)).collect();
        if frame.evidence.changes.is_empty() && besides.is_empty() {
            return;
        }
        self.heading("Files  (e edits, 2 shows the lines, R undoes)");
        for change in &frame.evidence.changes {
            let since = answer.changed_artifacts.get(&change.path);
            self.writer.line(&[
                (PLAIN, &format!("  {}", change.path)),
                (theme.good(), &format!("  +{}", change.added)),
                (theme.bad(), &format!(" -{}", change.removed)),
                (theme.warn(), &since.map(|since| format!("  {since}")).unwrap_or_default()),
            ]);
        }
        for path in besides {
            self.writer.line(&[(PLAIN, &format!("  {path}"))]);
        }
    }

    fn diff(&mut self, diff: &Diff, details: &Details) {
        if diff.files.is_empty() {
            let why = diff.why.as_deref().unwrap_or("No file changed while it was worked on.");
            self.writer.text(DIM, "", why);
            if let Some(answer) = details.answer.known() {
                self.files(answer);
            }
            return;
        }
        let source = match (diff.source.as_str(), diff.since.as_str()) {
            ("calls", _) => "Put together from its edits: no states of the files were recorded.",
            (_, "before") => {
                "Since a state from before it began: earlier changes may be among them."
            }
            _ => "",
        };
        if !source.is_empty() {
            self.writer.text(DIM, "", source);
        }
        for file in &diff.files {
            self.file(file);
        }
        if diff.more.is_some() {
            let rest = diff.total.saturating_sub(diff.files.len() as u64);
            self.writer.gap();
            self.writer.text(DIM, "", &format!("… {rest} more files"));
        }
    }

    fn file(&mut self, file: &DiffFile) {
        let theme = self.theme;
        self.writer.gap();
        self.writer.mark();
        let kind = match file.kind.as_str() {
            "changed" => String::new(),
            "unrecorded" => "  changed, its content is not recorded".to_owned(),
            kind => format!("  {kind}"),
        };
        let lines = |sign: &str, count: Option<u64>| {
            count.map(|count| format!(" {sign}{count}")).unwrap_or_default()
        };
        let binary = if file.binary { "  binary" } else { "" };
        let seen = if file.seen { "" } else { "  no tool of it was seen writing this" };
        self.writer.line(&[
            (BOLD, &file.path),
            (theme.good(), &lines(" +", file.added)),
            (theme.bad(), &lines("-", file.removed)),
            (DIM, binary),
            (DIM, &kind),
            (theme.warn(), seen),
        ]);
        for line in file.patch.as_deref().unwrap_or_default().lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => theme.good(),
                Some(b'-') => theme.bad(),
                Some(b'@') => theme.hint(),
                _ => PLAIN,
            };
            self.writer.code(style, "", line);
        }
        if file.cut {
            self.writer.text(DIM, "", "… there is more; `e` opens the file");
        }
    }

    fn folded(
        &mut self,
        folded: &crate::data::answers::Folded,
        left: &crate::data::messages::Paged,
        details: &Details,
    ) {
        let theme = self.theme;
        let (before, after) = (short(folded.tokens_before), short(folded.tokens_after));
        match (&folded.text, folded.has_left) {
            (Some(text), true) => {
                self.heading(&format!("What stands for it: {after} tokens"));
                self.writer.text(theme.good(), "  ", text);
            }
            (text, _) => {
                let reason = folded.told.as_deref().unwrap_or("It is still sent step by step.");
                self.writer.text(theme.warn(), "", reason);
                if let Some(text) = text {
                    self.heading(&format!("What would stand for it: {after} tokens"));
                    self.writer.text(DIM, "  ", text);
                }
            }
        }
        let name = if folded.has_left { "What left" } else { "Its steps" };
        self.heading(&format!("{name}: {before} tokens"));
        messages::write(self.writer, left, details.frame, theme);
    }

    fn pins(&mut self, answer: &Answer) {
        let frame = &answer.frame;
        let facts = frame.decisions.iter();
        if frame.pins.is_empty() && answer.near.inherited.is_empty() {
            self.writer.text(DIM, "", "No rule is pinned here or above. `i` pins one.");
        }
        if !frame.pins.is_empty() {
            self.heading("Pinned here");
            for (num, text) in &frame.pins {
                self.writer.text(PLAIN, "  ", &format!("{num} {text}"));
            }
        }
        for above in &answer.near.inherited {
            self.heading(&format!("Pinned in {}", above.frame));
            for (num, text) in &above.pins {
                self.writer.text(PLAIN, "  ", &format!("{num} {text}"));
            }
        }
        if frame.decisions.is_empty() {
            self.writer.gap();
            self.writer.text(DIM, "", "No decision is noted. `d` notes one.");
        } else {
            self.heading("Decisions");
            for text in facts {
                self.writer.text(PLAIN, "  ", &format!("- {text}"));
            }
        }
    }
}

/// Returns how long ago a time was.
fn ago(at: i64, now: i64) -> String {
    match now.saturating_sub(at) {
        ..1_000 => "just now".to_owned(),
        passed => format!("{} ago", format_duration(passed)),
    }
}
