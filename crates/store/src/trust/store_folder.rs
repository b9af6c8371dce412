//! Looking at a store's folder from outside: nothing in it is opened.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{Distrust, ID, log};
use crate::checkpoint;
use crate::error::StoreError;
use crate::locate::{DATABASE, FOLDER};
use crate::logs::LOGS;
use crate::restore;

/// The files of a store that this program opens by name.
const FILES: [&str; 12] = [
    DATABASE,
    checkpoint::NOTE,
    "callstack.db-wal",
    "callstack.db-shm",
    "callstack.db-journal",
    log::MARK,
    "callstack.log",
    "callstack.log.1",
    IGNORE,
    ID,
    restore::LOCK,
    restore::COPY,
];
const IGNORE: &str = ".gitignore";

/// The content of a store's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// There is no folder.
    Absent,
    /// Nothing of meaning: the remains of a process that ended before it had made the store.
    Empty,
    /// A store, or something else.
    Filled,
}

/// Looks at the store of a project, and refuses one that is not as this program leaves it.
pub(super) fn at(project: &Path) -> Result<Content, StoreError> {
    let folder = project.join(FOLDER);
    let failed = |source| StoreError::Io { path: folder.clone(), source };
    let metadata = match fs::symlink_metadata(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::Absent),
        metadata => metadata.map_err(failed)?,
    };
    if metadata.is_symlink() {
        return Err(Distrust::Link { project: project.to_path_buf(), path: folder }.into());
    }
    if !metadata.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    if let Some(owner) = stranger(project, &metadata).map_err(failed)? {
        return Err(Distrust::Owner { folder, owner }.into());
    }
    let is_entered = is_entered_by_all(&metadata);
    let mut content = Content::Empty;
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        check(project, &entry, is_entered)?;
        if name == LOGS {
            match fs::read_dir(entry.path()) {
                // Nothing in it is opened either.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                logs => {
                    for log in logs.map_err(failed)? {
                        check(project, &log.map_err(failed)?, is_entered)?;
                    }
                }
            }
        }
        // A file of one of our own processes that has not put the id in its place yet.
        let is_unfinished = name.to_str().is_some_and(|name| name.starts_with(".id-"));
        if name != IGNORE && name != ID && !is_unfinished {
            content = Content::Filled;
        }
    }
    if content == Content::Filled && is_written_by_all(&metadata) {
        return Err(Distrust::Open { path: folder }.into());
    }
    Ok(content)
}

/// Returns the nearest folder, of this one and those around it, in which everybody may replace the next folder of the
/// path. Folders that do not exist yet can't be replaced.
pub(super) fn exposed(folder: &Path) -> Result<Option<PathBuf>, StoreError> {
    for folder in folder.ancestors() {
        match fs::metadata(folder) {
            Ok(metadata) if is_written_by_all(&metadata) && !keeps_owners_apart(&metadata) => {
                return Ok(Some(folder.to_path_buf()));
            }
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::Io { path: folder.to_path_buf(), source });
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Refuses an entry that leads out of the store, or is no file where one belongs.
fn check(project: &Path, entry: &DirEntry, is_entered: bool) -> Result<(), StoreError> {
    let path = entry.path();
    let failed = |source| StoreError::Io { path: path.clone(), source };
    let kind = match entry.file_type() {
        // Another process has removed it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        kind => kind.map_err(failed)?,
    };
    let name = entry.file_name();
    let is_ours = name.to_str().is_some_and(|it| FILES.contains(&it) || it.starts_with(log::ASIDE));
    if kind.is_symlink() {
        let inside = fs::canonicalize(&path).is_ok_and(|it| it.starts_with(project.join(FOLDER)));
        if !inside || is_ours || name == LOGS {
            return Err(Distrust::Link { project: project.to_path_buf(), path }.into());
        }
        return Ok(());
    }
    if !(kind.is_file() || kind.is_dir())
        || is_ours && !kind.is_file()
        || name == LOGS && !kind.is_dir()
    {
        return Err(Distrust::NoFile { path }.into());
    }
    // Nobody else reaches it in a folder that others don't get into.
    if is_entered && entry.metadata().is_ok_and(|it| is_written_by_all(&it)) {
        return Err(Distrust::Open { path }.into());
    }
    Ok(())
}

/// The owner of a store's folder, if that is neither this user nor, where root looks or a group shares the folder, the
/// owner of the project. Where the group may write to the project, too, any member could replace the folder, and one of
/// them may have made it again.
#[cfg(unix)]
fn stranger(project: &Path, folder: &Metadata) -> io::Result<Option<u32>> {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid();
    let owner = folder.uid();
    if owner == user.as_raw() {
        return Ok(None);
    }
    let others = folder.mode() & 0o077;
    let is_shared = others != 0 && others.is_multiple_of(0o010);
    let project = fs::metadata(project)?;
    let is_projects = project.uid() == owner && (user.is_root() || is_shared);
    let is_written_by_group = |it: &Metadata| it.mode() & 0o020 != 0;
    let is_groups = is_shared
        && folder.gid() == project.gid()
        && [folder, &project].into_iter().all(is_written_by_group);
    Ok((!(is_projects || is_groups)).then_some(owner))
}

#[cfg(unix)]
fn is_written_by_all(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o002 != 0
}

/// Whether only its owner may rename or remove an entry of a folder.
#[cfg(unix)]
fn keeps_owners_apart(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o1000 != 0
}

#[cfg(not(unix))]
fn keeps_owners_apart(_metadata: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn is_entered_by_all(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o001 != 0
}

#[cfg(not(unix))]
fn stranger(_project: &Path, _folder: &Metadata) -> io::Result<Option<u32>> {
    Ok(None)
}

#[cfg(not(unix))]
fn is_written_by_all(_metadata: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_entered_by_all(_metadata: &Metadata) -> bool {
    false
}
