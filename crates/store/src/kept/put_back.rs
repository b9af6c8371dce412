//! Restoring a database that is no longer at its path from the hard link to it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::content::reading;
use super::{
    KEPT, alone_with, copy_of, has_other_name, has_same_bytes, is_open, remove, set_aside,
};
use crate::checkpoint;
use crate::connect::{is_log_empty, refuse_any_journal, unchanging, write_back_at_end};
use crate::error::{StoreError, at};
use crate::handle::Handle;
use crate::locate::{DATABASE, FOLDER};
use crate::presence::{beside, id};
use crate::trust::{self, DatabaseKey, Distrust, RECORD, Trusted, has_no_table};

/// How a database that is no longer at its path is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Return {
    /// By a further hard link to the same file.
    Name,
    /// As a copy: the file has other links, such as in a snapshot, and may be in use there, or it belongs to another
    /// member of the group, and is nowhere else any more.
    Copy,
}

impl Return {
    /// Returns how the database is restored of the store whose folder in the state folder is `states`. `None` if there is
    /// no link to it there, if another user restores it, or if the project was moved away.
    fn of(states: &Path, project: &Path) -> Option<Self> {
        let kept = states.join(KEPT);
        let file = fs::symlink_metadata(&kept).ok()?;
        if !file.is_file() || file.len() == 0 {
            return None;
        }
        let is_own = is_of_folder(&file, states);
        match (has_other_name(&kept), is_project_of(states, project)) {
            (_, Some(false)) | (true, None) => None,
            (true, Some(true)) => is_own.then_some(Self::Copy),
            (false, _) if is_own => Some(Self::Name),
            (false, _) => is_usable(&kept).then_some(Self::Copy),
        }
    }

    fn put(self, from: &Path, to: &Path) -> io::Result<()> {
        let folder = to.parent().unwrap_or(to);
        let copy = || {
            let copy = copy_of(from, folder)?;
            copy.persist_noclobber(to).map(drop).map_err(|error| error.error)
        };
        match self {
            Self::Copy => copy(),
            Self::Name => match fs::hard_link(from, to) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy(),
                linked => linked,
            },
        }
    }
}

/// Whether this user may read and write a file.
#[cfg(unix)]
fn is_usable(file: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, file, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

#[cfg(not(unix))]
fn is_usable(_file: &Path) -> bool {
    true
}

/// Whether a database belongs to the user whose state folder it is in: a hard link in the project to a file of another
/// member of the group would stay that member's.
#[cfg(unix)]
fn is_of_folder(file: &fs::Metadata, states: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(states).is_ok_and(|folder| folder.uid() == file.uid())
}

#[cfg(not(unix))]
fn is_of_folder(_file: &fs::Metadata, _states: &Path) -> bool {
    true
}

/// Returns the member of the group whose database a store's was, if somebody has a link to it as well: the next start of
/// that member restores it.
#[cfg(unix)]
pub(crate) fn other_owner(states: &Path, project: &Path) -> Option<u32> {
    let kept = states.join(KEPT);
    let file = fs::symlink_metadata(&kept).ok()?;
    let is_anothers = file.is_file() && file.len() > 0 && !is_of_folder(&file, states);
    let can_restore =
        || has_other_name(&kept) && is_project_of(states, project).unwrap_or_default();
    (is_anothers && can_restore()).then(|| std::os::unix::fs::MetadataExt::uid(&file))
}

#[cfg(not(unix))]
pub(crate) fn other_owner(_states: &Path, _project: &Path) -> Option<u32> {
    None
}

/// Whether the folder of a project was there when the store was recorded; one that is newer is another project, at the
/// path of one that was moved or deleted. `None` where the file system doesn't say.
fn is_project_of(states: &Path, project: &Path) -> Option<bool> {
    let recorded = fs::metadata(states.join(RECORD)).and_then(|it| it.modified());
    let made = fs::metadata(project).and_then(|it| it.created());
    Some(made.ok()? <= recorded.ok()?)
}

/// Whether the database of a store that is no longer in its project can be restored.
pub(crate) fn can_return(states: &Path, project: &Path) -> bool {
    Return::of(states, project).is_some()
}

/// Returns the mode and owner of the database that comes back: this process has it open, or it can be restored.
pub(crate) fn returning(states: Option<&Path>, project: &Path) -> Option<fs::Metadata> {
    let kept = |states: &Path| {
        can_return(states, project).then(|| fs::metadata(states.join(KEPT)).ok()).flatten()
    };
    let path = project.join(FOLDER).join(DATABASE);
    Handle::opened_at(&path).or_else(|| states.and_then(kept))
}

/// Whether the database can be restored, and no process that could do so itself has it open.
pub(crate) fn can_return_now(trusted: Option<&Trusted>) -> bool {
    let Some((trusted, states)) = trusted.and_then(|it| Some((it, it.states()?))) else {
        return false;
    };
    can_return(states, trusted.project()) && !is_open(&states.join(KEPT))
}

/// Restores a database that is no longer at `path`, with its write-ahead log. Returns false if it is there, or can't be
/// restored; one that is damaged is put aside.
pub(crate) fn put_back(path: &Path, trusted: Option<&Trusted>) -> Result<bool, StoreError> {
    let Some((trusted, states)) = trusted.and_then(|it| Some((it, it.states()?))) else {
        return Ok(false);
    };
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    if let Some(owner) = other_owner(states, trusted.project()) {
        return Err(Distrust::OfMember { folder: trusted.folder(), owner }.into());
    }
    let Some(way) = Return::of(states, trusted.project()) else { return Ok(false) };
    let kept = states.join(KEPT);
    // What a branch has brought beside it would be written into the database.
    refuse_any_journal(path)?;
    trust::check_log(path, Some(trusted))?;
    let ([log, _], [kept_log, _]) = (beside(path), beside(&kept));
    // A copy was cut off, or the database alone was deleted.
    let is_left = way == Return::Copy && !is_log_empty(path) && has_same_bytes(&log, &kept_log);
    // Its log is in use wherever the database is.
    if way == Return::Copy && !is_log_empty(path) && !is_left {
        return Ok(false);
    }
    if is_open(&kept) && (way == Return::Copy || !is_log_empty(&kept)) {
        return Err(StoreError::Disturbed { path: path.to_path_buf() });
    }
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    // Another one may have been copied over it in place, or a member of the group may have made it any file.
    if !is_open(&kept) && !has_key(&kept, states, trusted)? {
        let _held = alone_with(states)?;
        return set_aside(states, &kept).map(|_| false).map_err(failed);
    }
    // The log first: whoever finds the database finds all of it.
    let has_log = !is_log_empty(&kept) && (is_log_empty(path) || is_left) && !is_open(&kept);
    if has_log {
        remove(&log).and_then(|()| way.put(&kept_log, &log)).map_err(failed)?;
    }
    match way.put(&kept, path) {
        Ok(()) => {}
        // Another process was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(source) => {
            if has_log {
                remove(&log).map_err(failed)?;
            }
            return Err(failed(source));
        }
    }
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    if is_open(&kept) {
        return Ok(true);
    }
    let newest = if has_log {
        without_older_log(path, &kept)
    } else {
        newest_event(Connection::open(path)).map_err(|source| at(path, source))
    };
    match newest {
        Ok(Some(_)) => Ok(true),
        Ok(None) => put_aside_damaged(path, states).map(|()| false),
        Err(error) => {
            // What is linked stays in the state folder, for the next start.
            let [_, index] = beside(path);
            [path, &index].into_iter().try_for_each(remove).map_err(failed)?;
            if has_log {
                remove(&log).map_err(failed)?;
            }
            Err(error)
        }
    }
}

/// Whether a database that nobody has open has the key on record, if there is one. Its log is asked only where the
/// database alone says nothing: an old log makes a mix of both. One of the user's own that can't be read is not
/// another one.
fn has_key(database: &Path, states: &Path, trusted: &Trusted) -> Result<bool, StoreError> {
    let Some(expected) = trusted.database_key()? else { return Ok(true) };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let alone = Connection::open_with_flags(unchanging(database), flags);
    if let Ok(Some(key)) = alone.and_then(|it| DatabaseKey::of(&it)) {
        return Ok(key == expected);
    }
    let with_log =
        reading(database, |it| Ok(DatabaseKey::of(it)? == Some(expected) || has_no_table(it)?));
    match with_log {
        Err(error) if is_of_the_machine(&error) => Err(at(database, error)),
        Err(_) => Ok(fs::metadata(database).is_ok_and(|file| is_of_folder(&file, states))),
        Ok(has_key) => Ok(has_key),
    }
}

/// Restores the write-ahead log of a database that is at `path`, if it is gone and no process has the database open. A
/// database that another program has written to since, such as a backup that was copied over it, needs none: the log is
/// put aside then. Returns whether it was.
pub(crate) fn put_log_back(path: &Path, trusted: Option<&Trusted>) -> Result<bool, StoreError> {
    let Some(states) = trusted.and_then(Trusted::states) else { return Ok(false) };
    let kept = states.join(KEPT);
    if is_log_empty(&kept) || id(path) != id(&kept) || is_open(path) {
        return Ok(false);
    }
    let ([log, index], [kept_log, _]) = (beside(path), beside(&kept));
    if id(&log) != id(&kept_log) {
        // Somebody else's may be in its place.
        trust::check_log(path, trusted)?;
    }
    if !is_log_empty(path) {
        return Ok(false);
    }
    refuse_any_journal(path)?;
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    remove(&log).and_then(|()| Return::Name.put(&kept_log, &log)).map_err(failed)?;
    if checkpoint::has_changed(path) {
        trust::put_log_aside(path)?;
        return remove(&kept_log).map_err(failed).map(|()| true);
    }
    match without_older_log(path, &kept) {
        Ok(_) => Ok(id(&kept_log).is_none()),
        Err(error) => {
            [&log, &index].into_iter().try_for_each(|it| remove(it)).map_err(failed)?;
            Err(error)
        }
    }
}

/// Puts the log aside that was put beside a database if its old pages would come over newer ones: another home, or
/// another program, has written to the database since. Returns the number of the newest event that is left; `None` for a
/// damaged database.
fn without_older_log(path: &Path, kept: &Path) -> Result<Option<i64>, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let newest = |connection| newest_event(connection).map_err(|source| at(path, source));
    let alone = newest(Connection::open_with_flags(unchanging(path), flags))?;
    let with_log = newest(Connection::open(path))?;
    if alone > with_log {
        let ([_, index], [kept_log, _]) = (beside(path), beside(kept));
        trust::put_log_aside(path)?;
        let removed = [&index, &kept_log].into_iter().try_for_each(|it| remove(it));
        removed.map_err(|source| StoreError::Io { path: path.to_path_buf(), source })?;
    }
    Ok(alone.max(with_log))
}

/// Puts a database aside that was restored and is damaged, and deletes the links to it.
fn put_aside_damaged(path: &Path, states: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    let [log, index] = beside(path);
    let _held = alone_with(states)?;
    set_aside(states, &states.join(KEPT)).map_err(failed)?;
    [path, &log, &index].into_iter().try_for_each(remove).map_err(failed)
}

/// Returns the number of the newest event in a database; `None` if that is damaged. An error says that it can't be read
/// now, as on a full disk.
fn newest_event(database: rusqlite::Result<Connection>) -> rusqlite::Result<Option<i64>> {
    let newest = || {
        let connection = database?;
        write_back_at_end(&connection, false)?;
        let check = "PRAGMA quick_check(1)";
        let found: String = connection.query_row(check, [], |row| row.get(0))?;
        let newest = "SELECT coalesce(max(seq), 0) FROM events";
        let newest = || connection.query_row(newest, [], |row| row.get(0));
        (found == "ok").then(newest).transpose()
    };
    match newest() {
        Err(error) if !is_of_the_machine(&error) => Ok(None),
        newest => newest,
    }
}

/// Whether an error says nothing about the content of a database.
fn is_of_the_machine(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::ReadOnly
                | ErrorCode::OutOfMemory
        )
    )
}

/// Returns the link to a log of a store.
pub(crate) fn link_to_log(states: &Path) -> PathBuf {
    let [log, _] = beside(&states.join(KEPT));
    log
}
