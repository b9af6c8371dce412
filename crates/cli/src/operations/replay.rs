//! The operation that measures recorded sessions: it needs no store, and asks no model.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use callstack_core::control::escape_json;
use callstack_core::trace::SessionTrace;
use callstack_engine::operation::{
    Access, Caller, CallerKind, Operate, Repeated, Reply, TERMINAL_ONLY,
};
use callstack_engine::{EngineError, Kind, SystemWorld, World as _};
use callstack_exports::{Counts, Export};
use callstack_recordings::Recording;
use callstack_replay::{Outline, Policy, Progress, Replay, Report, Strategy, document, dump};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Machine;
use super::file::{Unwritten, write as write_file};
use super::import::sessions::{self, Course, Part, Sources};
use super::import::usual::{RecordedSessions, ToAgree, Usual, Wanted};
use super::traces::format::{OtherFormat, about};
use crate::commands::report::{BY, refuse_other};
use crate::error::CommandError;
use crate::reporter::Reporter;
use crate::wording::counted;

/// `stack_replay`.
pub(crate) struct Measure;

/// Arguments of `stack_replay`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "one an option")]
pub(crate) struct ReplayParams {
    /// Session files, or folders of them; default: the sessions of this project in the usual places
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) files: Vec<PathBuf>,
    /// Without files: the sessions of all projects
    #[serde(default)]
    pub(crate) all: bool,
    /// Without files: measure the sessions that there are, to which a person agrees; else they are only named
    #[serde(default)]
    pub(crate) yes: bool,
    /// Only list the sessions
    #[serde(default)]
    pub(crate) dry_run: bool,
    /// A file to write a page to
    #[schemars(with = "Option<String>")]
    pub(crate) html: Option<PathBuf>,
    /// Write the sessions to `output` in the format of another tool: `speedscope`, `chrome-trace`, `otlp`, `csv` or
    /// `mermaid`
    #[schemars(with = "Option<String>")]
    pub(crate) export: Option<OtherFormat>,
    /// The file that is exported to
    #[schemars(with = "Option<String>")]
    pub(crate) output: Option<PathBuf>,
    /// A folder for all that would have been sent
    #[schemars(with = "Option<String>")]
    pub(crate) dump: Option<PathBuf>,
    /// Write secrets into that folder instead of masking them
    #[serde(default)]
    pub(crate) reveal: bool,
}

/// The sessions that were measured, or found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ReplayOutput {
    ToAgree(ToAgree),
    Found(RecordedSessions),
    Measured(Box<Report>),
}

impl Operate<Machine> for Measure {
    const NAME: &'static str = "stack_replay";
    const SUMMARY: &'static str =
        "Measure on recorded sessions what frames, and other ways of working, would save and lose.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = ReplayParams;
    type Output = ReplayOutput;

    fn run(
        machine: &Machine,
        _: &Caller,
        params: ReplayParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let output = replayed(&params, machine).map_err(CommandError::into_error)?;
        Ok(Reply::new("replay", "What was measured.", output))
    }
}

fn replayed(params: &ReplayParams, machine: &Machine) -> Result<ReplayOutput, CommandError> {
    let start = machine.place.start();
    let sources = if params.files.is_empty() {
        let usual = Usual { all: params.all, yes: params.yes, dry_run: params.dry_run };
        match usual.find("replay", machine) {
            Wanted::Listed(found) => return Ok(ReplayOutput::Found(found)),
            Wanted::ToAgree(found) => return Ok(ReplayOutput::ToAgree(found)),
            Wanted::Nothing(why) => return Err(why.into()),
            Wanted::Read(found) => found.sources(&mut *machine.reporter())?,
        }
    } else {
        Sources::named(params.files.iter().map(|file| start.join(file)).collect())
    };
    prepare(params, start)?;
    let mut measured = Measured::of(params, start, &sources);
    let refused =
        sessions::read(&sources, &mut *machine.reporter(), &mut |mut part, course, reporter| {
            for at in 0..part.recordings.len() {
                measured.add(&mut part, at, course, reporter)?;
            }
            reporter.progress("");
            Ok(())
        })?;
    let mut reporter = machine.reporter();
    for error in refused {
        reporter.remark(&error);
    }
    let report = measured.written(&mut *reporter)?;
    Ok(ReplayOutput::Measured(Box::new(report)))
}

/// The sessions that were measured so far.
struct Measured<'a> {
    params: &'a ReplayParams,
    start: &'a Path,
    sources: &'a Sources,
    report: Report,
    pages: Vec<Outline>,
    exported: Vec<SessionTrace>,
    /// Sessions of the project in which callstack was at work: what it saved is known already.
    left_out: u64,
}

impl<'a> Measured<'a> {
    fn of(params: &'a ReplayParams, start: &'a Path, sources: &'a Sources) -> Self {
        let (pages, exported) = (Vec::new(), Vec::new());
        let report = Report::default();
        Self { params, start, sources, report, pages, exported, left_out: 0 }
    }

    /// Measures a session of a part, if a model was called in it.
    fn add(
        &mut self,
        part: &mut Part,
        at: usize,
        course: &mut Course,
        reporter: &mut dyn Reporter,
    ) -> Result<(), CommandError> {
        let all = part.recordings.len();
        let Some(recording) = part.recordings.get_mut(at) else { return Ok(()) };
        if recording.model_calls() == 0 {
            return Ok(());
        }
        // The records repeat the whole input, and nothing uses them here.
        recording.messages.iter_mut().for_each(|message| message.records = Vec::new());
        let Some(recording) = part.recordings.get(at) else { return Ok(()) };
        let mut report = |Progress { call, calls }| {
            if course.is_due() {
                let share = (at as f64 + call as f64 / calls.max(1) as f64) / all as f64;
                let line = format!("replaying {} of {all}: call {call} of {calls}", at + 1);
                reporter.progress(&course.line(&line, share));
            }
        };
        let replay = Replay::in_ways(recording, &Policy::default(), &Strategy::ALL, &mut report);
        if self.params.files.is_empty() && replay.session.had_frames() {
            self.left_out += 1;
            return Ok(());
        }
        if let Some(folder) = &self.params.dump {
            let folder = self.start.join(folder);
            let file = dump_file(&folder, recording, self.report.sessions.len());
            for_its_owner(&file)
                .and_then(|to| dump(&replay, self.params.reveal, &mut BufWriter::new(to)))
                .map_err(|error| CommandError::of_file("write", &file, error))?;
        }
        let path = part.path_of(recording);
        let path = self.params.files.get(path).or_else(|| self.sources.paths().get(path));
        let file = path.map(|path| path.display().to_string()).unwrap_or_default();
        self.report.add(file, recording, &replay);
        if self.params.export.is_some() {
            let before = self.exported.iter().map(|it| it.frames.len() as u64).sum();
            self.exported.push(replay.trace(recording, before));
        }
        if self.params.html.is_some() {
            self.pages.push(replay.outline());
        }
        Ok(())
    }

    /// Returns the figures of all sessions, and writes the page and the export that are asked for.
    fn written(self, reporter: &mut dyn Reporter) -> Result<Report, CommandError> {
        if self.left_out > 0 {
            let sessions = counted(self.left_out, "session");
            reporter.remark(&format!(
                "{sessions} left out: callstack was at work there, and `callstack status` says what it saved"
            ));
        }
        if self.report.sessions.is_empty() && self.left_out > 0 {
            return Err(EngineError::new(
                Kind::Invalid,
                "callstack was at work in all of these sessions",
            )
            .with_hint(
                "`callstack status` says what it saved. Name a file to replay it all the same.",
            )
            .into());
        }
        if self.report.sessions.is_empty() {
            return Err(EngineError::new(
                Kind::Invalid,
                "no call of a model is recorded in these sessions",
            )
            .with_hint("Name a session in which an agent has answered.")
            .into());
        }
        let report = self.report.finish();
        if let Some(file) = &self.params.html {
            let file = self.start.join(file);
            let document = document(&report, &self.pages, SystemWorld.now(), BY);
            let page = callstack_page::offline(&escape_json(&document.to_string()));
            for_its_owner(&file)
                .and_then(|mut to| to.write_all(page.as_bytes()))
                .map_err(|error| CommandError::of_file("write", &file, error))?;
        }
        if let (Some(format), Some(file)) = (self.params.export, &self.params.output) {
            export(format, &self.exported, self.start, &self.start.join(file), reporter)?;
        }
        Ok(report)
    }
}

/// Sees that what is written replaces nothing that may be wanted, and has its folder.
fn prepare(params: &ReplayParams, start: &Path) -> Result<(), CommandError> {
    if let Some(page) = &params.html {
        refuse_other(&start.join(page), "--html")?;
    }
    match (&params.output, params.export) {
        (None, Some(_)) => {
            return Err(EngineError::invalid(
                "an export needs a file to be written to",
                "Name it as `output`.",
            )
            .into());
        }
        (Some(file), _) => refuse_recording(&start.join(file))?,
        (None, None) => {}
    }
    if let Some(folder) = &params.dump {
        let folder = start.join(folder);
        std::fs::create_dir_all(&folder)
            .map_err(|error| CommandError::of_file("create", &folder, error))?;
    }
    Ok(())
}

/// Writes sessions in the format of another tool.
fn export(
    format: OtherFormat,
    sessions: &[SessionTrace],
    start: &Path,
    file: &Path,
    reporter: &mut dyn Reporter,
) -> Result<(), CommandError> {
    let about = about(start);
    let put = |to: &mut dyn Write| -> Result<Counts, Unwritten> {
        let mut export = Export::begin(format.format(), &about, to)?;
        for session in sessions {
            export.session(session)?;
        }
        Ok(export.end()?)
    };
    let counts = write_file(file, put)?;
    format.warn(counts, reporter);
    Ok(())
}

/// Refuses to write an export over a recording, which may be the only one.
fn refuse_recording(file: &Path) -> Result<(), CommandError> {
    if !file.is_file() || !callstack_recordings::is_recording(file).unwrap_or_default() {
        return Ok(());
    }
    Err(EngineError::new(Kind::Conflict, format!("{} is a recorded session", file.display()))
        .with_hint("Give --output another name, or remove the file first.")
        .into())
}

/// The most characters of a session's id in a file's name.
const NAME: usize = 60;

fn dump_file(folder: &Path, recording: &Recording, number: usize) -> PathBuf {
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    let name: String = recording
        .session
        .chars()
        .map(|char| if plain(char) { char } else { '-' })
        .take(NAME)
        .collect();
    folder.join(format!("{:02}-{name}.jsonl", number + 1))
}

/// Creates an empty file that nobody else may read, where the system has owners: it will contain messages.
fn for_its_owner(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    if file.metadata()?.is_file() {
        // A file that was there may be readable by everybody. If it belongs to somebody else, that person decides.
        drop(file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)));
    }
    Ok(file)
}
