//! Whether the files of an open database are still those at its path: somebody may delete or replace them under a
//! process that goes on writing where nobody will ever read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::handle::FileId;

/// The files of a database as they were when it was opened.
#[derive(Debug)]
pub(crate) struct Presence {
    database: FileId,
    /// The write-ahead log and its index, with their paths. They stay as long as anybody has the database open.
    beside: Vec<(PathBuf, FileId)>,
}

/// What became of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// There is no file at the path.
    Missing,
    /// Nothing is in the file.
    Emptied,
    /// Another file has its path.
    Replaced,
    /// The write-ahead log or its index is not there any more.
    WithoutLog,
}

impl Presence {
    /// The files of a database that has just been opened. None where the system does not tell files apart.
    pub(crate) fn of(path: &Path, database: Option<FileId>) -> Option<Self> {
        let beside = beside(path);
        let beside = beside.into_iter().filter_map(|path| id(&path).map(|id| (path, id)));
        Some(Self { database: database?, beside: beside.collect() })
    }

    /// What has become of the files; none if they are all there.
    pub(crate) fn absence(&self, path: &Path) -> Option<Absence> {
        let Ok(metadata) = fs::metadata(path) else { return Some(Absence::Missing) };
        if FileId::of(&metadata) != Some(self.database) {
            return Some(Absence::Replaced);
        }
        if metadata.len() == 0 {
            return Some(Absence::Emptied);
        }
        let is_there = |(path, known): &(PathBuf, FileId)| id(path) == Some(*known);
        (!self.beside.iter().all(is_there)).then_some(Absence::WithoutLog)
    }

    /// Whether another write-ahead log was begun beside the database.
    pub(crate) fn has_other_log(&self, path: &Path) -> bool {
        let [log, _] = beside(path);
        let known = self.beside.iter().find(|(path, _)| *path == log).map(|(_, id)| *id);
        let is_empty = fs::metadata(&log).map_or(true, |metadata| metadata.len() == 0);
        !is_empty && id(&log) != known
    }
}

/// The paths of a database's write-ahead log and of the index of that.
pub(crate) fn beside(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    })
}

/// The file that is at a path now.
pub(crate) fn id(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().as_ref().and_then(FileId::of)
}
