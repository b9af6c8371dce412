use std::collections::BTreeSet;
use std::path::PathBuf;

use callstack_engine::EngineError;
use serde_json::json;

use crate::args::{Agreement, NewStore};
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::operations;
use crate::operations::import::usual::RecordedSessions;
use crate::operations::import::{
    Import, ImportOutput, ImportParams, PreviewedSession, Taken, TakenFrames, TakenRecordings,
    TakenSessions,
};
use crate::output::Output;
use crate::page::{DIM, PLAIN, Page, WARN, columns, date};
use crate::recorded_view;
use crate::wording::{bytes, counted};

/// Options of an import without a file.
#[derive(Debug, clap::Args)]
pub(crate) struct UsualArgs {
    /// The sessions of all projects, not only of this one
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) agreement: Agreement,
}

impl UsualArgs {
    /// Shows the sessions that would be read, and returns whether they are to be: a person is asked about those of all
    /// projects. `what` names the work on them.
    pub(crate) fn agree(
        &self,
        what: &str,
        found: &RecordedSessions,
        output: &mut Output,
    ) -> Result<bool, CommandError> {
        if !output.json() {
            let mut page = Page::default();
            recorded_view::draw(found, false, &mut page);
            match output.page(&page) {
                // Who sees nothing of it can't agree to it.
                Err(CommandError::BrokenPipe) => return Ok(false),
                shown => shown?,
            }
        }
        if !found.all || self.agreement.yes {
            return Ok(true);
        }
        let about = about(found);
        let unasked = EngineError::invalid(
            format!("this would {what} {about}, and nobody can be asked here"),
            "Give --yes to do it, or --dry-run to see which.",
        );
        let mut question = what.to_owned();
        question.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
        output.confirm(&format!("{question} {about}?"), unasked)
    }
}

/// Returns the number and size of sessions, such as `12 sessions (3.1 MiB) of 4 projects`.
fn about(found: &RecordedSessions) -> String {
    let files = || found.sessions.iter().filter(|session| session.path.is_some());
    let projects: BTreeSet<&str> = files().map(|session| session.project.as_str()).collect();
    let size = files().filter_map(|session| session.bytes).sum();
    let (count, of) = (found.sessions.len() as u64, projects.len().max(1) as u64);
    format!("{} ({}) of {}", counted(count, "session"), bytes(size), counted(of, "project"))
}

/// Take over past sessions of agents, or frames of another store
///
/// Without files, it looks for sessions of this project in the places where Claude Code, Codex, pi and OpenCode
/// keep them, and for frames that another program left in the project's .opencode folder.
///
/// Files and folders may hold sessions of Claude Code (with its subagents), Codex, pi, `opencode export`,
/// SWE-agent and mini-swe-agent; their content tells which. Tasks, todo items, subagents and turns become frames,
/// so that tree, log and search work on your past. They may also hold frames: folders such as .opencode/stack and
/// .opencode/flame, projects with these in them, and files of `callstack export`. Importing twice changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Files or folders [default: what there is of this project in the usual places]
    #[arg(conflicts_with = "all")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    usual: UsualArgs,
    #[command(flatten)]
    new: NewStore,
}

/// The most frames, files and kinds of records that are listed by name.
const NAMED: usize = 10;

pub(crate) fn run(
    args: &ImportArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let params = |yes| ImportParams {
        paths: args.paths.clone(),
        all: args.usual.all,
        yes,
        dry_run: args.usual.agreement.dry_run,
        here: args.new.here,
    };
    let machine = invocation.machine(output);
    let mut answer = Some(operations::on_machine::<Import>(&machine, params(false))?);
    if let Some(ImportOutput::ToAgree(found)) = &answer {
        let agreed = args.usual.agree("import", &found.to_agree, output)?;
        answer =
            agreed.then(|| operations::on_machine::<Import>(&machine, params(true))).transpose()?;
    }
    output.either(&json!(answer), |page| match &answer {
        None | Some(ImportOutput::ToAgree(_)) => drop(page.put(PLAIN, "nothing was read").end()),
        Some(ImportOutput::Found(found)) => {
            if let Some(frames) = &found.frames {
                print_frames(frames, WOULD_BE, page);
            }
            recorded_view::draw(&found.sessions, true, page);
        }
        Some(ImportOutput::Taken(taken)) => print_taken(taken, page),
    })
}

/// The words of a dry run for new frames.
const WOULD_BE: &str = "would be imported";

fn print_taken(taken: &Taken, page: &mut Page) {
    let became = if taken.dry_run { WOULD_BE } else { "imported" };
    if !taken.frames.sources.is_empty() {
        print_frames(&taken.frames, became, page);
    }
    match &taken.recorded {
        Some(TakenRecordings::Counts(sessions)) => print_sessions(sessions, page),
        Some(TakenRecordings::Preview(preview)) => {
            preview_sessions(&preview.sessions, page);
            warn(preview.refused.iter().cloned(), page);
        }
        None => {}
    }
    if taken.dry_run {
        page.put(DIM, "nothing was written: without --dry-run it is").end();
    }
}

/// Prints the imported frames. `became` says what happened to new frames, or would happen.
fn print_frames(frames: &TakenFrames, became: &str, page: &mut Page) {
    for source in &frames.sources {
        let count = counted(source.frames, "frame");
        page.put(DIM, &format!("read {} ({count}, {})", source.path, source.format)).end();
    }
    page.put(PLAIN, &frames_line(frames, became)).end();
    let skipped = frames.skipped.iter().map(|it| format!("left out {}: {}", it.what, it.why));
    warn(skipped, page);
}

fn print_sessions(taken: &TakenSessions, page: &mut Page) {
    let programs = taken.programs.iter();
    let programs: Vec<_> = programs.map(|(host, count)| format!("{count} {host}")).collect();
    let all = counted(taken.programs.values().sum(), "session");
    page.put(DIM, &format!("read {all} ({})", programs.join(", "))).end();
    let mut parts = vec![format!(
        "{} imported with {} and {}",
        counted(taken.sessions, "session"),
        counted(taken.messages, "message"),
        counted(taken.frames, "frame"),
    )];
    for (count, what) in
        [(taken.known, "here already"), (taken.followed, "left, as they were followed here")]
    {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    page.put(PLAIN, &parts.join(", ")).end();
    let mut kinds: Vec<_> = taken.skipped.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let passed = kinds.iter().map(|(_, count)| **count).sum::<u64>();
    if passed > 0 {
        let named: Vec<_> =
            kinds.iter().take(NAMED).map(|(kind, count)| format!("{kind} ({count})")).collect();
        let more = if kinds.len() > NAMED { ", …" } else { "" };
        let passed = counted(passed, "record");
        page.put(DIM, &format!("passed over {passed}: {}{more}", named.join(", "))).end();
    }
    if taken.unreadable > 0 {
        let lines = counted(taken.unreadable, "line");
        page.put(WARN, "!").put(PLAIN, &format!(" {lines} could not be read")).end();
    }
    warn(taken.refused.iter().cloned(), page);
}

fn preview_sessions(sessions: &[PreviewedSession], page: &mut Page) {
    let known = sessions.iter().filter(|session| session.known).count();
    let fresh = counted((sessions.len() - known) as u64, "session");
    page.put(PLAIN, &format!("{fresh} would be imported"));
    if known > 0 {
        page.put(PLAIN, &format!(", {known} here already, of which only what is new would be"));
    }
    page.end();
    let widest = sessions.iter().map(|session| columns(&session.id)).max().unwrap_or(0);
    for session in sessions {
        let pad = " ".repeat(widest.saturating_sub(columns(&session.id)));
        let date = session.at.and_then(date).unwrap_or_default();
        let messages = counted(session.messages, "message");
        let known = if session.known { "here already" } else { "" };
        let rest = [date.as_str(), &messages, &session.title, known];
        let rest: Vec<_> = rest.into_iter().filter(|part| !part.is_empty()).collect();
        page.put(PLAIN, &format!("  {:<12} {}{pad}  ", session.agent, session.id));
        page.put(DIM, &rest.join(" · ")).end();
    }
}

fn warn(warnings: impl ExactSizeIterator<Item = String>, page: &mut Page) {
    let more = warnings.len().saturating_sub(NAMED);
    for warning in warnings.take(NAMED) {
        page.put(WARN, "!").put(PLAIN, &format!(" {warning}")).end();
    }
    if more > 0 {
        page.put(DIM, &format!("  and {more} more; --json names all")).end();
    }
}

fn frames_line(frames: &TakenFrames, became: &str) -> String {
    let mut parts = vec![format!("{} {became}", counted(frames.imported, "frame"))];
    for (count, what) in [
        (frames.known, "here already"),
        (frames.skipped.len() as u64, "left out"),
        (frames.orphans, "made roots for want of their parent"),
        (frames.cycles, "made roots because they stood below themselves"),
        (frames.raised, "raised to the depth that is allowed"),
        (frames.blocked, "blocked because too many are in progress"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.join(", ")
}
