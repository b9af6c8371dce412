//! The log of callstack's work in a project: `callstack.log` in the store's folder, a line for each event, such as
//! `[2026-01-15T10:30:00.000Z] [stack] Frame created { … }`.
//!
//! Several processes append to it. A line that can't be written is left out: no work waits for its log.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callstack_core::control::escape_json;
use callstack_core::dialect::Dialect;
use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::log_line::LogLine;
use callstack_store::{Distrust, StoreError, Trusted, open_plain, share_file_in};
use jiff::Timestamp;
use serde_json::Value;

use crate::error::{EngineError, Kind};
use crate::hint::Hint;
use crate::lock::lock;

/// The file's name in the store's folder.
const FILE: &str = "callstack.log";
/// The name of a full log; the one before is deleted.
const OLDER: &str = "callstack.log.1";
/// Bytes after which a new file is begun.
const FULL: u64 = 4 * 1024 * 1024;

/// The log of a process.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    sink: Arc<Mutex<Sink>>,
}

#[derive(Debug)]
struct Sink {
    trusted: Arc<Trusted>,
    folder: PathBuf,
    enabled: bool,
    /// The prefix of each line, such as `[stack]`.
    prefix: &'static str,
    /// The file, and the folder that it was opened in.
    file: Option<(File, Option<File>)>,
    /// The length of the file after the last line of this process: others may have appended since.
    length: u64,
}

impl Log {
    pub(crate) fn new(trusted: &Arc<Trusted>, enabled: bool, dialect: Dialect) -> Self {
        let (trusted, folder) = (Arc::clone(trusted), trusted.folder());
        let prefix = dialect.log_prefix();
        let sink = Sink { trusted, folder, enabled, prefix, file: None, length: 0 };
        Self { sink: Arc::new(Mutex::new(sink)) }
    }

    /// Returns an observer that logs every change, once it is on the disk.
    pub(crate) fn observer(&self) -> impl Fn(&[(i64, Event)]) + Send + Sync + 'static {
        let log = self.clone();
        move |events| {
            for (at, event) in events {
                if let Some(line) = LogLine::of(event) {
                    log.write(*at, &line);
                }
            }
        }
    }

    /// Appends a line about the time `at`, in milliseconds since 1970.
    pub(crate) fn write(&self, at: i64, line: &LogLine) {
        let mut sink = lock(&self.sink);
        if sink.enabled {
            // A full disk is reported by writes that matter, not by the log.
            let line = format!("[{}] {} {line}\n", timestamp(at), sink.prefix);
            drop(sink.append(&line));
        }
    }

    /// Drops lines about some frames, and about the work in a session. Lines that another process appends meanwhile
    /// may go with them.
    pub(crate) fn forget(
        &self,
        frames: &BTreeSet<FrameNum>,
        session: Option<&str>,
    ) -> Result<(), EngineError> {
        let mut sink = lock(&self.sink);
        sink.length = 0;
        let field = |name: &str, value: &str| {
            format!("{name}: {}", escape_json(&Value::from(value).to_string()))
        };
        let frames = frames.iter().map(|frame| field("frame", &frame.to_string()));
        let fields: Vec<_> = frames.chain(session.map(|it| field("sessionID", it))).collect();
        for file in [FILE, OLDER] {
            let path = sink.folder.join(file);
            let mut file = match open_plain(OpenOptions::new().read(true).write(true), &path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unwritable(&path, error)),
            };
            let failed = |error| unwritable(&path, error);
            let mut text = Vec::new();
            file.read_to_end(&mut text).map_err(failed)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            let lines = text.split_inclusive('\n');
            let kept: String =
                lines.filter(|line| !fields.iter().any(|name| line.contains(name))).collect();
            if kept.len() < text.len() {
                // In place: other processes have it open.
                file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
                file.write_all(kept.as_bytes()).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Goes on with the file that is at its path now.
    pub(crate) fn reopen(&self) {
        lock(&self.sink).file = None;
    }

    pub(crate) fn enable(&self, enabled: bool) {
        lock(&self.sink).enabled = enabled;
    }
}

impl Sink {
    fn append(&mut self, line: &str) -> std::io::Result<()> {
        let path = self.folder.join(FILE);
        let known = self.file.take();
        if let Some((_, Some(folder))) = &known
            && !is_at(&self.folder, folder)
        {
            // It is not known yet which store has taken the place of this one.
            self.file = known;
            return Ok(());
        }
        let known = known.filter(|(file, _)| is_at(&path, file));
        let is_known = known.is_some();
        match self.trusted.refuse_tracked(Duration::ZERO) {
            // A commit would take along what is written to a file that git tracks.
            Err(StoreError::Distrusted(Distrust::Tracked { .. })) => return Ok(()),
            // What was open before git began its work can still be written.
            Err(_) if !is_known => return Ok(()),
            _ => {}
        }
        let (mut file, folder) = match known {
            Some(known) => known,
            None => (open(&path)?, File::open(&self.folder).ok()),
        };
        if is_known && file.metadata()?.len() < self.length {
            let cut = LogLine::new("Log cut short").with("bytesBefore", self.length);
            file.write_all(format!("{} {} {cut}\n", begin(line), self.prefix).as_bytes())?;
        }
        // One call a line: lines of several processes do not mix.
        file.write_all(line.as_bytes())?;
        self.length = file.metadata()?.len();
        if self.length < FULL {
            self.file = Some((file, folder));
            return Ok(());
        }
        // Another process may have begun a new file, while this one still held the full one.
        if fs::metadata(&path)?.len() >= FULL {
            fs::rename(path, self.folder.join(OLDER))?;
        }
        Ok(())
    }
}

/// Whether a file is still the one at its path: somebody may have removed it.
#[cfg(unix)]
fn is_at(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (fs::symlink_metadata(path).map(id), file.metadata().map(id)) {
        (Ok(there), Ok(open)) => there == open,
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(path: &Path, _file: &File) -> bool {
    path.exists()
}

/// The time at which a line begins.
fn begin(line: &str) -> &str {
    line.split_inclusive(']').next().unwrap_or_default()
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    let file = open_plain(&mut options, path)?;
    share_file_in(path.parent().unwrap_or(path), &file);
    Ok(file)
}

fn timestamp(at: i64) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Why a log can't be written.
pub(crate) fn unwritable(path: &Path, error: io::Error) -> EngineError {
    EngineError::new(Kind::Unavailable, format!("{} can't be written: {error}", path.display()))
        .with_hint(
            Hint::from("What was said is safe in the store, where ")
                .and("stack_log")
                .then(" reads it. Free some space or make the folder writable."),
        )
        .caused_by(error)
}
