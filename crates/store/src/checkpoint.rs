//! Writes the content of the write-ahead log back into the database. One process at a time does that, and records the
//! state in which it leaves the file: if the file is found in another state, somebody else has written to it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use rusqlite::{Connection, Row};

use crate::kept::forget_log;
use crate::plain::open_plain;
use crate::presence::Presence;
use crate::sharing::share;

/// The note, in the store's folder. Locked while a checkpoint is taken.
pub(crate) const NOTE: &str = "callstack.db-checkpoint";
/// The log is written back once it has so many pages, as in SQLite.
pub(crate) const FULL: i32 = 1_000;

/// The state in which a database file was left: every write to it changes this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    bytes: u64,
    /// In nanoseconds since 1970.
    modified: u128,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let inode = 0;
        let modified = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        let modified = modified.map_or(0, |it| it.as_nanos());
        Self { inode, bytes: metadata.len(), modified }
    }

    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&fs::metadata(path)?))
    }

    /// The state of no file.
    pub(crate) const NONE: Self = Self { inode: 0, bytes: 0, modified: 0 };

    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ');
        let stamp = Self {
            inode: numbers.next()?.parse().ok()?,
            bytes: numbers.next()?.parse().ok()?,
            modified: numbers.next()?.parse().ok()?,
        };
        numbers.next().is_none().then_some(stamp)
    }
}

/// The content of the note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// Nothing that can be read.
    Nothing,
    /// A checkpoint was begun. If nobody holds the lock, its process has ended in the middle of it.
    Begun,
    /// The file was left so.
    Left(Stamp),
}

/// The note, locked until it is dropped.
#[derive(Debug)]
pub(crate) struct Note(File);

impl Note {
    /// Locks the note of a database, making it if it is not there; none if somebody else holds it for longer than
    /// `patience`.
    pub(crate) fn lock(database: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = open_plain(&mut options, &path_of(database))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(fs::TryLockError::Error(error)) => return Err(error),
                Err(fs::TryLockError::WouldBlock) if begun.elapsed() >= patience => {
                    return Ok(None);
                }
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        Ok(Some(Self(file)))
    }

    pub(crate) fn read(&mut self) -> Noted {
        read(&mut self.0)
    }

    /// Whether a database is in the state that its user last saw, or in the recorded one.
    fn knows(&mut self, database: &Path, presence: &Presence) -> bool {
        Stamp::at(database)
            .is_ok_and(|found| found == presence.stamp || self.read() == Noted::Left(found))
    }

    /// Notes that the database is left as it is now.
    pub(crate) fn leave(&mut self, database: &Path) -> io::Result<Stamp> {
        let metadata = fs::metadata(database)?;
        let stamp = Stamp::of(&metadata);
        share(&self.0, &metadata);
        self.write(&format!("left {} {} {}\n", stamp.inode, stamp.bytes, stamp.modified))?;
        Ok(stamp)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.0.rewind()?;
        self.0.write_all(text.as_bytes())?;
        self.0.set_len(text.len() as u64)
    }
}

fn path_of(database: &Path) -> PathBuf {
    database.with_file_name(NOTE)
}

fn read(file: &mut File) -> Noted {
    let mut text = String::new();
    if file.rewind().and_then(|()| file.take(200).read_to_string(&mut text)).is_err() {
        return Noted::Nothing;
    }
    match text.strip_suffix('\n') {
        Some("begun") => Noted::Begun,
        Some(text) => {
            let left = text.strip_prefix("left ").and_then(Stamp::parse);
            left.map_or(Noted::Nothing, Noted::Left)
        }
        None => Noted::Nothing,
    }
}

/// Returns the state of a database when a process opens it. `is_fresh` if its write-ahead log was empty: the database
/// then holds everything.
pub(crate) fn stamp_at_opening(database: &Path, is_fresh: bool) -> io::Result<Stamp> {
    let Some(mut note) = Note::lock(database, Duration::from_secs(1))? else {
        return Stamp::at(database);
    };
    match note.read() {
        Noted::Left(stamp) if !is_fresh => Ok(stamp),
        _ => note.leave(database),
    }
}

/// Whether a database that nobody has open is known to be another one than the last checkpoint left.
pub(crate) fn has_changed(database: &Path) -> bool {
    let note = open_plain(OpenOptions::new().read(true), &path_of(database));
    let left = match note.map(|mut note| read(&mut note)) {
        Ok(Noted::Left(stamp)) => Some(stamp),
        Ok(Noted::Begun | Noted::Nothing) | Err(_) => None,
    };
    left.is_some_and(|left| Stamp::at(database).is_ok_and(|found| found != left))
}

/// Whether a checkpoint explains that a database is not in its known state.
pub(crate) fn explains(database: &Path, found: Stamp, patience: Duration) -> Explained {
    let text = open_plain(OpenOptions::new().read(true), &path_of(database));
    match text.map(|mut file| read(&mut file)) {
        Ok(Noted::Left(stamp)) if stamp == found => return Explained::Wholly,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Explained::Wholly,
        _ => {}
    }
    match Note::lock(database, patience) {
        Ok(None) => Explained::UnderWay,
        Err(_) => Explained::Wholly,
        Ok(Some(mut note)) => match (note.read(), Stamp::at(database)) {
            (Noted::Left(stamp), Ok(found)) if stamp == found => Explained::Wholly,
            (Noted::Begun, _) => {
                // If this fails, the next check records it.
                drop(note.leave(database));
                Explained::Wholly
            }
            (Noted::Nothing, _) => Explained::Unknown,
            _ => Explained::Not,
        },
    }
}

/// See [`explains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explained {
    /// It was, or nobody can know.
    Wholly,
    /// One is being taken, and was not over in time.
    UnderWay,
    /// Nothing was noted.
    Unknown,
    /// Somebody else has written to it.
    Not,
}

/// Takes a checkpoint, unless another process does or the file is not in the recorded state. The caller has the turn
/// and has just checked the files. Returns whether all of the log is written back: pages that are read just now are not.
pub(crate) fn take(connection: &Connection, database: &Path, presence: &mut Presence) -> bool {
    let pages = |row: &Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    let take = || connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], pages);
    let taken = noting(database, presence, Duration::ZERO, take);
    taken.is_some_and(|taken| taken.is_ok_and(|(logged, written)| logged == written))
}

/// Writes the content of the write-ahead log back and truncates it. False while somebody reads it.
pub(crate) fn empty_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
        .map(|busy| busy == 0)
}

/// Runs something that writes to the database itself. None if it was not run, because another process takes a
/// checkpoint or the file is not in the recorded state.
pub(crate) fn noting<T>(
    database: &Path,
    presence: &mut Presence,
    patience: Duration,
    act: impl FnOnce() -> T,
) -> Option<T> {
    let mut note = match Note::lock(database, patience) {
        Ok(note) => note?,
        // Without a note others check the file more closely.
        Err(_) => return Some(act()),
    };
    if !note.knows(database, presence) {
        return None;
    }
    drop(note.write("begun\n"));
    let done = act();
    if let Ok(stamp) = note.leave(database) {
        presence.stamp = stamp;
    }
    Some(done)
}

/// A connection that is being closed. SQLite takes a checkpoint by itself when the last one is closed, and may be
/// killed or run out of space in the middle of it.
#[derive(Debug)]
pub(crate) struct Closing {
    note: Note,
    database: PathBuf,
    /// The hard link to the log.
    kept_log: Option<PathBuf>,
}

impl Closing {
    /// Records that a checkpoint may follow, until the result is dropped. None if another process takes one, since
    /// this connection is not the last one then, or if the file is not in the recorded state.
    pub(crate) fn begin(
        database: &Path,
        presence: &Presence,
        kept_log: Option<PathBuf>,
    ) -> Option<Self> {
        // Another connection of this process may be closing at the moment.
        const PATIENCE: Duration = Duration::from_millis(50);
        let mut note = Note::lock(database, PATIENCE).ok()??;
        if !note.knows(database, presence) {
            return None;
        }
        note.write("begun\n").ok()?;
        Some(Self { note, database: database.to_path_buf(), kept_log })
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        // Where this fails, the note says that one was begun.
        drop(self.note.leave(&self.database));
        if let Some(kept_log) = &self.kept_log {
            forget_log(kept_log, &self.database);
        }
    }
}
