//! Checks of the files of a database before it is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::elsewhere::salts_in_use;
use crate::error::{Damage, StoreError};
use crate::handle::Handle;
use crate::kept;
use crate::logs::LOGS;
use crate::presence::{self, beside, logs_at};
use crate::trust::{Distrust, Trusted};
use crate::write_turns::Incident;

/// Files in the folder of a store that held something.
const SIGNS: [&str; 4] = ["callstack.log", "callstack.log.1", "git", LOGS];

/// How long a start waits for a process that still holds what is not at its path any more.
const RETURN: Duration = Duration::from_millis(1500);

/// Restores from its hard link a database that has lost its content, or that is on record but missing; returns what
/// happened to it. As long as another process may have it open and restore it itself, fails until the start has `waited`
/// long enough. Also fails if the content is lost and cannot be restored.
pub(crate) fn restore_lost(
    path: &Path,
    trusted: Option<&Trusted>,
    waited: Duration,
) -> Result<Option<Incident>, StoreError> {
    let lost = refuse_emptied(path);
    let had_database = || trusted.map_or(Ok(false), Trusted::had_database);
    let is_missing = lost.is_err() || (!path.exists() && had_database()?);
    if is_missing && waited < RETURN && !kept::can_return_now(trusted) {
        return Err(StoreError::Disturbed { path: path.to_path_buf() });
    }
    if is_missing && kept::put_back(path, trusted)? {
        return Ok(Some(Incident::Restored));
    }
    lost?;
    Ok((is_missing && !path.exists()).then_some(Incident::Gone))
}

/// Refuses a database that is empty or not there beside a log that is not empty, and an empty one beside files that
/// belong to a store: it has lost its content. SQLite would take it for a new one, and delete the log too.
pub(crate) fn refuse_emptied(path: &Path) -> Result<(), StoreError> {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let [log, _] = beside(path);
    let (has_log, is_there) = (size(&log) > 0, path.exists());
    let is_known = || SIGNS.iter().any(|sign| path.with_file_name(sign).exists());
    let damage = match (size(path), is_there) {
        (0, true) if has_log => Damage::EmptyBesideLog,
        (0, false) if has_log => Damage::GoneBesideLog,
        (0, true) if is_known() => Damage::EmptyBesideSigns,
        _ => return Ok(()),
    };
    Err(StoreError::Corrupt { path: path.to_path_buf(), damage })
}

/// Refuses a rollback journal beside a database on record, which has a write-ahead log: SQLite would write the content
/// of the journal into it. One beside an empty database is what a process left that ended while it made that.
pub(super) fn refuse_journal(handle: &Handle, path: &Path) -> Result<(), StoreError> {
    let failed = |path: &Path, source| StoreError::Io { path: path.to_path_buf(), source };
    if handle.length().map_err(|source| failed(path, source))? > 0 {
        return refuse_any_journal(path);
    }
    match journal_of(path) {
        None => Ok(()),
        Some(journal) => std::fs::remove_file(&journal).map_err(|source| failed(&journal, source)),
    }
}

/// Refuses a rollback journal beside a database that is not empty, or that is about to be put there.
pub(crate) fn refuse_any_journal(path: &Path) -> Result<(), StoreError> {
    match journal_of(path) {
        None => Ok(()),
        Some(journal) => Err(Distrust::Journal { path: journal }.into()),
    }
}

/// The rollback journal beside a database, if there is one with a content.
fn journal_of(path: &Path) -> Option<PathBuf> {
    let journal = presence::journal(path);
    std::fs::symlink_metadata(&journal).is_ok_and(|file| file.len() > 0).then_some(journal)
}

/// The database, made for its owner only if it is not there yet; none if it can't be written.
pub(crate) fn writable(path: &Path) -> Result<Option<Arc<Handle>>, StoreError> {
    match Handle::open(path) {
        Ok(handle) => Ok(path.parent().is_some_and(folder_writable).then_some(handle)),
        Err(error) if path.exists() && is_refusal(&error) => Ok(None),
        Err(source) => Err(StoreError::Io { path: path.to_path_buf(), source }),
    }
}

/// Whether other processes work with a write-ahead log, or with an index of it, that is not at its path any more. They
/// would not see what is written through new ones, nor would these show what stands in the log of the others alone.
///
/// Fails if the log at the path is in use for another database, in whose place this one was put: until its processes
/// have found out, whoever opens this one would write into their log.
pub(crate) fn are_logs_lost(handle: &Handle, path: &Path) -> Result<bool, StoreError> {
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    let disturbed = || Err(StoreError::Disturbed { path: path.to_path_buf() });
    let [log, index] = beside(path);
    if Handle::are_logs_of_another(path, logs_at(path)) {
        return disturbed();
    }
    if handle.logs().is_some() {
        return Ok(false);
    }
    let is_log_in_use = salts_in_use(&index).map_err(failed)?.is_some();
    match (handle.is_open_elsewhere().map_err(failed)?, is_log_in_use) {
        (false, true) => disturbed(),
        (is_open, _) => Ok(is_open && (!is_log_in_use || !log.exists())),
    }
}

/// Whether nothing is in the write-ahead log of a database.
pub(crate) fn is_log_empty(path: &Path) -> bool {
    let [log, _] = beside(path);
    std::fs::metadata(log).map_or(0, |metadata| metadata.len()) == 0
}

/// Whether a database was left in order by the last process that had it open: the file is complete without its log.
pub(crate) fn was_closed_cleanly(path: &Path) -> bool {
    let [_, index] = beside(path);
    is_log_empty(path) && !index.exists()
}

/// SQLite takes a file that is too short to be a database for an empty one, and overwrites it.
pub(super) fn check_beginning(handle: &Handle, path: &Path) -> Result<(), StoreError> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    // Less than SQLite's header is never a database; nothing at all is a new one.
    let mut header = [0; 100];
    if handle.length().map_err(failed)? == 0
        || (handle.read_beginning(&mut header).map_err(failed)? && header.starts_with(MAGIC))
    {
        return Ok(());
    }
    Err(StoreError::Corrupt { path: path.to_path_buf(), damage: Damage::NoDatabase })
}

/// WAL needs to make files beside the database.
fn folder_writable(folder: &Path) -> bool {
    std::fs::metadata(folder).is_ok_and(|metadata| !metadata.permissions().readonly())
}

fn is_refusal(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
    )
}
