//! Copies of a database that a killed process has left half made. A purge would not reach them.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use super::{LOCK, NEW, TEMPORARY};
use crate::error::StoreError;
use crate::plain::open_plain;
use crate::presence::files_of;
use crate::restore::{self, COPY, alone, remove_copy};
use crate::trust::Trusted;

/// Deletes the copies of the database at `path` that nobody goes on with. Waits up to `patience` for each that is being
/// made.
pub(crate) fn remove_remains(
    path: &Path,
    trusted: Option<&Trusted>,
    patience: Duration,
) -> Result<(), StoreError> {
    remove_under(restore::LOCK, &path.with_file_name(COPY), patience)?;
    if let Some(states) = trusted.and_then(Trusted::states) {
        remove_under(LOCK, &states.join(NEW), patience)?;
    }
    let folders = path.parent().into_iter().chain(trusted.and_then(Trusted::states));
    for entry in folders.filter_map(|it| fs::read_dir(it).ok()).flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            remove_unlocked(&entry.path())?;
        }
    }
    Ok(())
}

/// Deletes a copy under the lock that whoever makes it holds, in the same folder.
fn remove_under(lock: &str, copy: &Path, patience: Duration) -> Result<(), StoreError> {
    if files_of(copy).iter().all(|it| it.symlink_metadata().is_err()) {
        return Ok(());
    }
    let _held = alone(&copy.with_file_name(lock), patience)?;
    remove_copy(copy)
}

/// Deletes a copy that is locked as long as it is being made.
fn remove_unlocked(copy: &Path) -> Result<(), StoreError> {
    let file = open_plain(OpenOptions::new().read(true), copy);
    if file.is_ok_and(|it| it.try_lock().is_ok()) { remove(copy) } else { Ok(()) }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::Io { path: path.to_path_buf(), source })
        }
        _ => Ok(()),
    }
}
