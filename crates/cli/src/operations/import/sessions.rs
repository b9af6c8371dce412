//! Recorded sessions that a command line names or that were found, read in parts: each session once, even if several of
//! the files and folders contain it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use callstack_recordings::{Format, Progress, Recording, RecordingError};
use tempfile::TempDir;

pub(crate) use super::course::Course;
use crate::error::CommandError;
use crate::reporter::Reporter;

/// The share of reading in the work on a part.
const READING: f64 = 0.2;

/// Files and folders with sessions.
pub(crate) struct Sources {
    paths: Vec<PathBuf>,
    /// Ranges of paths that are read together, if they were found and not named. One that can't be read does not end
    /// the command.
    groups: Vec<Range<usize>>,
    /// The folder of exported sessions, which is removed once all are read.
    _exports: Option<TempDir>,
}

impl Sources {
    /// Returns sources from paths that a command line names.
    pub(crate) fn named(paths: Vec<PathBuf>) -> Self {
        Self { paths, groups: Vec::new(), _exports: None }
    }

    /// Returns sources from files that were found, in groups that are read together. Some of them may be in `exports`.
    pub(crate) fn found(groups: Vec<Vec<PathBuf>>, exports: TempDir) -> Self {
        let (mut paths, mut ranges) = (Vec::new(), Vec::new());
        for group in groups {
            let first = paths.len();
            paths.extend(group);
            ranges.push(first..paths.len());
        }
        Self { paths, groups: ranges, _exports: Some(exports) }
    }

    /// Returns the paths.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}

/// Sessions that were read together.
pub(crate) struct Part {
    /// The sessions; each that was started by another one comes after that one.
    pub(crate) recordings: Vec<Recording>,
    /// The index of the path by which each session was found.
    found: BTreeMap<(Format, String), usize>,
}

impl Part {
    fn new() -> Self {
        Self { recordings: Vec::new(), found: BTreeMap::new() }
    }

    /// Returns the index of the path by which a session was found.
    pub(crate) fn path_of(&self, recording: &Recording) -> usize {
        self.found.get(&key(recording)).copied().unwrap_or_default()
    }
}

/// A function that processes a part and reports its progress.
pub(crate) type Take<'a> =
    &'a mut dyn FnMut(Part, &mut Course, &mut dyn Reporter) -> Result<(), CommandError>;

/// Reads the sessions of files and folders and passes them on. Files that are named together are read together, since
/// their sessions may have started one another; a large folder is read in parts. Returns the reasons why files in
/// folders could not be read.
pub(crate) fn read(
    sources: &Sources,
    reporter: &mut dyn Reporter,
    take: Take<'_>,
) -> Result<Vec<String>, CommandError> {
    let mut reader = Reader {
        course: Course::new(sources.paths.iter().map(|path| size(path)).sum()),
        known: BTreeSet::new(),
        refused: Vec::new(),
        nothing: None,
    };
    if sources.groups.is_empty() {
        reader.named(&sources.paths, reporter, take)?;
    } else {
        reader.found(sources, reporter, take)?;
    }
    match reader.nothing.filter(|_| reader.known.is_empty()) {
        Some(error) => Err(error.into()),
        None => Ok(reader.refused),
    }
}

/// Returns the bytes of a file, or of all files in a folder and below; links are not followed.
fn size(path: &Path) -> u64 {
    let Ok(kind) = path.symlink_metadata() else { return 0 };
    if !kind.is_dir() {
        return kind.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}

/// Whether a path simply contains no session, as some may that a pattern such as `*` includes.
fn is_nothing(error: &RecordingError) -> bool {
    use RecordingError::{Empty, NoneInFolder, Unknown};
    matches!(error, NoneInFolder(_) | Unknown { .. } | Empty(_))
}

struct Reader {
    course: Course,
    known: BTreeSet<(Format, String)>,
    refused: Vec<String>,
    nothing: Option<RecordingError>,
}

impl Reader {
    fn named(
        &mut self,
        paths: &[PathBuf],
        reporter: &mut dyn Reporter,
        take: Take<'_>,
    ) -> Result<(), CommandError> {
        let numbered = paths.iter().enumerate();
        let (parts, together): (Vec<_>, Vec<_>) = numbered
            .map(|(number, path)| (number, callstack_recordings::parts(path)))
            .partition(|(_, parts)| parts.len() > 1);
        let together: Vec<_> = together
            .iter()
            .filter_map(|(number, parts)| Some((*number, parts.first()?.as_path())))
            .collect();
        let mut part = Part::new();
        self.course.begin(together.iter().map(|(_, path)| size(path)).sum());
        for (number, path) in together {
            match self.path(number, path, &mut part, reporter) {
                Err(error) if paths.len() > 1 && is_nothing(&error) => {
                    reporter.remark(&error.to_string());
                    self.nothing.get_or_insert(error);
                }
                other => other?,
            }
        }
        self.hand_on(part, reporter, take)?;
        for (number, paths) in parts {
            for path in paths {
                let mut part = Part::new();
                self.course.begin(size(&path));
                match self.path(number, &path, &mut part, reporter) {
                    Err(RecordingError::NoneInFolder(_)) => {}
                    other => other?,
                }
                self.hand_on(part, reporter, take)?;
            }
        }
        Ok(())
    }

    fn found(
        &mut self,
        sources: &Sources,
        reporter: &mut dyn Reporter,
        take: Take<'_>,
    ) -> Result<(), CommandError> {
        for group in &sources.groups {
            let mut part = Part::new();
            let paths = || group.clone().filter_map(|at| Some((at, sources.paths.get(at)?)));
            self.course.begin(paths().map(|(_, path)| size(path)).sum());
            for (number, path) in paths() {
                if let Err(error) = self.path(number, path, &mut part, reporter) {
                    self.refused.push(error.to_string());
                }
            }
            self.hand_on(part, reporter, take)?;
        }
        Ok(())
    }

    fn path(
        &mut self,
        number: usize,
        path: &Path,
        part: &mut Part,
        reporter: &mut dyn Reporter,
    ) -> Result<(), RecordingError> {
        let (course, refused) = (&mut self.course, &mut self.refused);
        let read = callstack_recordings::read_all(&[path], &mut |progress| match progress {
            Progress::Reading { file, read, bytes } if course.is_due() => {
                let share = if bytes > 0 { read as f64 / bytes as f64 } else { 1.0 };
                let line = format!("reading {} ({:.0} %)", file.display(), share * 100.0);
                reporter.progress(&course.line(&line, 0.0));
            }
            Progress::Reading { .. } => {}
            Progress::Refused(error) => refused.push(error.to_string()),
        });
        reporter.progress("");
        for recording in read? {
            part.found.entry(key(&recording)).or_insert(number);
            part.recordings.push(recording);
        }
        Ok(())
    }

    fn hand_on(
        &mut self,
        mut part: Part,
        reporter: &mut dyn Reporter,
        take: Take<'_>,
    ) -> Result<(), CommandError> {
        part.recordings = callstack_recordings::joined(part.recordings);
        part.recordings.retain(|recording| self.known.insert(key(recording)));
        if part.recordings.is_empty() {
            return Ok(());
        }
        self.course.has_read(READING);
        take(part, &mut self.course, reporter)
    }
}

fn key(recording: &Recording) -> (Format, String) {
    (recording.format, recording.session.clone())
}
