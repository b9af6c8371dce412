//! A hard link to a database, in the user's state folder. Git ignores a store, and therefore a checkout or `git clean`
//! may delete it without asking.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::NamedTempFile;

use crate::connect::{Open, is_log_empty};
use crate::elsewhere;
use crate::error::StoreError;
use crate::handle::Handle;
use crate::plain::open_plain;
use crate::presence::{beside, id};
use crate::restore::copied;
use crate::trust::{RECORD, Trusted};

/// The link, in the store's folder there.
pub(crate) const KEPT: &str = "callstack.db";
/// A new link, before it replaces the one before.
const NEW: &str = "callstack.db.new";

/// Makes the hard link to the database at `path`. There is none where the system can't make one, as between two file
/// systems.
pub(crate) fn keep(path: &Path, trusted: Option<&Trusted>) {
    let Some((kept, new)) = names(trusted) else { return };
    if id(path).is_none() || id(path) == id(&kept) {
        return;
    }
    // One of an attempt that was cut off.
    drop(fs::remove_file(&new));
    if fs::hard_link(path, &new).is_ok() && fs::rename(&new, &kept).is_err() {
        drop(fs::remove_file(&new));
    }
}

/// Replaces the hard link to a database, whose write-ahead log has none, with a copy of what a connection reads.
pub(crate) fn save(open: &Open, trusted: Option<&Trusted>) -> Result<(), StoreError> {
    let Some((kept, new)) = names(trusted) else { return Ok(()) };
    if open.file().is_none() || open.file() != id(&kept) {
        return Ok(());
    }
    let saved = copied(&new, open).and_then(|()| {
        fs::rename(&new, &kept).map_err(|source| StoreError::Io { path: kept.clone(), source })
    });
    for left in [new.clone()].iter().chain(&beside(&new)) {
        // It is there only where that failed.
        drop(fs::remove_file(left));
    }
    saved
}

/// How a database that is no longer at its path is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Return {
    /// By a further hard link to the same file.
    Name,
    /// As a copy: the file has other links, such as in a snapshot, and may be in use there.
    Copy,
}

impl Return {
    /// Returns how the database is restored of the store whose folder in the state folder is `states`. `None` if there is
    /// no link to it there, or if it was moved with its project.
    fn of(states: &Path, project: &Path) -> Option<Self> {
        let kept = states.join(KEPT);
        fs::symlink_metadata(&kept).ok().filter(|it| it.is_file() && it.len() > 0)?;
        if !has_other_name(&kept) {
            return Some(Self::Name);
        }
        // A project folder that is newer than the record replaced one that was moved or deleted.
        let begun = fs::metadata(states.join(RECORD)).and_then(|it| it.modified());
        let made = fs::metadata(project).and_then(|it| it.created());
        let is_same = matches!((made, begun), (Ok(made), Ok(begun)) if made <= begun);
        (is_same && !is_open(&kept)).then_some(Self::Copy)
    }
}

/// Whether the database of a store that is no longer in its project can be restored.
pub(crate) fn can_return(states: &Path, project: &Path) -> bool {
    Return::of(states, project).is_some()
}

/// Returns when the database of a store was last written, according to the link to it.
pub(crate) fn last_written(states: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(states.join(KEPT)).and_then(|it| it.modified()).ok()
}

/// Whether the database can be restored, and no process that could do so itself has it open.
pub(crate) fn is_unused(trusted: Option<&Trusted>) -> bool {
    let Some((trusted, states)) = trusted.and_then(|it| Some((it, it.states()?))) else {
        return false;
    };
    can_return(states, trusted.project()) && !is_open(&states.join(KEPT))
}

/// Whether this process or another one has a database open. True where that can't be found out.
fn is_open(database: &Path) -> bool {
    let file = open_plain(OpenOptions::new().read(true), database);
    Handle::is_open_at(database) || file.and_then(|file| elsewhere::has_open(&file)).unwrap_or(true)
}

/// Restores a database that is no longer at `path`. Returns false if it is there, or can't be restored.
pub(crate) fn put_back(path: &Path, trusted: Option<&Trusted>) -> Result<bool, StoreError> {
    let Some((trusted, states)) = trusted.and_then(|it| Some((it, it.states()?))) else {
        return Ok(false);
    };
    let Some(way) = Return::of(states, trusted.project()) else { return Ok(false) };
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let kept = states.join(KEPT);
    let folder = path.parent().unwrap_or(path);
    let put = match way {
        Return::Name => fs::hard_link(&kept, path),
        // Its log is in use wherever the database is.
        Return::Copy if !is_log_empty(path) => return Ok(false),
        Return::Copy => copy_of(&kept, folder)
            .and_then(|copy| copy.persist_noclobber(path).map_err(|error| error.error))
            .map(drop),
    };
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    match put {
        Ok(()) => {}
        // Another process was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(source) => return Err(failed(source)),
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(true)
}

/// Whether the link in a store's folder is the only one to its database.
pub(crate) fn is_only_name(states: &Path) -> bool {
    let kept = states.join(KEPT);
    fs::symlink_metadata(&kept).is_ok_and(|it| it.is_file() && it.len() > 0)
        && !has_other_name(&kept)
}

/// Gives a copied project a database of its own: `cp -l` makes a hard link instead of a copy.
pub(crate) fn separate(path: &Path) -> io::Result<()> {
    if has_other_name(path) {
        copy_of(path, path.parent().unwrap_or(path))?.persist(path)?;
    }
    Ok(())
}

/// Copies a database to a temporary file in a folder, with its permissions.
fn copy_of(database: &Path, folder: &Path) -> io::Result<NamedTempFile> {
    let mut copy = tempfile::Builder::new().prefix(".callstack.db-").tempfile_in(folder)?;
    let mut from = open_plain(OpenOptions::new().read(true), database)?;
    io::copy(&mut from, &mut copy)?;
    copy.as_file().set_permissions(from.metadata()?.permissions())?;
    copy.as_file().sync_all()?;
    Ok(copy)
}

#[cfg(unix)]
fn has_other_name(kept: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::symlink_metadata(kept).is_ok_and(|it| it.nlink() > 1)
}

#[cfg(not(unix))]
fn has_other_name(_kept: &Path) -> bool {
    true
}

fn names(trusted: Option<&Trusted>) -> Option<(PathBuf, PathBuf)> {
    let states = trusted?.states()?;
    Some((states.join(KEPT), states.join(NEW)))
}
