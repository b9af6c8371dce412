//! Recordings on the disk: files, the files beside them that belong to them, and folders.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use callstack_core::json::mended;
use callstack_plain_files as plain;

use super::{
    Format, Recording, RecordingError, claude_code, codex, detect, lines, link, mini_swe_agent,
    opencode, pi, swe_agent, tools,
};

/// Progress of reading recordings.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A file is being read. Told again and again while it is long.
    Reading {
        /// The file.
        file: &'a Path,
        /// How many bytes of it were read.
        read: u64,
        /// How many it has.
        bytes: u64,
    },
    /// A file of a folder is a session and could not be read; the others go on.
    Refused(&'a RecordingError),
}

/// Bytes after which progress is reported again.
const STEP: u64 = 4 * 1024 * 1024;

/// Reads the sessions of a file with the subagents that lie beside it, or of a folder and those in it. Sessions that
/// were started by others come last.
pub fn read(path: &Path) -> Result<Vec<Recording>, RecordingError> {
    read_all(&[path], &mut |_| {})
}

/// [`read`] for several files and folders, whose sessions may have started one another; reports progress.
pub fn read_all(
    paths: &[impl AsRef<Path>],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Recording>, RecordingError> {
    let mut recordings = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let found = found(path, progress)?;
        if found.is_empty() {
            return Err(RecordingError::NoneInFolder(path.to_owned()));
        }
        recordings.extend(found);
    }
    Ok(joined(recordings))
}

/// Sessions that were read one after the other and may have started one another: each once, and those that were
/// started by others last.
pub fn joined(recordings: Vec<Recording>) -> Vec<Recording> {
    let mut recordings = once_each(recordings);
    link::link(&mut recordings);
    recordings.sort_by_key(|recording| recording.parent.is_some());
    recordings
}

/// The parts of a folder that can be read one after the other: where it holds nothing but folders, these.
/// Agents keep each project's or each day's sessions in a folder of their own, and sessions that started
/// one another together.
pub fn parts(path: &Path) -> Vec<PathBuf> {
    let inside = sorted(path);
    let inside = inside.iter().filter(|path| !is_hidden(path));
    let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) = inside.partition(|it| is_folder(it));
    if folders.is_empty() || !files.is_empty() {
        return vec![path.to_owned()];
    }
    folders.into_iter().flat_map(|folder| parts(folder)).collect()
}

fn found(
    path: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Recording>, RecordingError> {
    let kind = std::fs::metadata(path).map_err(|source| io_error(path, source))?;
    if kind.is_dir() {
        return folder(path, progress);
    }
    let mut recordings = file(path, progress)?;
    let beside = beside(path, &recordings, progress);
    recordings.extend(beside);
    Ok(recordings)
}

/// Whether a file is a recorded session, by its content, or a folder holds one; else a file is JSON of another kind.
/// An error where it is a session that can't be read, or nothing of these.
pub fn is_recording(path: &Path) -> Result<bool, RecordingError> {
    if path.is_dir() {
        let mut files = Vec::new();
        files_in(path, &mut files);
        let found = files.iter().any(|file| detect::detect(file).is_ok());
        return if found { Ok(true) } else { Err(RecordingError::NoneInFolder(path.to_owned())) };
    }
    match detect::detect(path) {
        Ok(_) => Ok(true),
        Err(RecordingError::Unknown { found: detect::OTHER_JSON | detect::HALF_JSON, .. }) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Keeps one copy of each session that was found in several places, such as a subagent in its own file and in its
/// parent's progress records: the one with the most content.
fn once_each(recordings: Vec<Recording>) -> Vec<Recording> {
    let mut known: BTreeMap<(Format, String), usize> = BTreeMap::new();
    let mut kept: Vec<Recording> = Vec::new();
    for recording in recordings {
        let key = (recording.format, recording.session.clone());
        let Some(place) = known.get(&key) else {
            known.insert(key, kept.len());
            kept.push(recording);
            continue;
        };
        let (more, mut less) = (&mut kept[*place], recording);
        if less.messages.len() > more.messages.len() {
            std::mem::swap(more, &mut less);
        }
        if more.parent.as_ref().is_none_or(|it| it.call.is_none()) {
            more.parent = less.parent.or(more.parent.take());
        }
    }
    kept
}

fn file(
    path: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Recording>, RecordingError> {
    let found = detect::detect(path)?;
    let io = |source| io_error(path, source);
    let file = plain::open_named(path).map_err(io)?;
    let bytes = file.metadata().map_err(io)?.len();
    progress(Progress::Reading { file: path, read: 0, bytes });
    let counted = Counted { file, path, bytes, read: 0, progress };
    let from = BufReader::with_capacity(256 * 1024, counted);
    let recordings = of_format(found, path, from)?;
    let mut recordings: Vec<Recording> =
        recordings.into_iter().filter(|recording| !recording.messages.is_empty()).collect();
    recordings.iter_mut().filter(|it| it.session.is_empty()).for_each(give_id);
    if recordings.is_empty() {
        return Err(RecordingError::NoMessages(path.to_owned()));
    }
    Ok(recordings)
}

/// A session without an id gets one of its first record, which stays as the session grows.
fn give_id(recording: &mut Recording) {
    let first = recording.messages.iter().find_map(|message| message.records.first());
    let id = tools::id_of(first.map_or("", String::as_str));
    recording.session = format!("{}-{id}", recording.format.host());
}

fn of_format(
    found: detect::Found,
    path: &Path,
    from: impl BufRead,
) -> Result<Vec<Recording>, RecordingError> {
    /// Bytes of the largest document that is read, since all of it is in memory meanwhile.
    const LARGEST: u64 = 1024 * 1024 * 1024;
    let io = |source| io_error(path, source);
    let document = match found.format {
        Format::ClaudeCode => return claude_code::read(from).map_err(io),
        Format::Codex if found.is_document => codex::read_document,
        Format::Codex => return codex::read(from).map_err(io),
        Format::Pi => return pi::read(from).map_err(io),
        Format::OpenCode => opencode::read,
        Format::SweAgent => swe_agent::read,
        Format::MiniSweAgent => mini_swe_agent::read,
    };
    let Some(bytes) = whole(from, LARGEST).map_err(io)? else {
        return Err(RecordingError::TooLarge(path.to_owned()));
    };
    let text = String::from_utf8_lossy(lines::without_mark(&bytes));
    document(&text)
        .or_else(|error| document(&mended(&text)).map_err(|_| error))
        .map_err(|source| RecordingError::Damaged { path: path.to_owned(), source })
}

/// Reads a file to its end; none if that has more than `most` bytes.
fn whole(from: impl BufRead, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// Subagents' files that lie beside a session's file: in a folder of its name, or next to it.
fn beside(
    path: &Path,
    recordings: &[Recording],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Vec<Recording> {
    if !recordings.iter().any(|it| it.format == Format::ClaudeCode && it.parent.is_none()) {
        return Vec::new();
    }
    let started_here = |session: &str| recordings.iter().any(|it| it.session == session);
    let mut files = Vec::new();
    files_in(&path.with_extension(""), &mut files);
    for sibling in sorted(path.parent().unwrap_or(path)) {
        let named =
            sibling.file_name().is_some_and(|it| it.to_string_lossy().starts_with("agent-"));
        if named && sibling != path && session_of(&sibling).is_some_and(|it| started_here(&it)) {
            files.push(sibling);
        }
    }
    let mut found = Vec::new();
    for path in files {
        match file(&path, progress) {
            Ok(read) => found.extend(read.into_iter().filter(|recording| {
                recording.parent.as_ref().is_some_and(|parent| started_here(&parent.session))
            })),
            Err(error) => refuse(&error, progress),
        }
    }
    found
}

/// The session that the first line of a file names.
fn session_of(path: &Path) -> Option<String> {
    let mut line = Vec::new();
    lines::next(&mut BufReader::new(plain::open_named(path).ok()?), &mut line).ok()?;
    let first = lines::value(&String::from_utf8_lossy(lines::without_mark(&line))).ok()?;
    Some(first["sessionId"].as_str()?.to_owned())
}

fn folder(
    path: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Recording>, RecordingError> {
    std::fs::read_dir(path).map_err(|source| io_error(path, source))?;
    let mut files = Vec::new();
    files_in(path, &mut files);
    let mut recordings = Vec::new();
    for path in files {
        match file(&path, progress) {
            Ok(found) => recordings.extend(found),
            Err(error) => refuse(&error, progress),
        }
    }
    Ok(recordings)
}

/// Reports a file that can't be read. A folder holds other files too: those that are no session at all are not
/// reported.
fn refuse(error: &RecordingError, progress: &mut dyn FnMut(Progress<'_>)) {
    if !matches!(error, RecordingError::Unknown { .. } | RecordingError::Empty(_)) {
        progress(Progress::Refused(error));
    }
}

/// The files of a folder and of those in it, without hidden ones; links to folders are not followed.
pub(super) fn files_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in sorted(folder).into_iter().filter(|path| !is_hidden(path)) {
        if is_folder(&path) {
            files_in(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|it| it.to_string_lossy().starts_with('.'))
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|kind| kind.is_dir())
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    paths.sort();
    paths
}

fn io_error(path: &Path, source: io::Error) -> RecordingError {
    RecordingError::Io { path: path.to_owned(), source }
}

/// A file that reports how far it was read.
struct Counted<'a> {
    file: File,
    path: &'a Path,
    bytes: u64,
    read: u64,
    progress: &'a mut dyn FnMut(Progress<'_>),
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        let before = self.read / STEP;
        self.read += read as u64;
        if self.read / STEP > before {
            let (file, read, bytes) = (self.path, self.read, self.bytes);
            (self.progress)(Progress::Reading { file, read, bytes });
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_up_to_a_limit() {
        assert_eq!(whole(&b"abc"[..], 3).unwrap().as_deref(), Some(&b"abc"[..]));
        assert_eq!(whole(&b"abcd"[..], 3).unwrap(), None);
    }
}
