//! Recorded sessions that a command line names, read in parts: each session once, however many of the files
//! and folders hold it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use callstack_engine::EngineError;
use callstack_hosts::recording::{self, Format, Progress, Recording, RecordingError};

use crate::error::Failure;
use crate::output::Output;

/// How long a line of progress stands at least.
const STANDS: Duration = Duration::from_millis(100);

/// How often progress is told.
pub(crate) struct Pace(Instant);

impl Pace {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.0.elapsed() >= STANDS;
        if due {
            self.0 = Instant::now();
        }
        due
    }
}

/// Sessions that were read together.
pub(crate) struct Part {
    /// The sessions; those that were started by others are behind these.
    pub(crate) recordings: Vec<Recording>,
    /// By which of the paths each was found.
    found: BTreeMap<(Format, String), usize>,
}

impl Part {
    /// The place of the path by which a session was found.
    pub(crate) fn path_of(&self, recording: &Recording) -> usize {
        self.found.get(&key(recording)).copied().unwrap_or_default()
    }
}

/// Reads the sessions of files and folders and hands them on. Files that are named together may have started
/// one another and are read together; a large folder is read in parts. Returns why files in folders could
/// not be read.
pub(crate) fn read(
    paths: &[PathBuf],
    output: &mut Output,
    take: &mut dyn FnMut(Part, &mut Output) -> Result<(), Failure>,
) -> Result<Vec<String>, Failure> {
    let mut reader = Reader::new();
    let numbered = paths.iter().enumerate();
    let (parts, together): (Vec<_>, Vec<_>) = numbered
        .map(|(number, path)| (number, recording::parts(path)))
        .partition(|(_, parts)| parts.len() > 1);
    let mut part = Part { recordings: Vec::new(), found: BTreeMap::new() };
    for (number, path) in together.iter().filter_map(|(number, path)| Some((number, path.first()?)))
    {
        match reader.path(*number, path, &mut part, output) {
            Err(error) if paths.len() > 1 && is_nothing(&error) => {
                output.remark(&error.to_string());
                reader.nothing.get_or_insert(error);
            }
            other => other.map_err(EngineError::from)?,
        }
    }
    reader.hand_on(part, output, take)?;
    for (number, paths) in parts {
        for path in paths {
            let mut part = Part { recordings: Vec::new(), found: BTreeMap::new() };
            match reader.path(number, &path, &mut part, output) {
                Err(RecordingError::NoneInFolder(_)) => {}
                other => other.map_err(EngineError::from)?,
            }
            reader.hand_on(part, output, take)?;
        }
    }
    match reader.nothing.filter(|_| reader.known.is_empty()) {
        Some(error) => Err(EngineError::from(error).into()),
        None => Ok(reader.refused),
    }
}

/// Whether a path simply holds no session, as some do that `*` stands for.
fn is_nothing(error: &RecordingError) -> bool {
    use RecordingError::{Empty, NoneInFolder, Unknown};
    matches!(error, NoneInFolder(_) | Unknown { .. } | Empty(_))
}

struct Reader {
    pace: Pace,
    known: BTreeSet<(Format, String)>,
    refused: Vec<String>,
    nothing: Option<RecordingError>,
}

impl Reader {
    fn new() -> Self {
        Self { pace: Pace::new(), known: BTreeSet::new(), refused: Vec::new(), nothing: None }
    }

    fn path(
        &mut self,
        number: usize,
        path: &PathBuf,
        part: &mut Part,
        output: &mut Output,
    ) -> Result<(), RecordingError> {
        let read = recording::read_all(&[path], &mut |progress| match progress {
            Progress::Reading { file, read, bytes } if self.pace.is_due() => {
                let share = (read * 100).checked_div(bytes).unwrap_or(100);
                output.progress(&format!("reading {} ({share} %)", file.display()));
            }
            Progress::Reading { .. } => {}
            Progress::Refused(error) => self.refused.push(error.to_string()),
        });
        output.progress("");
        for recording in read? {
            part.found.entry(key(&recording)).or_insert(number);
            part.recordings.push(recording);
        }
        Ok(())
    }

    fn hand_on(
        &mut self,
        mut part: Part,
        output: &mut Output,
        take: &mut dyn FnMut(Part, &mut Output) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        part.recordings = recording::joined(part.recordings);
        part.recordings.retain(|recording| self.known.insert(key(recording)));
        if part.recordings.is_empty() { Ok(()) } else { take(part, output) }
    }
}

fn key(recording: &Recording) -> (Format, String) {
    (recording.format, recording.session.clone())
}
