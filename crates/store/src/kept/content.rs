//! What a database holds that is there twice: at its path, or open, and in the user's state folder.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{KEPT, alone_with, can_return};
use crate::connect::{Open, expected_key};
use crate::error::StoreError;
use crate::handle::FileId;
use crate::history::History;
use crate::presence::{beside, id};
use crate::trust::{DatabaseKey, Trusted};

/// The tables of which the others are made, with their keys and the rest of their columns.
const EVENTS: (&str, &str, &str) = ("events", "seq", "at, body");
const MESSAGES: (&str, &str, &str) =
    ("messages", "num", "session, seq, version, id, hash, at, bytes, codec, body");

/// Reads a database that nobody writes to, also what is in the log beside it.
pub(super) fn reading<T>(
    database: &Path,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let outcome = Connection::open_with_flags(database, flags).and_then(|it| read(&it));
    let [_, index] = beside(database);
    drop(fs::remove_file(index));
    outcome
}

/// Whether SQLite finds no damage.
pub(super) fn is_sound(connection: &Connection) -> rusqlite::Result<bool> {
    let check = "PRAGMA quick_check(1)";
    connection.query_row(check, [], |row| row.get::<_, String>(0)).map(|found| found == "ok")
}

/// Whether a connection holds all events and messages of another one.
pub(super) fn holds(open: &Connection, before: &Connection) -> rusqlite::Result<bool> {
    Ok(History::of(before)?.is_in(open)?
        && holds_rows(open, before, EVENTS)?
        && holds_rows(open, before, MESSAGES)?)
}

/// Whether a connection holds all rows of a table in another database.
fn holds_rows(
    open: &Connection,
    before: &Connection,
    (table, key, columns): (&str, &str, &str),
) -> rusqlite::Result<bool> {
    let row_of = |condition: &str| format!("SELECT {key}, {columns} FROM {table} {condition}");
    let order = format!("ORDER BY {key}");
    let mut theirs = before.prepare(&row_of(&order))?;
    let same = format!("WHERE {key} = ?1");
    let mut ours = open.prepare(&row_of(&same))?;
    let mut rows = theirs.query([])?;
    while let Some(row) = rows.next()? {
        let mut found = ours.query([row.get::<_, i64>(0)?])?;
        let Some(found) = found.next()? else { return Ok(false) };
        for column in 1..row.as_ref().column_count() {
            if row.get_ref(column)? != found.get_ref(column)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether the link is to another database of the store than a connection has open, and that one holds all of what this
/// one does: another process has made it again and changed it.
pub(crate) fn has_newer(open: &Open, trusted: Option<&Trusted>) -> Result<bool, StoreError> {
    let other = |file| open.file().is_some_and(|open| open != file);
    is_kept(trusted, other, |kept| holds(kept, open))
}

/// Whether the link is to another database of the store than the one at `path`, and can be put back.
pub(crate) fn has_sound(path: &Path, trusted: &Trusted) -> Result<bool, StoreError> {
    let other = |file| id(path) != Some(file);
    is_kept(Some(trusted), other, |kept| History::of(kept).map(|it| !it.is_empty()))
}

/// Whether the link is to a file as it is wanted, which is sound, has the key on record, and can be put back.
fn is_kept(
    trusted: Option<&Trusted>,
    is_file_wanted: impl FnOnce(FileId) -> bool,
    is_wanted: impl FnOnce(&Connection) -> rusqlite::Result<bool>,
) -> Result<bool, StoreError> {
    let Some((trusted, states)) = trusted.and_then(|it| Some((it, it.states()?))) else {
        return Ok(false);
    };
    let kept = states.join(KEPT);
    if !id(&kept).is_some_and(is_file_wanted) || !can_return(states, trusted.project()) {
        return Ok(false);
    }
    let Some(expected) = expected_key(Some(trusted))? else { return Ok(false) };
    let _held = alone_with(states)?;
    let found = reading(&kept, |kept| {
        let has_key = DatabaseKey::of(kept)?.as_ref() == Some(&expected);
        Ok(has_key && is_sound(kept)? && is_wanted(kept)?)
    });
    Ok(found.unwrap_or(false))
}
