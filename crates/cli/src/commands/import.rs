pub(super) mod sessions;

use std::collections::BTreeMap;
use std::path::PathBuf;

use callstack_core::text::iso_time;
use callstack_engine::{Engine, EngineError, ImportSummary, PastCounts};
use callstack_hosts::recording::{self, Recording, RecordingError};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN, Page, WARN};
use crate::wording::counted;

use sessions::Pace;

/// Take over past sessions of agents, and frames of another store or of the plugins that came before
///
/// Sessions are read from the files of Claude Code (with its subagents), Codex, pi, `opencode export`,
/// SWE-agent and mini-swe-agent, told apart by what is in them, or from folders with these: tasks, todo
/// items, subagents and turns become frames, so that tree, log and search work on your past. Frames are
/// read from folders such as .opencode/stack and .opencode/flame, projects with these in them, and what
/// `callstack export` wrote. What is here already is left, so that importing twice changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Files or folders [default: the frames in this project's .opencode]
    paths: Vec<PathBuf>,
}

/// Frames, files and kinds of records that a person is told of by name.
const NAMED: usize = 10;

/// How the sessions were taken over.
#[derive(Debug, Default)]
struct Taken {
    counts: PastCounts,
    /// Sessions by the program that recorded them.
    programs: BTreeMap<&'static str, usize>,
    /// Records that mean nothing here, by kind.
    skipped: BTreeMap<String, usize>,
    /// Lines that could not be read.
    unreadable: usize,
    /// Files of a folder that are sessions and could not be read: why.
    refused: Vec<String>,
}

pub(crate) fn run(
    args: &ImportArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let start = invocation.place.start();
    let (mut frames, mut sessions, mut nothing) = (Vec::new(), Vec::new(), None);
    for path in args.paths.iter().map(|path| start.join(path)) {
        let has_frames = path.is_dir() && Engine::holds_frames(&path);
        let is_session = match recording::is_recording(&path) {
            _ if has_frames => false,
            // As `*` stands for some.
            Err(error @ RecordingError::NoneInFolder(_)) if args.paths.len() > 1 => {
                output.remark(&error.to_string());
                nothing.get_or_insert(error);
                continue;
            }
            found => found.map_err(EngineError::from)?,
        };
        if is_session { &mut sessions } else { &mut frames }.push(path);
    }
    if let Some(error) = nothing.filter(|_| frames.is_empty() && sessions.is_empty()) {
        return Err(EngineError::from(error).into());
    }
    let engine = invocation.engine_or_new()?;
    let summary = if sessions.is_empty() || !frames.is_empty() {
        engine.import(&frames)?
    } else {
        ImportSummary::default()
    };
    let taken = (!sessions.is_empty()).then(|| take_over(&engine, &sessions, output));
    let taken = taken.transpose()?;
    let mut value = json!(summary);
    if let Some(taken) = &taken {
        value["recorded"] = taken.json();
    }
    output.either(&value, |page| {
        if taken.is_none() || !frames.is_empty() {
            tell_frames(&summary, page);
        }
        if let Some(taken) = &taken {
            tell_sessions(taken, page);
        }
    })
}

fn take_over(engine: &Engine, paths: &[PathBuf], output: &mut Output) -> Result<Taken, Failure> {
    let mut taken = Taken::default();
    let mut pace = Pace::new();
    taken.refused = sessions::read(paths, output, &mut |part, output| {
        taken.part(engine, part.recordings, &mut pace, output)
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
        pace: &mut Pace,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let imported = recording::import(engine, &recordings, &mut |session, message| {
            if pace.is_due() {
                output.progress(&told_of(&recordings, session, message));
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

fn tell_frames(summary: &ImportSummary, page: &mut Page) {
    for source in &summary.sources {
        let frames = counted(source.frames, "frame");
        let from = format!("read {} ({frames}, {})", source.path.display(), source.format);
        page.put(DIM, &from).end();
    }
    page.put(PLAIN, &told(summary)).end();
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

fn told(summary: &ImportSummary) -> String {
    let counts = &summary.counts;
    let mut told = vec![format!("{} imported", counted(counts.imported, "frame"))];
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
