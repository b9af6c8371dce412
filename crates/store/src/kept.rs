//! A hard link to a database, in the user's state folder. Git ignores a store, and therefore a checkout or `git clean`
//! may delete it without asking.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OpenFlags};
use tempfile::NamedTempFile;

use crate::connect::{Open, is_log_empty, unchanging};
use crate::elsewhere;
use crate::error::StoreError;
use crate::handle::Handle;
use crate::history::History;
use crate::plain::open_plain;
use crate::presence::{beside, id};
use crate::restore::copied;
use crate::sharing::share_folder;
use crate::trust::{RECORD, Trusted};

/// The link, in the store's folder there.
pub(crate) const KEPT: &str = "callstack.db";
/// A new link, before it replaces the one before.
const NEW: &str = "callstack.db.new";
/// The beginning of the names of databases that were put aside.
const ASIDE: &str = "callstack.db-aside-";

/// Makes the hard link to the database at `path`, which is open. There is none where the system can't make one, as
/// between two file systems. Returns whether the database before was put aside: it holds work that this one lacks.
pub(crate) fn keep(path: &Path, open: &Connection, trusted: Option<&Trusted>) -> bool {
    let Some(states) = trusted.and_then(Trusted::states_in_force) else { return false };
    let (kept, new) = (states.join(KEPT), states.join(NEW));
    if id(path).is_none() || id(path) == id(&kept) {
        return false;
    }
    let Ok(was_put_aside) = put_aside(&states, open) else { return false };
    // One of an attempt that was cut off.
    drop(fs::remove_file(&new));
    if fs::hard_link(path, &new).is_ok() {
        if fs::rename(&new, &kept).is_err() {
            drop(fs::remove_file(&new));
        }
    } else if is_only_name(&states) {
        // A copy that is not written any more would be taken for the store later.
        drop(fs::remove_file(&kept));
    }
    was_put_aside
}

/// Puts the database of the link aside, unless it has further links or `open` holds all of its events. Returns whether
/// it did.
fn put_aside(states: &Path, open: &Connection) -> io::Result<bool> {
    let kept = states.join(KEPT);
    if !is_only_name(states) || holds(open, &kept).unwrap_or(false) {
        return Ok(false);
    }
    let mut names = (1..).map(|number: u32| states.join(format!("{ASIDE}{number}")));
    let free = names.find(|name| name.symlink_metadata().is_err());
    fs::rename(&kept, free.unwrap_or_else(|| states.join(ASIDE)))?;
    Ok(true)
}

/// Whether a connection holds the events of a database that nobody writes to.
fn holds(open: &Connection, database: &Path) -> rusqlite::Result<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    History::of(&Connection::open_with_flags(unchanging(database), flags)?)?.is_in(open)
}

/// Returns the databases that were put aside.
pub(crate) fn put_aside_before(trusted: Option<&Trusted>) -> Vec<PathBuf> {
    let entries = trusted.and_then(Trusted::states).and_then(|states| fs::read_dir(states).ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_aside =
        |path: &PathBuf| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(ASIDE));
    let mut aside: Vec<PathBuf> = paths.filter(is_aside).collect();
    aside.sort();
    aside
}

/// Deletes what is kept of databases other than the one at `path`.
pub(crate) fn forget_others(path: &Path, trusted: Option<&Trusted>) -> Result<(), StoreError> {
    let kept = trusted.and_then(Trusted::states).map(|states| states.join(KEPT));
    let stale = kept.filter(|kept| id(kept).is_some() && id(kept) != id(path));
    for path in put_aside_before(trusted).into_iter().chain(stale) {
        fs::remove_file(&path).map_err(|source| StoreError::Io { path, source })?;
    }
    Ok(())
}

/// Replaces the hard link to a database, whose write-ahead log has none, with a copy of what a connection reads.
pub(crate) fn save(open: &Open, trusted: Option<&Trusted>) -> Result<(), StoreError> {
    let Some(states) = trusted.and_then(Trusted::states) else { return Ok(()) };
    let (kept, new) = (states.join(KEPT), states.join(NEW));
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
    /// no link to it there, or if the project was moved away.
    fn of(states: &Path, project: &Path) -> Option<Self> {
        let kept = states.join(KEPT);
        fs::symlink_metadata(&kept).ok().filter(|it| it.is_file() && it.len() > 0)?;
        match (has_other_name(&kept), is_project_of(states, project)) {
            (_, Some(false)) | (true, None) => None,
            (false, _) => Some(Self::Name),
            (true, Some(true)) => Some(Self::Copy),
        }
    }
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
    let copy = || {
        let copy = copy_of(&kept, folder)?;
        copy.persist_noclobber(path).map(drop).map_err(|error| error.error)
    };
    let put = match way {
        Return::Name => match fs::hard_link(&kept, path) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy(),
            linked => linked,
        },
        // Its log is in use wherever the database is.
        Return::Copy if !is_log_empty(path) => return Ok(false),
        Return::Copy if is_open(&kept) => {
            return Err(StoreError::Disturbed { path: path.to_path_buf() });
        }
        Return::Copy => copy(),
    };
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    match put {
        Ok(()) => {}
        // Another process was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(source) => return Err(failed(source)),
    }
    if let Ok(database) = fs::metadata(path) {
        // A folder of another member of the group is theirs.
        drop(share_folder(folder, &database));
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
