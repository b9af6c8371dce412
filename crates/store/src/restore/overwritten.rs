//! A database that was written to in place, as `cp backup.db callstack.db` does. With the write-ahead log beside it,
//! it is neither the old nor the new database, so copies are used to find out which pages belong together.

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use callstack_core::event::Event;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, TransactionBehavior, params};

use super::{COPY, LOCK, Restored, alone, begin, finished, remove_copy, replace};
use crate::checkpoint::{self, Explained, Note, Stamp};
use crate::connect::{
    BUSY, Open, are_logs_lost, configure, connect, expected_key, is_log_empty, open_database,
    uses_log, was_closed_cleanly, write_back_at_end,
};
use crate::error::{Damage, StoreError, at};
use crate::handle::Handle;
use crate::history::History;
use crate::plain::open_plain;
use crate::presence::beside;
use crate::schema;
use crate::store::{Store, View};
use crate::trust::{self, DatabaseKey, Distrust, Trusted};
use crate::unreadable::{bytes_of, event_of};
use crate::write_turns::Turns;

/// The state of a database that was written to in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Everything is there for everybody who opens it.
    AsItIs,
    /// All that was known is in the copy.
    Ours,
    /// Another state, or another store, is in the copy.
    Theirs,
}

/// How much of a store is in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Judged {
    /// Something is missing or damaged.
    Broken,
    /// It is a store without any event.
    Empty,
    /// It is a store.
    Sound,
    /// It is a store, and holds all that was known.
    Whole,
}

/// Goes on with the database as it is, with only the content of its files if another write-ahead log was begun. The
/// caller has the turn and keeps other processes from doing the same.
pub(super) fn restore(
    path: &Path,
    trusted: Option<&Trusted>,
    open: &mut Open,
    turns: &Turns,
    has_other_log: bool,
) -> Result<Restored, StoreError> {
    let stamp = Stamp::at(path).ok();
    let is_known = |open: &mut Open| {
        open.parts().1.is_some_and(|it| it.refused.is_some() && it.refused == stamp)
    };
    if is_known(open) {
        return Err(refused(path));
    }
    let expected = expected_key(trusted)?;
    let own = Some(&*open).filter(|_| !has_other_log);
    match settle(path, expected.as_ref(), own, turns.history(), false)? {
        Some(Found::AsItIs) => connect(path, trusted).map(Restored::Whole),
        Some(Found::Ours) => finished(path, trusted, turns),
        Some(Found::Theirs) => {
            let new = connect(path, trusted)?;
            let history = History::of(&new).map_err(|source| at(path, source))?;
            turns.replaced(new.file(), History::default(), history);
            Ok(Restored::Other(new))
        }
        None => {
            if let (_, Some(presence)) = open.parts() {
                presence.refused = stamp;
            }
            Err(refused(path))
        }
    }
}

/// Checks before a database is opened whether it was written to in place. If nobody has it open, it is used as it is.
pub(crate) fn open_overwritten(
    path: &Path,
    trusted: Option<&Trusted>,
    turns: &Turns,
) -> Result<(), StoreError> {
    let is_overwritten = || {
        let stamp = Stamp::at(path);
        !was_closed_cleanly(path)
            && stamp.is_ok_and(|it| {
                it.bytes() > 0 && checkpoint::explains(path, it, BUSY) == Explained::Not
            })
    };
    if !is_overwritten() {
        return Ok(());
    }
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    let expected = expected_key(trusted)?;
    trust::check_log(path, trusted)?;
    let alone = alone(&path.with_file_name(LOCK), BUSY)?;
    if is_overwritten() {
        let handle = Handle::open(path).map_err(failed)?;
        let opening = handle.opening();
        let are_logs_lost = are_logs_lost(&handle, path)?;
        drop(opening);
        refuse_foreign(path, expected.as_ref())?;
        if settle(path, expected.as_ref(), None, turns.history(), are_logs_lost)?.is_none() {
            return Err(refused(path));
        }
    }
    drop(alone);
    fs::metadata(path).map(drop).map_err(failed)
}

/// Refuses a database that has another key without the log beside it: with that, its pages would pass for ours, and be
/// overwritten by them.
fn refuse_foreign(path: &Path, expected: Option<&DatabaseKey>) -> Result<(), StoreError> {
    let Some(expected) = expected else { return Ok(()) };
    let copy = path.with_file_name(COPY);
    let key = copy_files(path, &copy, false).and_then(|()| {
        let alone = open_database(&copy)?;
        // One that has no table of keys yet has all of its content in the log.
        Ok(DatabaseKey::of(&alone).unwrap_or_default())
    });
    drop(remove_copy(&copy));
    match key? {
        Some(key) if key != *expected => {
            Err(Distrust::OtherDatabase { path: path.to_path_buf() }.into())
        }
        _ => Ok(()),
    }
}

fn refused(path: &Path) -> StoreError {
    StoreError::Corrupt { path: path.to_path_buf(), damage: Damage::Overwritten }
}

/// Finds a state in which everything belongs together, and puts it at `path`. None if there is none. If `must_replace`,
/// it is put there as another file, also where it is there already.
fn settle(
    path: &Path,
    expected: Option<&DatabaseKey>,
    open: Option<&Open>,
    known: History,
    must_replace: bool,
) -> Result<Option<Found>, StoreError> {
    let copy = path.with_file_name(COPY);
    let outcome = kept_still(path, |note| {
        let found = match find(path, &copy, expected, open, known)? {
            Some(Found::AsItIs) if must_replace => Some(Found::Ours),
            found => found,
        };
        match found {
            Some(Found::AsItIs) => {
                note.leave(path)
                    .map_err(|source| StoreError::Io { path: path.to_path_buf(), source })?;
            }
            Some(Found::Ours | Found::Theirs) => replace(&copy, path)?,
            None => {}
        }
        Ok(found)
    });
    // The next attempt begins with removing it.
    drop(remove_copy(&copy));
    outcome
}

/// Runs something while nobody writes to a database, as far as it can be read at all.
fn kept_still<T>(
    path: &Path,
    act: impl FnOnce(&mut Note) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let busy = || StoreError::Busy { path: path.to_path_buf() };
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    let mut note = Note::lock(path, BUSY).map_err(failed)?.ok_or_else(busy)?;
    let mut still = open_database(path).and_then(|connection| {
        connection.busy_timeout(BUSY).map_err(|source| at(path, source))?;
        Ok(connection)
    });
    let transaction = match &mut still {
        Ok(connection) => {
            let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
            match begun.map_err(|source| at(path, source)) {
                Err(error @ StoreError::Busy { .. }) => return Err(error),
                begun => begun.ok(),
            }
        }
        Err(_) => None,
    };
    let done = act(&mut note);
    drop(transaction);
    done
}

/// Copies candidates for a whole store, one after the other, until one is. Of those that are only sound it takes the
/// content of the files.
fn find(
    path: &Path,
    copy: &Path,
    expected: Option<&DatabaseKey>,
    open: Option<&Open>,
    known: History,
) -> Result<Option<Found>, StoreError> {
    let (is_full, is_foreign) = (Cell::new(false), Cell::new(false));
    let judge_it = |copied: Result<(), StoreError>| {
        let judged = copied.and_then(|()| judged(copy, expected, known, open.is_some()));
        is_full.set(is_full.get() || judged.as_ref().is_err_and(StoreError::is_full));
        is_foreign.set(is_foreign.get() || matches!(judged, Err(StoreError::Distrusted(_))));
        judged.unwrap_or(Judged::Broken)
    };
    let as_it_is = open_database(path).and_then(|fresh| {
        // It can't be made to use a write-ahead log while anybody has it open.
        if uses_log(&fresh) { back_up(copy, &fresh) } else { Err(refused(path)) }
    });
    let as_it_is = judge_it(as_it_is);
    if as_it_is == Judged::Whole {
        return Ok(Some(Found::AsItIs));
    }
    // An open connection may still have the earlier version of a page that was overwritten.
    if open.is_some_and(|open| judge_it(back_up(copy, open)) == Judged::Whole) {
        return Ok(Some(Found::Ours));
    }
    for with_log in [true, false] {
        match judge_it(copy_files(path, copy, with_log)) {
            Judged::Whole => return Ok(Some(Found::Ours)),
            Judged::Sound => return Ok(Some(Found::Theirs)),
            Judged::Empty | Judged::Broken => {}
        }
    }
    if is_full.get() {
        return Err(StoreError::Full { path: path.to_path_buf() });
    }
    if is_foreign.get() {
        return Err(Distrust::OtherDatabase { path: path.to_path_buf() }.into());
    }
    // If nobody has it open and nothing else is found, it was empty.
    Ok((as_it_is == Judged::Empty && open.is_none()).then_some(Found::AsItIs))
}

/// Copies a database as a connection sees it.
fn back_up(copy: &Path, from: &Connection) -> Result<(), StoreError> {
    let failed = |source| at(copy, source);
    begin(copy)?;
    let mut to = open_database(copy)?;
    write_back_at_end(&to, true).map_err(failed)?;
    let step = Backup::new(from, &mut to).and_then(|backup| backup.step(-1)).map_err(failed)?;
    if step != StepResult::Done {
        return Err(StoreError::Busy { path: copy.to_path_buf() });
    }
    to.close().map_err(|(_, source)| failed(source))
}

/// Copies a database as it lies in its files, with the write-ahead log or without.
pub(super) fn copy_files(path: &Path, copy: &Path, with_log: bool) -> Result<(), StoreError> {
    let failed = |source| StoreError::Io { path: copy.to_path_buf(), source };
    begin(copy)?;
    // To open it a second time and close it would cost this process its locks.
    let handle = Handle::open(path).map_err(failed)?;
    let mut to = open_plain(OpenOptions::new().write(true), copy).map_err(failed)?;
    handle.copy_to(&mut to).map_err(failed)?;
    let [log, _] = beside(path);
    let [log_copy, _] = beside(copy);
    if with_log {
        copy_log(&log, &log_copy).map_err(failed)?;
    }
    Ok(())
}

fn copy_log(log: &Path, copy: &Path) -> io::Result<()> {
    let mut from = match open_plain(OpenOptions::new().read(true), log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        from => from?,
    };
    let mut to = open_plain(OpenOptions::new().write(true).create_new(true), copy)?;
    io::copy(&mut from, &mut to)?;
    to.flush()
}

/// Checks a copy, rebuilds its tables where they differ from its events, and leaves it on the disk as one file.
pub(super) fn judged(
    copy: &Path,
    expected: Option<&DatabaseKey>,
    known: History,
    is_in_use: bool,
) -> Result<Judged, StoreError> {
    let mut connection = open_database(copy)?;
    schema::check_ours(&connection, copy)?;
    trust::check_key(&connection, copy, expected)?;
    write_back_at_end(&connection, true).map_err(|source| at(copy, source))?;
    configure(&connection).map_err(|source| at(copy, source))?;
    schema::migrate(&mut connection, copy, None)?;
    let store = Store::over(copy.to_path_buf(), connection);
    let health = store.check()?;
    if !health.damage.is_empty() || store.read(lacks_messages)? {
        return Ok(Judged::Broken);
    }
    if !health.drifted.is_empty() {
        store.rebuild()?;
    }
    let (history, is_whole) = store.read(|view| {
        let failed = |source| view.failed(source);
        let is_whole = known.is_in(view.connection).map_err(failed)? && !lacks_events(view)?;
        Ok::<_, StoreError>((History::of(view.connection).map_err(failed)?, is_whole))
    })?;
    drop(store);
    let failed = |source| StoreError::Io { path: copy.to_path_buf(), source };
    if !is_log_empty(copy) {
        return Ok(Judged::Broken);
    }
    let file = open_plain(OpenOptions::new().write(true), copy);
    file.and_then(|file| file.sync_all()).map_err(failed)?;
    Ok(match (is_whole, history.is_empty()) {
        (true, false) => Judged::Whole,
        // Nobody knows that there was anything.
        (true, true) if is_in_use => Judged::Whole,
        (false, false) => Judged::Sound,
        (_, true) => Judged::Empty,
    })
}

/// Events are only ever appended, so that numbers which are missing were there.
fn lacks_events(view: &View<'_>) -> Result<bool, StoreError> {
    view.connection
        .query_row("SELECT count(*), max(seq) - min(seq) + 1 FROM events", [], |row| {
            let (count, length): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(count != length.unwrap_or(0))
        })
        .map_err(|source| view.failed(source))
}

/// Whether messages are missing that the events name.
fn lacks_messages(view: &View<'_>) -> Result<bool, StoreError> {
    let failed = |source| view.failed(source);
    let mut log = view.connection.prepare("SELECT body FROM events").map_err(failed)?;
    let mut stored = view
        .connection
        .prepare("SELECT 1 FROM messages WHERE session = ?1 AND id = ?2 AND lower(hex(hash)) = ?3")
        .map_err(failed)?;
    let mut rows = log.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let body = bytes_of(row, 0).map_err(failed)?;
        let Some(Event::MessagesRecorded { session, messages }) = event_of(&body) else { continue };
        // One that was purged has no hash any more.
        for message in messages.iter().filter(|message| !message.hash.is_empty()) {
            if !stored.exists(params![session, message.id, message.hash]).map_err(failed)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
