mod course;
pub(super) mod sessions;
pub(super) mod usual;
mod would;

use std::collections::BTreeMap;
use std::path::PathBuf;

use callstack_core::text::iso_time;
use callstack_engine::{Engine, ImportSummary, PastCounts};
use callstack_recordings::{Recording, RecordingError, is_recording};
use serde_json::{Value, json};

use crate::args::NewStore;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN, Page, WARN};
use crate::wording::counted;

use sessions::{Course, Sources};
use usual::{Usual, Wanted};

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
    usual: Usual,
    #[command(flatten)]
    new: NewStore,
}

/// The most frames, files and kinds of records that are listed by name.
const NAMED: usize = 10;

/// The result of importing sessions.
#[derive(Debug, Default)]
struct Taken {
    counts: PastCounts,
    /// The number of sessions, by the program that recorded them.
    programs: BTreeMap<&'static str, usize>,
    /// The number of records that have no meaning here, by kind.
    skipped: BTreeMap<String, usize>,
    /// The number of lines that could not be read.
    unreadable: usize,
    /// The reasons why files of a folder that are sessions could not be read.
    refused: Vec<String>,
}

pub(crate) fn run(
    args: &ImportArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    if args.paths.is_empty() {
        return from_usual_places(args, invocation, output);
    }
    let start = invocation.place.start();
    let (mut frames, mut sessions, mut nothing) = (Vec::new(), Vec::new(), None);
    for path in args.paths.iter().map(|path| start.join(path)) {
        let has_frames = path.is_dir() && Engine::holds_frames(&path);
        let is_session = match is_recording(&path) {
            _ if has_frames => false,
            // A pattern such as `*` may include such folders.
            Err(error @ RecordingError::NoneInFolder(_)) if args.paths.len() > 1 => {
                output.remark(&error.to_string());
                nothing.get_or_insert(error);
                continue;
            }
            found => found?,
        };
        if is_session { &mut sessions } else { &mut frames }.push(path);
    }
    if let Some(error) = nothing.filter(|_| frames.is_empty() && sessions.is_empty()) {
        return Err(error.into());
    }
    let sources = (!sessions.is_empty()).then(|| Sources::named(sessions));
    if args.usual.only_lists() {
        return would::tell(&frames, sources.as_ref(), invocation, output);
    }
    let engine = invocation.engine_or_new(args.new, output)?;
    let frames = (!frames.is_empty()).then(|| engine.import(&frames)).transpose()?;
    take_all(&engine, frames.as_ref(), sources.as_ref(), output)
}

/// Imports from the usual places: frames in the project's own folders, and the sessions of agents.
fn from_usual_places(
    args: &ImportArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    if !args.usual.only_lists() {
        invocation.place.may_work(args.new)?;
    }
    let project = invocation.place.existing_or_new()?;
    let found = match args.usual.find("import", &invocation.place, output)? {
        Wanted::Shown => return Ok(()),
        Wanted::Nothing(why) if !Engine::holds_frames(&project) => return Err(why.into()),
        Wanted::Nothing(why) => Err(why),
        Wanted::Read(found) => Ok(found),
    };
    let engine = invocation.engine_or_new(args.new, output)?;
    // Frames that this store has written there for other programs do not count.
    let has_frames = engine.has_frames_of_others()?;
    let found = match found {
        Err(why) if !has_frames => return Err(why.into()),
        found => found.ok(),
    };
    let frames = has_frames.then(|| engine.import(&[])).transpose()?;
    let sessions = found.map(|found| found.sources(output)).transpose()?;
    take_all(&engine, frames.as_ref(), sessions.as_ref(), output)
}

fn take_all(
    engine: &Engine,
    frames: Option<&ImportSummary>,
    sessions: Option<&Sources>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let taken = sessions.map(|sessions| take_over(engine, sessions, output)).transpose()?;
    let mut value = frames.map_or_else(|| json!(ImportSummary::default()), |it| json!(it));
    if let Some(taken) = &taken {
        value["recorded"] = taken.json();
    }
    output.either(&value, |page| {
        if let Some(frames) = frames {
            tell_frames(frames, "imported", page);
        }
        if let Some(taken) = &taken {
            tell_sessions(taken, page);
        }
    })
}

fn take_over(
    engine: &Engine,
    sources: &Sources,
    output: &mut Output,
) -> Result<Taken, CommandError> {
    let mut taken = Taken::default();
    taken.refused = sessions::read(sources, output, &mut |part, course, output| {
        taken.part(engine, part.recordings, course, output)
    })?;
    Ok(taken)
}

impl Taken {
    fn sessions(&self) -> usize {
        self.programs.values().sum()
    }

    fn part(
        &mut self,
        engine: &Engine,
        recordings: Vec<Recording>,
        course: &mut Course,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let all: usize = recordings.iter().map(|recording| recording.messages.len()).sum();
        let imported =
            callstack_hosts::import::import(engine, &recordings, &mut |session, message| {
                if course.is_due() {
                    let before = recordings.iter().take(session);
                    let before: usize = before.map(|recording| recording.messages.len()).sum();
                    let share = (before + message) as f64 / all.max(1) as f64;
                    output.progress(&course.line(&told_of(&recordings, session, message), share));
                }
            });
        output.progress("");
        self.counts.add(imported?);
        for recording in recordings {
            *self.programs.entry(recording.format.host()).or_default() += 1;
            self.unreadable += recording.skipped.unreadable;
            for (kind, count) in recording.skipped.kinds {
                *self.skipped.entry(kind).or_default() += count;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let mut value = json!(self.counts);
        value["programs"] = json!(self.programs);
        value["skipped"] = json!(self.skipped);
        value["unreadable"] = json!(self.unreadable);
        value["refused"] = json!(self.refused);
        value
    }
}

fn told_of(recordings: &[Recording], session: usize, message: usize) -> String {
    let Some(recording) = recordings.get(session) else { return String::new() };
    let at = recording.messages.iter().find_map(|message| message.at);
    let of = at.map_or_else(String::new, |at| format!(" of {}", iso_time(at)));
    let (all, host) = (recordings.len(), recording.format.host());
    let messages = recording.messages.len();
    format!("session {}/{all}: {host}{of}, message {}/{messages}", session + 1, message + 1)
}

/// Prints the imported frames. `became` says what happened to new frames, or would happen.
fn tell_frames(summary: &ImportSummary, became: &str, page: &mut Page) {
    for source in &summary.sources {
        let frames = counted(source.frames, "frame");
        let from = format!("read {} ({frames}, {})", source.path.display(), source.format);
        page.put(DIM, &from).end();
    }
    page.put(PLAIN, &told(summary, became)).end();
    let skipped = summary.skipped.iter().map(|it| format!("left out {}: {}", it.what, it.why));
    warn(skipped, page);
}

fn tell_sessions(taken: &Taken, page: &mut Page) {
    let programs = taken.programs.iter();
    let programs: Vec<_> = programs.map(|(host, count)| format!("{count} {host}")).collect();
    let all = taken.sessions() as u64;
    let from = format!("read {} ({})", counted(all, "session"), programs.join(", "));
    page.put(DIM, &from).end();
    let counts = &taken.counts;
    let mut told = vec![format!(
        "{} imported with {} and {}",
        counted(counts.sessions, "session"),
        counted(counts.messages, "message"),
        counted(counts.frames, "frame"),
    )];
    for (count, what) in
        [(counts.known, "here already"), (counts.followed, "left, as they were followed here")]
    {
        if count > 0 {
            told.push(format!("{count} {what}"));
        }
    }
    page.put(PLAIN, &told.join(", ")).end();
    let mut kinds: Vec<_> = taken.skipped.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let passed = kinds.iter().map(|(_, count)| **count).sum::<usize>() as u64;
    if passed > 0 {
        let named: Vec<_> =
            kinds.iter().take(NAMED).map(|(kind, count)| format!("{kind} ({count})")).collect();
        let more = if kinds.len() > NAMED { ", …" } else { "" };
        let passed = counted(passed, "record");
        page.put(DIM, &format!("passed over {passed}: {}{more}", named.join(", "))).end();
    }
    if taken.unreadable > 0 {
        let lines = counted(taken.unreadable as u64, "line");
        page.put(WARN, "!").put(PLAIN, &format!(" {lines} could not be read")).end();
    }
    warn(taken.refused.iter().cloned(), page);
}

fn warn(told: impl ExactSizeIterator<Item = String>, page: &mut Page) {
    let more = told.len().saturating_sub(NAMED);
    for told in told.take(NAMED) {
        page.put(WARN, "!").put(PLAIN, &format!(" {told}")).end();
    }
    if more > 0 {
        page.put(DIM, &format!("  and {more} more; --json names all")).end();
    }
}

fn told(summary: &ImportSummary, became: &str) -> String {
    let counts = &summary.counts;
    let mut told = vec![format!("{} {became}", counted(counts.imported, "frame"))];
    for (count, what) in [
        (counts.known, "here already"),
        (summary.skipped.len() as u64, "left out"),
        (counts.orphans, "made roots for want of their parent"),
        (counts.cycles, "made roots because they stood below themselves"),
        (counts.raised, "raised to the depth that is allowed"),
        (counts.blocked, "blocked because too many are in progress"),
    ] {
        if count > 0 {
            told.push(format!("{count} {what}"));
        }
    }
    told.join(", ")
}
