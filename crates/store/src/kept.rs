//! A second name of a database, in the user's state folder. Git ignores a store, and therefore removes it without a
//! word where a checkout, or `git clean`, wants its place.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::connect::Open;
use crate::elsewhere;
use crate::error::StoreError;
use crate::handle::Handle;
use crate::plain::open_plain;
use crate::presence::{beside, id};
use crate::restore::copied;
use crate::trust::Trusted;

/// The second name, in the store's folder there.
pub(crate) const KEPT: &str = "callstack.db";
/// A new one before it takes the place of the one before.
const NEW: &str = "callstack.db.new";

/// Gives the database at `path` its second name. It has none where the system can't give it one, as between two file
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

/// Puts a copy of what a connection holds in the place of the second name of its database, which has no log of writes.
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

/// Whether the database has its second name alone, and no process has it open that could put it back itself.
pub(crate) fn is_unused(trusted: Option<&Trusted>) -> bool {
    let Some((kept, _)) = names(trusted) else { return false };
    if !kept.parent().is_some_and(is_only_name) || Handle::is_open_at(&kept) {
        return false;
    }
    let file = open_plain(OpenOptions::new().read(true), &kept);
    file.and_then(|file| elsewhere::has_open(&file)).is_ok_and(|is_open| !is_open)
}

/// Puts a database back that is not at `path` any more. False if it is there, or has no second name.
pub(crate) fn put_back(path: &Path, trusted: Option<&Trusted>) -> Result<bool, StoreError> {
    let Some((kept, _)) = names(trusted) else { return Ok(false) };
    // One that has another name is in use there: its project was moved.
    if !kept.parent().is_some_and(is_only_name) || path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    match fs::hard_link(&kept, path) {
        Ok(()) => {}
        // Another process was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(source) => return Err(failed(source)),
    }
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(true)
}

/// Whether the folder of a store holds the only name of its database.
pub(crate) fn is_only_name(states: &Path) -> bool {
    let kept = states.join(KEPT);
    fs::symlink_metadata(&kept).is_ok_and(|it| it.is_file() && it.len() > 0)
        && !has_other_name(&kept)
}

/// Gives a copied project a database of its own: `cp -l` makes no copy, but another name.
pub(crate) fn separate(path: &Path) -> io::Result<()> {
    if !has_other_name(path) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    let mut own = tempfile::Builder::new().prefix(".callstack.db-").tempfile_in(folder)?;
    io::copy(&mut open_plain(OpenOptions::new().read(true), path)?, &mut own)?;
    own.as_file().set_permissions(fs::symlink_metadata(path)?.permissions())?;
    own.as_file().sync_all()?;
    own.persist(path)?;
    Ok(())
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
