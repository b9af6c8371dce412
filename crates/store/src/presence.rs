//! Checks that the files of an open database are still those at its path: somebody may delete or replace them while a
//! process writes to the old ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::checkpoint::{self, Explained, Stamp};
use crate::handle::{FileId, LogFiles};
use crate::trust::ID;

/// The files of a database as they were when it was opened.
#[derive(Debug)]
pub(crate) struct Presence {
    database: FileId,
    /// The state in which the database was last found.
    pub(crate) stamp: Stamp,
    /// The files that were found not to be a whole store.
    pub(crate) refused: Option<Stamp>,
    /// The mark of the store, if there was one.
    mark: Option<Stamp>,
    /// The write-ahead log and its index. They stay as long as any process has the database open.
    logs: Arc<LogFiles>,
}

/// The way in which the files are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// There is no file at the path.
    Missing,
    /// Nothing is in the file.
    Emptied,
    /// Another file has its path.
    Replaced,
    /// Somebody has written to the file itself.
    Overwritten,
    /// The mark of the store is not there any more, or is another one.
    Unmarked,
    /// The write-ahead log or its index is not there any more.
    WithoutLog,
}

impl Presence {
    /// Returns the files of a database that has just been opened. `is_fresh` if its write-ahead log was empty before.
    /// None if its file can't be read.
    pub(crate) fn of(
        path: &Path,
        database: FileId,
        logs: Arc<LogFiles>,
        is_fresh: bool,
    ) -> Option<Self> {
        let stamp = checkpoint::stamp_at_opening(path, is_fresh);
        let stamp = stamp.or_else(|_| Stamp::at(path)).ok()?;
        Some(Self { database, stamp, refused: None, mark: mark(path), logs })
    }

    /// Returns the way in which the files are missing; none if they are all there. Waits up to `patience` for a
    /// checkpoint that is being taken.
    pub(crate) fn absence(&mut self, path: &Path, patience: Duration) -> Option<Absence> {
        let Ok(metadata) = fs::metadata(path) else { return Some(Absence::Missing) };
        if FileId::of(&metadata) != Some(self.database) {
            return Some(Absence::Replaced);
        }
        if metadata.len() == 0 {
            return Some(Absence::Emptied);
        }
        let stamp = Stamp::of(&metadata);
        if stamp != self.stamp {
            match checkpoint::explains(path, stamp, patience) {
                Explained::Wholly => self.stamp = stamp,
                Explained::UnderWay => {}
                Explained::Not | Explained::Unknown => return Some(Absence::Overwritten),
            }
        }
        if self.is_without_log(path) {
            return Some(Absence::WithoutLog);
        }
        (self.mark.is_some() && mark(path) != self.mark).then_some(Absence::Unmarked)
    }

    /// Expects a mark, also where it was just deleted: the store is without one then.
    pub(crate) fn expect_mark(&mut self) {
        self.mark.get_or_insert(Stamp::NONE);
    }

    /// Takes the mark that is there now for the store's.
    pub(crate) fn accept_mark(&mut self, path: &Path) {
        self.mark = mark(path);
    }

    /// The write-ahead log.
    pub(crate) fn log(&self) -> FileId {
        self.logs[0]
    }

    /// Whether the write-ahead log or its index is not at its path.
    pub(crate) fn is_without_log(&self, path: &Path) -> bool {
        logs_at(path) != self.logs.map(Some)
    }

    /// Whether another write-ahead log was begun beside the database.
    pub(crate) fn has_other_log(&self, path: &Path) -> bool {
        let [log, _] = beside(path);
        let is_empty = fs::metadata(&log).map_or(true, |metadata| metadata.len() == 0);
        !is_empty && id(&log) != Some(self.logs[0])
    }
}

/// The write-ahead log and its index that are beside a database now.
pub(crate) fn logs_at(path: &Path) -> [Option<FileId>; 2] {
    beside(path).map(|path| id(&path))
}

/// The paths of a database's write-ahead log and of the index of that.
pub(crate) fn beside(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    })
}

/// The path of a database's rollback journal.
pub(crate) fn journal(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-journal");
    PathBuf::from(name)
}

/// The paths of a database and of all files that SQLite makes beside it.
pub(crate) fn files_of(path: &Path) -> [PathBuf; 4] {
    let [log, index] = beside(path);
    [path.to_path_buf(), log, index, journal(path)]
}

/// The file that marks the store, as it is now.
fn mark(path: &Path) -> Option<Stamp> {
    Stamp::at(&path.with_file_name(ID)).ok()
}

/// The file that is at a path now.
pub(crate) fn id(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().as_ref().and_then(FileId::of)
}
