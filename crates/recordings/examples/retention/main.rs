//! How much of what an agent writes again later is in what replaces a finished span: results extracted
//! without a model, and evidence. Reads recordings of Claude Code, pi, Codex, OpenCode and SWE-agent.
//!
//! `cargo run --release -p callstack-recordings --example retention -- FOLDER [--show]`

mod read;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use callstack_core::evidence::terms::{Kind, scan};
use callstack_core::evidence::{
    Action, Activity, Budget, Evidence, RESULTS_TOKENS, command_line, extract_results, span_tokens,
    take,
};
use callstack_core::text::estimate_tokens;

use read::Session;

/// Characters from which on a span counts.
const LEAST: usize = 3_000;

const KINDS: [&str; 4] = ["paths", "numbers", "identifiers", "commands"];

/// A thing that may be written again.
type Thing = (usize, String);

/// Found and kept, by kind.
#[derive(Clone, Default)]
struct Tally {
    again: [usize; 4],
    kept: [usize; 4],
    span: usize,
    left: usize,
    spans: usize,
    slowest: Duration,
    /// The texts that replace the spans, where requested.
    shown: String,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next().map(PathBuf::from) else {
        let _closed = writeln!(std::io::stderr(), "usage: retention FOLDER [--show]");
        return ExitCode::from(2);
    };
    let show = arguments.next().is_some_and(|it| it == "--show");
    let sessions = read::sessions(&folder);
    let mut out = String::new();
    report(&mut out, &sessions, show);
    match std::io::stdout().write_all(out.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn report(out: &mut String, sessions: &[(String, Session)], show: bool) {
    let usual = Budget::default();
    let mut add = |line: String| {
        let _infallible = writeln!(out, "{line}");
    };
    add(format!(
        "as shipped (share {} thousandths, {} to {} tokens)",
        usual.share, usual.floor, usual.ceiling
    ));
    add(heading("session"));
    let mut whole = Tally::default();
    let mut own = Tally::default();
    for (name, session) in sessions {
        let tally = measure(session, Shape::Ours(usual), false, show);
        whole.join(&tally);
        own.join(&measure(session, Shape::Ours(usual), true, false));
        if tally.spans > 0 {
            add(tally.row(name));
        }
    }
    add(whole.row("all"));
    add(own.row("all, of what the agent had written itself"));
    add(whole.shown.clone());
    add(format!("slowest span: {:.1} ms", whole.slowest.as_secs_f64() * 1e3));
    add(String::new());
    add(heading("evidence"));
    for part in [25, 50, 75, 100, 150, 200, 300] {
        let of = |usual: usize| usual * part / 100;
        let (share, floor, ceiling) = (of(usual.share), of(usual.floor), of(usual.ceiling));
        let mut all = Tally::default();
        for (_, session) in sessions {
            all.join(&measure(
                session,
                Shape::Ours(Budget { share, floor, ceiling, ..usual }),
                false,
                false,
            ));
        }
        add(all.row(&format!("{part} % of the budget")));
    }
    for (name, shape) in [("only the last words", Shape::Words), ("as before", Shape::Before)] {
        let mut all = Tally::default();
        for (_, session) in sessions {
            all.join(&measure(session, shape, false, false));
        }
        add(all.row(name));
    }
}

/// The replacement of a span.
#[derive(Clone, Copy)]
enum Shape {
    Ours(Budget),
    /// The results alone.
    Words,
    /// The results, six commands and twelve files.
    Before,
}

fn measure(session: &Session, shape: Shape, only_own: bool, show: bool) -> Tally {
    let mut tally = Tally::default();
    for (from, to) in session.spans() {
        let span = &session.activities[from..to];
        if characters(span) < LEAST {
            continue;
        }
        let later = things(&session.activities[to..], &session.project, false);
        let began = Instant::now();
        let results = extract_results(span, RESULTS_TOKENS).unwrap_or_default();
        let evidence = match shape {
            Shape::Ours(budget) => {
                take(span, &results, &session.project, budget.of(span_tokens(span)), &|_| None)
            }
            Shape::Words => Evidence::default(),
            Shape::Before => before(span, &session.project),
        };
        tally.slowest = tally.slowest.max(began.elapsed());
        let lines = evidence.lines();
        let kept = kept(&results, &evidence, &lines, &session.project);
        for thing in things(span, &session.project, !only_own).intersection(&later) {
            tally.again[thing.0] += 1;
            tally.kept[thing.0] += usize::from(kept.contains(thing));
        }
        tally.spans += 1;
        tally.span += span_tokens(span);
        tally.left += estimate_tokens(&results) + estimate_tokens(&lines.join("\n"));
        if show {
            let lines = lines.join("\n");
            let _infallible =
                writeln!(tally.shown, "--- {} activities\n{results}\n\n{lines}\n", span.len());
        }
    }
    tally
}

fn characters(span: &[Activity]) -> usize {
    span.iter()
        .map(|activity| match activity {
            Activity::Said(text) => text.chars().count(),
            Activity::Thought(_) => 0,
            Activity::Called(call) => {
                call.input_text().chars().count() + call.output_text().chars().count()
            }
        })
        .sum()
}

/// Returns the terms in a stretch; with `results`, also those of tools' output.
fn things(span: &[Activity], project: &str, results: bool) -> BTreeSet<Thing> {
    let mut found = BTreeSet::new();
    for activity in span {
        match activity {
            Activity::Said(text) => terms(text, project, &mut found),
            Activity::Thought(_) => {}
            Activity::Called(call) => {
                terms(&call.input_text(), project, &mut found);
                if results {
                    terms(call.output_text(), project, &mut found);
                }
                if let Action::Ran(command) = &call.action {
                    found.insert((3, command_line(command, project)));
                }
            }
        }
    }
    found
}

fn terms(text: &str, project: &str, found: &mut BTreeSet<Thing>) {
    scan(text, project, |kind, term| {
        let kind = match kind {
            Kind::Path => 0,
            Kind::Number => 1,
            Kind::Identifier => 2,
            Kind::Url | Kind::File | Kind::Quoted => return,
        };
        found.insert((kind, term.into_owned()));
    });
}

/// Returns the terms that a reader of the replacement finds in it.
fn kept(results: &str, evidence: &Evidence, lines: &[String], project: &str) -> BTreeSet<Thing> {
    let mut kept = BTreeSet::new();
    terms(results, project, &mut kept);
    for line in lines {
        terms(line, project, &mut kept);
    }
    let changed = evidence.changes.iter().map(|change| &change.path);
    let read = evidence.reads.iter().map(|file| &file.path);
    for path in changed.chain(&evidence.written_besides).chain(read).chain(&evidence.read) {
        kept.insert((0, path.clone()));
    }
    for run in &evidence.checks {
        kept.insert((3, run.line.clone()));
    }
    for run in &evidence.commands {
        kept.insert((3, run.line.clone()));
    }
    kept
}

/// The evidence of the version before this one: the last commands, and files that were read or written.
fn before(span: &[Activity], project: &str) -> Evidence {
    let mut evidence = Evidence::default();
    for activity in span {
        let Activity::Called(call) = activity else { continue };
        match &call.action {
            Action::Ran(command) => {
                let line: String =
                    command.trim().lines().next().unwrap_or_default().chars().take(160).collect();
                let line = command_line(&line, project);
                evidence.commands.retain(|it| it.line != line);
                evidence
                    .commands
                    .push(callstack_core::evidence::CommandRun { line, exits: Vec::new() });
            }
            Action::Read(path) => {
                let path = callstack_core::evidence::terms::relative(path, project).to_owned();
                if !evidence.read.contains(&path) {
                    evidence.read.push(path);
                }
            }
            Action::Wrote(paths) => {
                for path in paths {
                    let path = callstack_core::evidence::terms::relative(path, project).to_owned();
                    if evidence.written.iter().all(|it| it.path != path) {
                        evidence
                            .written
                            .push(callstack_core::evidence::WrittenFile { path, hash: None });
                    }
                }
            }
            Action::Other => {}
        }
    }
    evidence.commands.drain(..evidence.commands.len().saturating_sub(6));
    evidence.read.drain(..evidence.read.len().saturating_sub(12));
    evidence
}

impl Tally {
    fn join(&mut self, other: &Self) {
        for kind in 0..4 {
            self.again[kind] += other.again[kind];
            self.kept[kind] += other.kept[kind];
        }
        self.span += other.span;
        self.left += other.left;
        self.spans += other.spans;
        self.shown.push_str(&other.shown);
        self.slowest = self.slowest.max(other.slowest);
    }

    fn row(&self, name: &str) -> String {
        let mut row = format!("| {name} | {} ", self.spans);
        for kind in 0..4 {
            let _infallible = write!(
                row,
                "| {:.0} % of {} ",
                percent(self.kept[kind], self.again[kind]),
                self.again[kind]
            );
        }
        let _infallible = write!(row, "| {:.1} % |", percent(self.left, self.span));
        row
    }
}

fn heading(what: &str) -> String {
    format!("| {what} | spans | {} | of the span's tokens |", KINDS.join(" | "))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
fn percent(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}
