//! Putting a database aside whose place another one takes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::content::{holds, is_sound, reading};
use super::{KEPT, copy_of, has_other_name, is_open};
use crate::connect::is_log_empty;
use crate::history::History;
use crate::presence::{beside, id};
use crate::trust::Trusted;

/// The beginning of the names of databases that were put aside; their logs have `-wal` at the end.
const ASIDE: &str = "callstack.db-aside-";

/// Puts the database of the link aside, with its log, unless `open` holds all of its content. One with further links
/// may be written to, or deleted, through those. Returns whether it did.
pub(super) fn put_aside(states: &Path, open: &Connection) -> io::Result<bool> {
    let kept = states.join(KEPT);
    let has_content = fs::symlink_metadata(&kept).is_ok_and(|it| it.is_file() && it.len() > 0);
    if !has_content || is_held(open, &kept) {
        return Ok(false);
    }
    write_log_back(&set_aside(states, &kept)?);
    Ok(true)
}

/// Whether the database of a connection is sound and holds all of another one. A copy whose bytes were changed has the
/// same newest event.
fn is_held(open: &Connection, database: &Path) -> bool {
    reading(database, |before| Ok(is_sound(open)? && holds(open, before)?)).unwrap_or(false)
}

/// Writes the log of a database that was put aside back to it, unless a process has it open: whoever takes the database
/// back has all of it then. One with further links, such as in a snapshot, is replaced by a copy.
fn write_log_back(aside: &Path) {
    if is_log_empty(aside) || is_open(aside) {
        return;
    }
    let folder = aside.parent().unwrap_or(aside);
    let copied = || copy_of(aside, folder)?.persist(aside).map_err(|it| it.error);
    if has_other_name(aside) && copied().is_err() {
        return;
    }
    // SQLite does so when it closes the database.
    drop(Connection::open(aside).and_then(|it| History::of(&it)));
}

/// Moves a database and its log to a name that is free in the store's folder there, and returns that.
pub(super) fn set_aside(states: &Path, database: &Path) -> io::Result<PathBuf> {
    let mut number: u32 = 1;
    let aside = loop {
        let name = states.join(format!("{ASIDE}{number}"));
        match link_both(database, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            linked => break linked.map(|()| name)?,
        }
    };
    // Only now: whoever is cut off before leaves all of it under both names.
    fs::remove_file(database)?;
    match fs::remove_file(&beside(database)[0]) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(aside),
    }
}

/// Gives a database and its log a further name, if neither is taken.
fn link_both(database: &Path, name: &Path) -> io::Result<()> {
    let ([log, _], [log_name, _]) = (beside(database), beside(name));
    let has_log = match fs::hard_link(log, &log_name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        linked => linked.map(|()| true)?,
    };
    if !has_log && log_name.symlink_metadata().is_ok() {
        // SQLite would take it for this one's.
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let linked = fs::hard_link(database, name);
    if linked.is_err() && has_log {
        fs::remove_file(log_name)?;
    }
    linked
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
        if id(&kept) != id(path) && (is_open(&kept) || !is_held(open, &kept)) {
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
    // A process that had one open may have ended since.
    for database in &aside {
        write_log_back(database);
    }
    aside
}

#[cfg(test)]
#[path = "aside_tests.rs"]
mod tests;
