//! Hard links to a database and its write-ahead log, in the user's state folder. Git ignores a store, and therefore a
//! checkout or `git clean` may delete it without asking.

mod aside;
mod content;
mod put_back;
mod remains;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags};
use tempfile::NamedTempFile;

use crate::connect::{Open, expected_key, unchanging};
use crate::elsewhere;
use crate::error::StoreError;
use crate::handle::Handle;
use crate::plain::open_plain;
use crate::presence::{beside, id, logs_at};
use crate::restore::{alone, copied, remove_copy};
use crate::sharing::share;
use crate::trust::{DatabaseKey, Trusted};

use aside::{put_aside, set_aside};

pub(crate) use aside::{put_aside_before, with_other_work};
pub(crate) use content::{has_newer, has_sound};
pub(crate) use put_back::{
    can_return, can_return_now, link_to_log, other_owner, put_back, put_log_back, returning,
};
pub(crate) use remains::remove_remains;

/// The link to the database, in the store's folder there. SQLite finds the one to the log by its name.
pub(crate) const KEPT: &str = "callstack.db";
/// A new link, before it replaces the one before.
const NEW: &str = "callstack.db.new";
/// How long a process waits for others that change the links.
const PATIENCE: Duration = Duration::from_secs(1);
/// The beginning of the names of copies in a store's folder that are being made.
const TEMPORARY: &str = ".callstack.db-";
/// Held by a process while it changes the links, in the store's folder there.
pub(crate) const LOCK: &str = "keep.lock";

/// Makes the hard links to the database at `path`, which is open, and to its write-ahead log. There are none where the
/// system can't make them, as between two file systems, and the error says why. Returns whether the database before was
/// put aside: it holds work that this one lacks.
pub(crate) fn keep(
    path: &Path,
    open: &Open,
    trusted: Option<&Trusted>,
) -> Result<bool, StoreError> {
    let Some(states) = trusted.and_then(Trusted::states_in_force) else { return Ok(false) };
    let (kept, new) = (states.join(KEPT), states.join(NEW));
    let [log, _] = beside(path);
    let [kept_log, _] = beside(&kept);
    let is_kept = || id(path) == id(&kept) && id(&log) == id(&kept_log);
    if open.file().is_none() || is_kept() {
        return Ok(false);
    }
    // The next connection makes what is missing.
    let held = alone_with(&states)?;
    if open.file() != id(path) {
        return Ok(false);
    }
    let failed = |source| StoreError::Io { path: kept.clone(), source };
    let mut was_put_aside = false;
    if id(path) != id(&kept) {
        was_put_aside = put_aside(&states, open).map_err(failed)?;
        // It belongs to the database before.
        drop(fs::remove_file(&kept_log));
        if let Err(error) = link(path, &new, &kept) {
            if is_only_name(&states) {
                // A copy that is not written any more would be taken for the store later.
                drop(fs::remove_file(&kept));
            }
            return if was_put_aside { Ok(true) } else { Err(failed(error)) };
        }
    }
    if id(&log) != id(&kept_log)
        && let Err(error) = link(&log, &new, &kept_log)
    {
        drop(fs::remove_file(&kept_log));
        if error.kind() != io::ErrorKind::NotFound && !was_put_aside {
            return Err(failed(error));
        }
    }
    drop(held);
    Ok(was_put_aside)
}

/// Returns why there is no hard link to the database at `path`; none where it is there, or nobody asks for one.
pub(crate) fn obstacle(path: &Path, open: &Open, trusted: Option<&Trusted>) -> Option<String> {
    let trusted = trusted.filter(|it| it.is_on_record())?;
    if trusted.states_in_force().is_none() {
        return Some("the store's folder in the state folder is not yours alone".to_owned());
    }
    keep(path, open, Some(trusted)).err().map(|error| error.to_string())
}

/// Keeps other processes from changing the links as long as the result is held.
fn alone_with(states: &Path) -> Result<File, StoreError> {
    alone(&states.join(LOCK), PATIENCE)
}

/// Links a file under another name, in place of what is there.
fn link(file: &Path, new: &Path, name: &Path) -> io::Result<()> {
    // One of an attempt that was cut off.
    drop(fs::remove_file(new));
    let linked = fs::hard_link(file, new).and_then(|()| fs::rename(new, name));
    if linked.is_err() {
        drop(fs::remove_file(new));
    }
    linked
}

/// Deletes the link to the log of the database at `path`, which SQLite has deleted after it wrote all of it back.
pub(crate) fn forget_log(kept_log: &Path, path: &Path) {
    let [log, _] = beside(path);
    if log.symlink_metadata().is_err() && !has_other_name(kept_log) {
        drop(fs::remove_file(kept_log));
    }
}

/// Deletes the links where they are to other files than the database at `path`, also those of earlier stores of the
/// project.
pub(crate) fn forget_others(path: &Path, trusted: Option<&Trusted>) -> Result<(), StoreError> {
    let own = trusted.and_then(Trusted::states).map(Path::to_path_buf);
    let earlier = trusted.map(Trusted::earlier_states).unwrap_or_default();
    for states in own.into_iter().chain(earlier) {
        let kept = states.join(KEPT);
        if id(&kept).is_some() && id(&kept) != id(path) {
            let _held = alone_with(&states)?;
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
    let _held = alone_with(states)?;
    if open.file() != id(&kept) {
        return Ok(());
    }
    let failed = |source| StoreError::Io { path: kept.clone(), source };
    let saved = copied(&new, open).and_then(|()| {
        if let (Ok(copy), Some(database)) = (File::open(&new), open.metadata()) {
            share(&copy, &database);
        }
        // Read with the log of the database before, the copy would be damaged.
        match fs::remove_file(&beside(&kept)[0]) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::rename(&new, &kept).map_err(failed)
    });
    // It is there only where that failed.
    drop(remove_copy(&new));
    saved
}

/// Takes the write-ahead log away from the database at `path` if that was put in the place of the one that is kept: the
/// log belongs to that one, and stays beside it. A log that is in use is left to the processes that use it.
pub(crate) fn part_from_log(path: &Path, trusted: Option<&Trusted>) -> Result<(), StoreError> {
    let Some(states) = trusted.and_then(Trusted::states) else { return Ok(()) };
    let kept = states.join(KEPT);
    let ([log, index], [kept_log, _]) = (beside(path), beside(&kept));
    let is_another = matches!((id(path), id(&kept)), (Some(found), Some(kept)) if found != kept);
    if !is_another || id(&log).is_none() || id(&log) != id(&kept_log) {
        return Ok(());
    }
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    if Handle::are_logs_of_another(path, logs_at(path))
        || is_open(path)
        || elsewhere::salts_in_use(&index).map_err(failed)?.is_some()
    {
        return Ok(());
    }
    if !is_open(&kept) && has_same_bytes(path, &kept) {
        // It is a copy of that one.
        return Ok(());
    }
    // One of somebody else will be refused, and go again.
    let expected = expected_key(trusted)?;
    if expected.is_some() && key_alone(path) != expected {
        return Ok(());
    }
    [index, log].iter().try_for_each(|it| remove(it)).map_err(failed)
}

/// Returns the key in a database without its log.
fn key_alone(path: &Path) -> Option<DatabaseKey> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let alone = Connection::open_with_flags(unchanging(path), flags);
    alone.and_then(|alone| DatabaseKey::of(&alone)).ok().flatten()
}

/// Whether two files hold the same.
fn has_same_bytes(one: &Path, other: &Path) -> bool {
    let open = |path| open_plain(OpenOptions::new().read(true), path).map(BufReader::new);
    let same = || {
        let (mut one, mut other) = (open(one)?, open(other)?);
        loop {
            let (ours, theirs) = (one.fill_buf()?, other.fill_buf()?);
            let length = ours.len().min(theirs.len());
            if length == 0 || ours[..length] != theirs[..length] {
                return Ok::<_, io::Error>(ours.is_empty() && theirs.is_empty());
            }
            one.consume(length);
            other.consume(length);
        }
    };
    same().unwrap_or(false)
}

/// Deletes a file that need not be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
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
    let mut copy = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
    // Others take one that is not locked for what a killed process has left.
    copy.as_file().try_lock()?;
    let mut from = open_plain(OpenOptions::new().read(true), database)?;
    io::copy(&mut from, &mut copy)?;
    share(copy.as_file(), &from.metadata()?);
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
