//! The facts about a store that are known without opening it, for somebody who decides whether to trust it.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::{
    DatabaseKey, Distrust, LogKey, LogOrigin, Record, Registry, StoreId, check_key, id_of, log,
    resolved, store_folder,
};
use crate::connect::unchanging;
use crate::error::StoreError;
use crate::locate::{DATABASE, FOLDER};
use crate::schema::refuse_code;

/// The most files of a folder that are read.
const MOST: u64 = 100_000;

/// A part of a store that somebody else may have put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Its database is not the one that is on record.
    Database,
    /// The write-ahead log beside its database has no mark of the store's.
    Log,
}

/// A store as it looks from outside.
#[derive(Debug)]
pub struct Inspection {
    /// The project it lies in.
    pub project: PathBuf,
    /// Its id, if it has one.
    pub id: Option<StoreId>,
    /// Where a store of this id is on record.
    pub record: Option<Record>,
    /// Whether it is trusted as it is.
    pub is_trusted: bool,
    /// The part of it that is not the store's own.
    pub foreign: Option<Foreign>,
    /// How many files there are in it, and their bytes.
    pub files: (u64, u64),
    /// The bytes of the database, if there is one.
    pub database: Option<u64>,
    /// Whether there is a repository of states of files, as older versions kept it there.
    pub has_git: bool,
    /// When something in the folder was last changed, in milliseconds since 1970.
    pub changed: Option<i64>,
    /// The user who owns the folder, where the system knows of owners.
    pub owner: Option<u32>,
    /// The obstacle to taking it over.
    pub obstacle: Option<Distrust>,
}

impl Registry {
    /// Looks at a project's store; none if there is none.
    pub fn inspect(&self, project: &Path) -> Result<Option<Inspection>, StoreError> {
        let project = resolved(project)?;
        let folder = project.join(FOLDER);
        let failed = |source| StoreError::Io { path: folder.clone(), source };
        let metadata = match fs::symlink_metadata(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata.map_err(failed)?,
        };
        let mut obstacle = match store_folder::at(&project) {
            Err(StoreError::Distrusted(distrust)) => Some(distrust),
            looked => looked.map(|_| None)?,
        };
        let (mut id, mut record) = (None, None);
        if obstacle.is_none() {
            obstacle = match self.check_tracked(&project) {
                Err(StoreError::Distrusted(distrust)) => Some(distrust),
                checked => checked.map(|()| None)?,
            };
            if obstacle.is_none() {
                obstacle = code_in(&folder.join(DATABASE));
            }
            id = id_of(&project)?;
            record = id.as_ref().map(|id| self.records.read(id)).transpose()?.flatten();
        }
        let is_recorded = record.as_ref().is_some_and(|record| record.project == project);
        let foreign = match &record {
            // Also where the project was moved.
            Some(record) if obstacle.is_none() => {
                self.foreign(&folder.join(DATABASE), &record.id)?
            }
            _ => None,
        };
        let mut files = (0, 0);
        let mut changed = time(&metadata);
        // No link is followed.
        if metadata.is_dir() {
            count(&folder, &mut files, &mut changed);
        }
        Ok(Some(Inspection {
            is_trusted: obstacle.is_none() && is_recorded && foreign.is_none(),
            foreign,
            id,
            record,
            files,
            database: fs::symlink_metadata(folder.join(DATABASE)).ok().map(|file| file.len()),
            has_git: fs::symlink_metadata(folder.join("git")).is_ok_and(|it| it.is_dir()),
            changed,
            owner: owner(&metadata),
            obstacle,
            project,
        }))
    }
}

impl Registry {
    /// Returns the part of a recorded store with the database at `path` that is not its own.
    fn foreign(&self, path: &Path, id: &StoreId) -> Result<Option<Foreign>, StoreError> {
        let Some(key) = self.records.key(id)? else { return Ok(None) };
        if is_other_database(path, &key) {
            return Ok(Some(Foreign::Database));
        }
        let key = LogKey::recorded(key, path, &self.records.folder_of(id));
        Ok((log::origin(path, &key)? == LogOrigin::Foreign).then_some(Foreign::Log))
    }
}

/// Returns the trigger or view for which a database is refused. A log beside it is not read.
pub(super) fn code_in(path: &Path) -> Option<Distrust> {
    match refuse_code(&opened(path).ok()?, path) {
        Err(StoreError::Distrusted(distrust)) => Some(distrust),
        _ => None,
    }
}

/// Opens a database as it is without its log.
fn opened(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(unchanging(path), flags)
}

/// Whether a database is another one than that with the key on record. Of one that can't be read nobody says so. A log
/// beside it is not read.
fn is_other_database(path: &Path, key: &DatabaseKey) -> bool {
    opened(path).is_ok_and(|connection| {
        matches!(check_key(&connection, path, Some(key)), Err(StoreError::Distrusted(_)))
    })
}

/// Counts the files in a folder, of which some may come and go.
fn count(folder: &Path, files: &mut (u64, u64), changed: &mut Option<i64>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        *changed = (*changed).max(time(&metadata));
        if metadata.is_dir() {
            count(&entry.path(), files, changed);
        } else {
            files.0 += 1;
            files.1 += metadata.len();
        }
        if files.0 >= MOST {
            return;
        }
    }
}

fn time(metadata: &Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems know no owners")]
fn owner(metadata: &Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::uid(metadata))
}

#[cfg(not(unix))]
fn owner(_metadata: &Metadata) -> Option<u32> {
    None
}
