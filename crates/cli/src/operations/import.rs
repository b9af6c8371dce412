//! The operation that takes over past sessions of agents, and frames of other stores, from files anywhere on the
//! machine.

pub(super) mod course;
pub(crate) mod sessions;
pub(crate) mod usual;
mod would;

use std::collections::BTreeMap;
use std::path::PathBuf;

use callstack_core::text::iso_time;
use callstack_engine::operation::{
    Access, Caller, CallerKind, Operate, Repeated, Reply, TERMINAL_ONLY,
};
use callstack_engine::{Engine, EngineError, ImportSummary, PastCounts};
use callstack_recordings::{Recording, RecordingError, is_recording};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Machine;
use crate::args::NewStore;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::reporter::Reporter;

use sessions::{Course, Sources};
use usual::{RecordedSessions, ToAgree, Usual, Wanted};

/// `stack_import`.
pub(crate) struct Import;

/// Arguments of `stack_import`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "one an option")]
pub(crate) struct ImportParams {
    /// Files or folders; default: what there is of this project in the usual places of agents
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) paths: Vec<PathBuf>,
    /// Without paths: the sessions of all projects
    #[serde(default)]
    pub(crate) all: bool,
    /// Without paths: take over the sessions that there are, to which a person agrees; else they are only named
    #[serde(default)]
    pub(crate) yes: bool,
    /// Only list what would be taken over
    #[serde(default)]
    pub(crate) dry_run: bool,
    /// Make a store if there is none
    #[serde(default)]
    pub(crate) here: bool,
}

/// Sessions and frames that were taken over, would be, or were found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ImportOutput {
    ToAgree(ToAgree),
    Found(FoundHere),
    Taken(Box<Taken>),
}

/// Sessions and frames that are taken over without any path.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FoundHere {
    #[serde(flatten)]
    pub(crate) sessions: RecordedSessions,
    /// Frames in the project's own folders
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) frames: Option<TakenFrames>,
}

/// Sessions and frames that were taken over, or would be.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Taken {
    #[serde(flatten)]
    pub(crate) frames: TakenFrames,
    /// Whether nothing was written
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) dry_run: bool,
    /// Sessions, if there are any
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded: Option<TakenRecordings>,
}

/// Frames of other stores.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TakenFrames {
    pub(crate) sources: Vec<TakenSource>,
    pub(crate) imported: u64,
    /// There already, and left as they are
    pub(crate) known: u64,
    /// Roots now, because their parent is nowhere to be found
    pub(crate) orphans: u64,
    /// Roots now, because they stood below themselves
    pub(crate) cycles: u64,
    /// Children of an ancestor now, because they stood deeper than the limit
    pub(crate) raised: u64,
    /// Blocked now, because too many frames would be in progress
    pub(crate) blocked: u64,
    /// The entries that could not be taken over
    pub(crate) skipped: Vec<SkippedEntry>,
}

/// A folder or file with frames.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TakenSource {
    pub(crate) path: String,
    /// Whose shape the frames have: `stack` or `flame`
    pub(crate) format: String,
    pub(crate) frames: u64,
}

/// An entry that could not be taken over.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SkippedEntry {
    pub(crate) what: String,
    pub(crate) why: String,
}

/// Sessions that were taken over, or would be.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum TakenRecordings {
    Counts(Box<TakenSessions>),
    Preview(Preview),
}

/// The result of taking sessions over.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TakenSessions {
    /// Sessions with anything new in them
    pub(crate) sessions: u64,
    /// Sessions that the store had already
    pub(crate) known: u64,
    /// Sessions that were followed here while they went on
    pub(crate) followed: u64,
    pub(crate) messages: u64,
    pub(crate) frames: u64,
    /// The number of sessions, by the program that recorded them
    pub(crate) programs: BTreeMap<String, u64>,
    /// The number of records that have no meaning here, by kind
    pub(crate) skipped: BTreeMap<String, u64>,
    /// The number of lines that could not be read
    pub(crate) unreadable: u64,
    /// The reasons why files of a folder that are sessions could not be read
    pub(crate) refused: Vec<String>,
}

/// Sessions that would be taken over.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Preview {
    pub(crate) sessions: Vec<PreviewedSession>,
    /// The reasons why files of a folder that are sessions could not be read
    pub(crate) refused: Vec<String>,
}

/// A session that was read.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PreviewedSession {
    pub(crate) agent: String,
    pub(crate) id: String,
    /// The time of the first message that has one, in milliseconds since 1970
    pub(crate) at: Option<i64>,
    pub(crate) messages: u64,
    pub(crate) title: String,
    /// Whether the store has a session of this id from the same agent
    pub(crate) known: bool,
}

impl Operate<Machine> for Import {
    const NAME: &'static str = "stack_import";
    const SUMMARY: &'static str =
        "Take over past sessions of agents, or frames of another store, from files anywhere.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = ImportParams;
    type Output = ImportOutput;

    fn run(
        machine: &Machine,
        _: &Caller,
        params: ImportParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let output = imported(machine, &params).map_err(CommandError::into_error)?;
        Ok(Reply::new("import", "What was taken over.", output))
    }
}

fn imported(machine: &Machine, params: &ImportParams) -> Result<ImportOutput, CommandError> {
    let invocation = Invocation { place: machine.place.clone(), session: None };
    if params.paths.is_empty() {
        return from_usual_places(params, machine, &invocation);
    }
    let start = machine.place.start();
    let (mut frames, mut sessions, mut nothing) = (Vec::new(), Vec::new(), None);
    for path in params.paths.iter().map(|path| start.join(path)) {
        let has_frames = path.is_dir() && Engine::holds_frames(&path);
        let is_session = match is_recording(&path) {
            _ if has_frames => false,
            // A pattern such as `*` may include such folders.
            Err(error @ RecordingError::NoneInFolder(_)) if params.paths.len() > 1 => {
                machine.reporter().remark(&error.to_string());
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
    let taken = if params.dry_run {
        would::taken(&frames, sources.as_ref(), machine, &invocation)?
    } else {
        let new = NewStore { here: params.here };
        let engine = invocation.engine_or_new(new, &mut *machine.reporter())?;
        let frames = (!frames.is_empty()).then(|| engine.import(&frames)).transpose()?;
        take_all(&engine, frames.as_ref(), sources.as_ref(), machine)?
    };
    Ok(ImportOutput::Taken(Box::new(taken)))
}

/// Imports from the usual places: frames in the project's own folders, and the sessions of agents.
fn from_usual_places(
    params: &ImportParams,
    machine: &Machine,
    invocation: &Invocation<'_>,
) -> Result<ImportOutput, CommandError> {
    let new = NewStore { here: params.here };
    if !params.dry_run {
        machine.place.may_work(new)?;
    }
    let project = machine.place.existing_or_new()?;
    let usual = Usual { all: params.all, yes: params.yes, dry_run: params.dry_run };
    let found = match usual.find("import", machine) {
        Wanted::Listed(sessions) => {
            let frames = would::frames_of(&project, machine, invocation)?;
            return Ok(ImportOutput::Found(FoundHere { sessions, frames }));
        }
        Wanted::ToAgree(to_agree) => return Ok(ImportOutput::ToAgree(to_agree)),
        Wanted::Nothing(why) if params.dry_run => {
            let frames = would::frames_of(&project, machine, invocation)?.ok_or(why)?;
            let taken = Taken { frames, dry_run: true, recorded: None };
            return Ok(ImportOutput::Taken(Box::new(taken)));
        }
        Wanted::Nothing(why) if !Engine::holds_frames(&project) => return Err(why.into()),
        Wanted::Nothing(why) => Err(why),
        Wanted::Read(found) => Ok(found),
    };
    let engine = invocation.engine_or_new(new, &mut *machine.reporter())?;
    // Frames that this store has written there for other programs do not count.
    let has_frames = engine.has_frames_of_others()?;
    let found = match found {
        Err(why) if !has_frames => return Err(why.into()),
        found => found.ok(),
    };
    let frames = has_frames.then(|| engine.import(&[])).transpose()?;
    let sessions = found.map(|found| found.sources(&mut *machine.reporter())).transpose()?;
    let taken = take_all(&engine, frames.as_ref(), sessions.as_ref(), machine)?;
    Ok(ImportOutput::Taken(Box::new(taken)))
}

fn take_all(
    engine: &Engine,
    frames: Option<&ImportSummary>,
    sessions: Option<&Sources>,
    machine: &Machine,
) -> Result<Taken, CommandError> {
    let recorded = sessions.map(|sessions| take_over(engine, sessions, machine)).transpose()?;
    Ok(Taken {
        frames: frames.map(TakenFrames::of).transpose()?.unwrap_or_default(),
        dry_run: false,
        recorded: recorded.map(|taken| TakenRecordings::Counts(Box::new(taken))),
    })
}

impl TakenFrames {
    /// Returns the summary of the engine in the form of the answer.
    fn of(summary: &ImportSummary) -> Result<Self, CommandError> {
        serde_json::from_value(json!(summary)).map_err(CommandError::of_shape)
    }
}

fn take_over(
    engine: &Engine,
    sources: &Sources,
    machine: &Machine,
) -> Result<TakenSessions, CommandError> {
    let (mut taken, mut counts) = (TakenSessions::default(), PastCounts::default());
    let refused =
        sessions::read(sources, &mut *machine.reporter(), &mut |part, course, reporter| {
            counts.add(part_of(engine, &part.recordings, course, reporter)?);
            for recording in part.recordings {
                let program = recording.format.host().to_owned();
                *taken.programs.entry(program).or_default() += 1;
                taken.unreadable += recording.skipped.unreadable as u64;
                for (kind, count) in recording.skipped.kinds {
                    *taken.skipped.entry(kind).or_default() += count as u64;
                }
            }
            Ok(())
        })?;
    let PastCounts { sessions, known, followed, messages, frames } = counts;
    Ok(TakenSessions { sessions, known, followed, messages, frames, refused, ..taken })
}

/// Takes over sessions that were read together.
fn part_of(
    engine: &Engine,
    recordings: &[Recording],
    course: &mut Course,
    reporter: &mut dyn Reporter,
) -> Result<PastCounts, CommandError> {
    let all: usize = recordings.iter().map(|recording| recording.messages.len()).sum();
    let imported = callstack_hosts::import::import(engine, recordings, &mut |session, message| {
        if course.is_due() {
            let before = recordings.iter().take(session);
            let before: usize = before.map(|recording| recording.messages.len()).sum();
            let share = (before + message) as f64 / all.max(1) as f64;
            reporter.progress(&course.line(&place_of(recordings, session, message), share));
        }
    });
    reporter.progress("");
    Ok(imported?)
}

fn place_of(recordings: &[Recording], session: usize, message: usize) -> String {
    let Some(recording) = recordings.get(session) else { return String::new() };
    let at = recording.messages.iter().find_map(|message| message.at);
    let of = at.map_or_else(String::new, |at| format!(" of {}", iso_time(at)));
    let (all, host) = (recordings.len(), recording.format.host());
    let messages = recording.messages.len();
    format!("session {}/{all}: {host}{of}, message {}/{messages}", session + 1, message + 1)
}
