//! Hard links to a database and its write-ahead log, in the user's state folder. Git ignores a store, and therefore a
//! checkout or `git clean` may delete it without asking.

mod put_back;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OpenFlags};
use tempfile::NamedTempFile;

use crate::connect::Open;
use crate::elsewhere;
use crate::error::StoreError;
use crate::handle::Handle;
use crate::history::History;
use crate::plain::open_plain;
use crate::presence::{beside, id};
use crate::restore::copied;
use crate::sharing::mode_of;
use crate::trust::Trusted;

pub(crate) use put_back::{
    can_return, can_return_now, link_to_log, other_owner, put_back, put_log_back, returning,
};

/// The link to the database, in the store's folder there. SQLite finds the one to the log by its name.
pub(crate) const KEPT: &str = "callstack.db";
/// A new link, before it replaces the one before.
const NEW: &str = "callstack.db.new";
/// The beginning of the names of databases that were put aside; their logs have `-wal` at the end.
const ASIDE: &str = "callstack.db-aside-";

/// Makes the hard links to the database at `path`, which is open, and to its write-ahead log. There are none where the
/// system can't make them, as between two file systems. Returns whether the database before was put aside: it holds work
/// that this one lacks.
pub(crate) fn keep(path: &Path, open: &Connection, trusted: Option<&Trusted>) -> bool {
    let Some(states) = trusted.and_then(Trusted::states_in_force) else { return false };
    let (kept, new) = (states.join(KEPT), states.join(NEW));
    let [log, _] = beside(path);
    let [kept_log, _] = beside(&kept);
    if id(path).is_none() {
        return false;
    }
    let mut was_put_aside = false;
    if id(path) != id(&kept) {
        match put_aside(&states, open) {
            Ok(outcome) => was_put_aside = outcome,
            Err(_) => return false,
        }
        // It belongs to the database before.
        drop(fs::remove_file(&kept_log));
        if !link(path, &new, &kept) && is_only_name(&states) {
            // A copy that is not written any more would be taken for the store later.
            drop(fs::remove_file(&kept));
        }
    }
    if id(path) == id(&kept) && id(&log) != id(&kept_log) && !link(&log, &new, &kept_log) {
        drop(fs::remove_file(&kept_log));
    }
    was_put_aside
}

/// Links a file under another name, in place of what is there. Returns whether it could.
fn link(file: &Path, new: &Path, name: &Path) -> bool {
    // One of an attempt that was cut off.
    drop(fs::remove_file(new));
    let is_linked = fs::hard_link(file, new).and_then(|()| fs::rename(new, name)).is_ok();
    if !is_linked {
        drop(fs::remove_file(new));
    }
    is_linked
}

/// Deletes the link to the log of the database at `path`, which SQLite has deleted after it wrote all of it back.
pub(crate) fn forget_log(kept_log: &Path, path: &Path) {
    let [log, _] = beside(path);
    if log.symlink_metadata().is_err() && !has_other_name(kept_log) {
        drop(fs::remove_file(kept_log));
    }
}

/// Puts the database of the link aside, with its log, unless it has further links or `open` holds all of its events.
/// Returns whether it did.
fn put_aside(states: &Path, open: &Connection) -> io::Result<bool> {
    let kept = states.join(KEPT);
    if !is_only_name(states) || holds(open, &kept).unwrap_or(false) {
        return Ok(false);
    }
    let is_used = is_open(&kept);
    let aside = set_aside(states, &kept)?;
    if !is_used {
        // Whoever copies the database back has all of it. SQLite writes the log back when it closes the database.
        drop(Connection::open(aside).and_then(|it| History::of(&it)));
    }
    Ok(true)
}

/// Renames a database and its log to a name that is free in the store's folder there, and returns that.
fn set_aside(states: &Path, database: &Path) -> io::Result<PathBuf> {
    let mut names = (1..).map(|number: u32| states.join(format!("{ASIDE}{number}")));
    let free = names.find(|name| name.symlink_metadata().is_err());
    let free = free.unwrap_or_else(|| states.join(ASIDE));
    let ([log, _], [free_log, _]) = (beside(database), beside(&free));
    fs::rename(database, &free)?;
    match fs::rename(log, free_log) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(free),
    }
}

/// Whether a connection holds the events of a database, also those in the log beside that, which nobody writes to.
fn holds(open: &Connection, database: &Path) -> rusqlite::Result<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let history = Connection::open_with_flags(database, flags).and_then(|it| History::of(&it));
    let [_, index] = beside(database);
    drop(fs::remove_file(index));
    history?.is_in(open)
}

/// Returns the databases that were put aside.
pub(crate) fn put_aside_before(trusted: Option<&Trusted>) -> Vec<PathBuf> {
    trusted.and_then(Trusted::states).map(put_aside_in).unwrap_or_default()
}

/// Returns the databases in the state folder that hold work which the one at `path` lacks: those that were put aside,
/// and those of earlier stores of the project.
pub(crate) fn with_other_work(
    path: &Path,
    open: &Connection,
    trusted: Option<&Trusted>,
) -> Vec<PathBuf> {
    let mut found = put_aside_before(trusted);
    for states in trusted.map(Trusted::earlier_states).unwrap_or_default() {
        found.extend(put_aside_in(&states));
        let kept = states.join(KEPT);
        if id(&kept) != id(path) && (is_open(&kept) || !holds(open, &kept).unwrap_or(false)) {
            found.push(kept);
        }
    }
    found
}

/// Returns the databases that were put aside in a store's folder there.
fn put_aside_in(states: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(states).ok();
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_aside = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_prefix(ASIDE).is_some_and(|rest| !rest.contains('-'))
    };
    let mut aside: Vec<PathBuf> = paths.filter(is_aside).collect();
    aside.sort();
    aside
}

/// Deletes the links where they are to other files than the database at `path`, also those of earlier stores of the
/// project.
pub(crate) fn forget_others(path: &Path, trusted: Option<&Trusted>) -> Result<(), StoreError> {
    let own = trusted.and_then(Trusted::states).map(Path::to_path_buf);
    let earlier = trusted.map(Trusted::earlier_states).unwrap_or_default();
    for kept in own.into_iter().chain(earlier).map(|states| states.join(KEPT)) {
        if id(&kept).is_some() && id(&kept) != id(path) {
            drop(fs::remove_file(&beside(&kept)[0]));
            fs::remove_file(&kept).map_err(|source| StoreError::Io { path: kept, source })?;
        }
    }
    Ok(())
}

/// Replaces the hard link to a database with a copy of what a connection reads, which needs no log.
pub(crate) fn save(open: &Open, trusted: Option<&Trusted>) -> Result<(), StoreError> {
    let Some(states) = trusted.and_then(Trusted::states) else { return Ok(()) };
    let (kept, new) = (states.join(KEPT), states.join(NEW));
    if open.file().is_none() || open.file() != id(&kept) {
        return Ok(());
    }
    let failed = |source| StoreError::Io { path: kept.clone(), source };
    let saved = copied(&new, open).and_then(|()| {
        // Read with the log of the database before, the copy would be damaged.
        match fs::remove_file(&beside(&kept)[0]) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::rename(&new, &kept).map_err(failed)
    });
    for left in [new.clone()].iter().chain(&beside(&new)) {
        // It is there only where that failed.
        drop(fs::remove_file(left));
    }
    saved
}

/// Whether a database is the one that is kept in a store's folder.
pub(crate) fn is_kept(database: &Path, states: &Path) -> bool {
    id(database).is_some() && id(database) == id(&states.join(KEPT))
}

/// Returns when the database of a store was last written, according to the link to it.
pub(crate) fn last_written(states: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(states.join(KEPT)).and_then(|it| it.modified()).ok()
}

/// Whether this process or another one has a database open. True where that can't be found out.
fn is_open(database: &Path) -> bool {
    if Handle::is_open_at(database) {
        // To open it and close it again would cost this process its locks.
        return true;
    }
    let file = open_plain(OpenOptions::new().read(true), database);
    file.and_then(|file| elsewhere::has_open(&file)).unwrap_or(true)
}

/// Whether the link in a store's folder is the only one to its database.
pub(crate) fn is_only_name(states: &Path) -> bool {
    let kept = states.join(KEPT);
    fs::symlink_metadata(&kept).is_ok_and(|it| it.is_file() && it.len() > 0)
        && !has_other_name(&kept)
}

/// Gives a copied project a database of its own, and a write-ahead log: `cp -l` makes hard links instead of copies.
/// Fails if a process has the database open, which would write to a log that both have.
pub(crate) fn separate(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let [log, index] = beside(path);
    let shared: Vec<&Path> = [path, &log].into_iter().filter(|it| has_other_name(it)).collect();
    if shared.is_empty() {
        return Ok(());
    }
    if shared.contains(&path) && is_open(path) {
        let detail = "a process works with the project that it is a copy of, by hard links: end it, or copy without them";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, detail));
    }
    for file in shared {
        copy_of(file, folder)?.persist(file)?;
    }
    // SQLite makes it again.
    match fs::remove_file(index) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Copies a database to a temporary file in a folder, for those who may read and write it.
fn copy_of(database: &Path, folder: &Path) -> io::Result<NamedTempFile> {
    let mut copy = tempfile::Builder::new().prefix(".callstack.db-").tempfile_in(folder)?;
    let mut from = open_plain(OpenOptions::new().read(true), database)?;
    io::copy(&mut from, &mut copy)?;
    copy.as_file().set_permissions(mode_of(&from.metadata()?))?;
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
