//! Makes a store again whose files were deleted or replaced while it was open. An open database can still be read
//! then, and is copied to where it was, unless something is there that it does not hold.

mod overwritten;
mod replaced;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use crate::checkpoint::Stamp;
use crate::connect::{BUSY, Open, connect, expected_key, open_database, write_back_at_end};
use crate::error::{Damage, StoreError, Unrestorable, at};
use crate::handle::{FileId, Handle};
use crate::history::History;
use crate::kept;
use crate::locate::prepare_for;
use crate::plain::{give_to_owner, open_plain};
use crate::presence::{Absence, beside, files_of, id, logs_at};
use crate::schema;
use crate::sharing::share;
use crate::trust::{self, LogOrigin, Trusted};
use crate::write_turns::Turns;

pub(crate) use overwritten::open_overwritten;

/// Held by the process that makes a store again, in the store's folder.
pub(crate) const LOCK: &str = "restore.lock";
/// The copy while it is being made.
pub(crate) const COPY: &str = "callstack.db.restored";

/// How a process goes on with a store that had vanished.
pub(crate) enum Restored {
    /// With the files that it has open.
    AsItIs,
    /// Everything that it held is there.
    Whole(Open),
    /// To a store that lacks events.
    Other(Open),
}

/// The key for comparing two logs of events.
#[derive(Debug)]
struct Log {
    newest: i64,
    first: Option<(i64, String)>,
}

/// Makes the store at `path` usable again: as `open` has it, or as it is there.
pub(crate) fn restore(
    path: &Path,
    trusted: Option<&Trusted>,
    open: &mut Open,
    absence: Absence,
    turns: &Turns,
) -> Result<Restored, StoreError> {
    if absence == Absence::Unmarked {
        return unmarked(path, trusted, open);
    }
    let Some(mut newer) = turns.take_newer_than(open.file()) else {
        return restore_from(path, trusted, open, absence, turns);
    };
    let absence = newer.absence(path);
    let restored = match absence {
        // Another connection of this process has made it again.
        None => connect(path, trusted).map(Restored::Whole),
        Some(absence) => restore_from(path, trusted, &mut newer, absence, turns),
    };
    if restored.is_err() || absence.is_none() {
        turns.found(newer);
    }
    restored
}

/// Goes on with a store whose mark is gone or another one. Its files are there.
fn unmarked(
    path: &Path,
    trusted: Option<&Trusted>,
    open: &mut Open,
) -> Result<Restored, StoreError> {
    if let Some(trusted) = trusted {
        trusted.settle(true, None)?;
    }
    if let (_, Some(presence)) = open.parts() {
        presence.accept_mark(path);
    }
    Ok(Restored::AsItIs)
}

fn restore_from(
    path: &Path,
    trusted: Option<&Trusted>,
    open: &mut Open,
    absence: Absence,
    turns: &Turns,
) -> Result<Restored, StoreError> {
    let gone = |cause: Unrestorable| StoreError::Vanished { path: path.to_path_buf(), cause };
    let failed = |error: StoreError| gone(error.into());
    let folder = path.parent().unwrap_or(path);
    let project = folder.parent().unwrap_or(folder);
    if !project.is_dir() {
        return Err(gone(Unrestorable::NoProject));
    }
    let owner = open.metadata();
    if let Some(trusted) = trusted {
        let is_own = !matches!(absence, Absence::Missing | Absence::Replaced);
        trusted.settle(is_own, owner.as_ref()).map_err(failed)?;
    }
    wait_until_still(path);
    prepare_for(project, owner.as_ref()).map_err(failed)?;
    let alone = alone(&folder.join(LOCK), BUSY).map_err(failed)?;
    if let Some(owner) = &owner {
        share(&alone, owner);
    }
    // Another process may have dealt with it meanwhile.
    let absence = match open.parts() {
        (_, Some(presence)) => presence.absence(path, BUSY),
        (_, None) => Some(absence),
    };
    let Some(absence) = absence else { return connect(path, trusted).map(Restored::Whole) };
    if absence == Absence::Overwritten {
        return overwritten::restore(path, trusted, open, turns, false);
    }
    let ours = log_of(open).map_err(|source| at(path, source));
    let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size(path) > 0 {
        // Somebody else may have made it again, or made another one.
        let expected = expected_key(trusted)?;
        let is_ours = absence == Absence::WithoutLog;
        if is_ours && open.presence.as_ref().is_some_and(|it| it.has_other_log(path)) {
            if trust::log_origin(path, trusted)? == LogOrigin::Own {
                return overwritten::restore(path, trusted, open, turns, true);
            }
            trust::put_log_aside(path)?;
        }
        if !is_ours {
            if Handle::are_logs_of_another(path, logs_at(path)) {
                let settled = replaced::settle(path, trusted, open, turns);
                if let Some(restored) = settled.map_err(|error| of_distrust(error, gone))? {
                    return Ok(restored);
                }
            }
            trust::check_log(path, trusted)?;
            let mut found = open_database(path)?;
            found.busy_timeout(BUSY).map_err(|source| at(path, source))?;
            schema::check_ours(&found, path)?;
            if let Err(error) = trust::check_key(&found, path, expected.as_ref())
                && !is_without_events(&found)
            {
                return Err(of_distrust(error, gone));
            }
            // Nobody writes to it until it is replaced, if it is.
            let theirs = found
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .map_err(|source| at(path, source))?;
            let newest = log_of(&theirs).map_or(0, |log| log.newest);
            let holds_ours = match &ours {
                Ok(log) => holds(&theirs, open, log).unwrap_or(false),
                Err(_) => false,
            };
            if holds_ours || newest > 0 {
                drop(theirs);
                drop(found);
                if !holds_ours {
                    // It may be an earlier state of the same store, which lacks what stands in the log.
                    drop(kept::save(open, trusted));
                }
                let new = connect(path, trusted).map_err(|error| of_distrust(error, gone))?;
                drop(alone);
                if holds_ours {
                    turns.found(connect(path, trusted)?);
                    return Ok(Restored::Whole(new));
                }
                let history = History::of(&new).map_err(|source| at(path, source))?;
                turns.replaced(new.file(), History::of(open).unwrap_or_default(), history);
                return Ok(Restored::Other(new));
            }
            ours?;
            put(path, open).and_then(|()| trusted.map_or(Ok(()), Trusted::mark)).map_err(failed)?;
            // Whoever waited for it finds that it is another file.
            drop(theirs);
            return finished(path, trusted, turns);
        }
    }
    ours.map_err(|error| unreadable(path, absence, error))?;
    if let Some(restored) = put_back_newer(path, trusted, open, absence, turns)? {
        return Ok(restored);
    }
    let put = put(path, open);
    if absence == Absence::WithoutLog && matches!(put, Err(StoreError::Corrupt { .. })) {
        // It was overwritten before its log was taken away.
        return overwritten::restore(path, trusted, open, turns, false);
    }
    put.map_err(|error| match absence {
        Absence::Emptied => unreadable(path, absence, error),
        _ => failed(error),
    })?;
    finished(path, trusted, turns)
}

/// Puts a database back that another process has made and changed since `open` was opened, if it was kept. Returns none
/// if there is none.
fn put_back_newer(
    path: &Path,
    trusted: Option<&Trusted>,
    open: &Open,
    absence: Absence,
    turns: &Turns,
) -> Result<Option<Restored>, StoreError> {
    if absence != Absence::Missing || !kept::has_newer(open, trusted)? {
        return Ok(None);
    }
    if kept::put_back(path, trusted)? {
        let new = connect(path, trusted)?;
        turns.found(connect(path, trusted)?);
        return Ok(Some(Restored::Whole(new)));
    }
    if path.exists() {
        return Err(StoreError::Disturbed { path: path.to_path_buf() });
    }
    Ok(None)
}

/// Has a database that may not be opened count as one that is gone.
fn of_distrust(error: StoreError, gone: impl FnOnce(Unrestorable) -> StoreError) -> StoreError {
    match error {
        StoreError::Distrusted(distrust) => gone(distrust.into()),
        error => error,
    }
}

/// Waits until files are no longer deleted beside a database, and nobody writes to it: whoever deletes would go on to
/// the new ones, and half of a copy is no database. The wait is limited; later changes are noticed later.
fn wait_until_still(path: &Path) {
    const PATIENCE: Duration = Duration::from_millis(500);
    const STILL: Duration = Duration::from_millis(10);
    let folder = path.parent().unwrap_or(path);
    let state = || -> (BTreeSet<OsString>, Option<Stamp>) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        (entries.map(|entry| entry.file_name()).collect(), Stamp::at(path).ok())
    };
    let begun = Instant::now();
    let mut before = state();
    while begun.elapsed() < PATIENCE {
        std::thread::sleep(STILL);
        let now = state();
        if before.0.is_subset(&now.0) && before.1 == now.1 {
            return;
        }
        before = now;
    }
}

fn finished(path: &Path, trusted: Option<&Trusted>, turns: &Turns) -> Result<Restored, StoreError> {
    let new = connect(path, trusted)?;
    turns.restored(connect(path, trusted)?);
    Ok(Restored::Whole(new))
}

/// A store that was emptied in place loses everything that is not in the write-ahead log.
fn unreadable(path: &Path, absence: Absence, error: StoreError) -> StoreError {
    let path = path.to_path_buf();
    match absence {
        Absence::Emptied => StoreError::Corrupt { path, damage: Damage::Emptied },
        _ => StoreError::Vanished { path, cause: error.into() },
    }
}

/// Puts a copy of a database at `path`, on the disk as a whole or not at all.
fn put(path: &Path, from: &mut Open) -> Result<(), StoreError> {
    let copy = path.with_file_name(COPY);
    let outcome = copy_and_rename(&copy, path, from);
    if outcome.is_err() {
        // The next attempt begins with removing it.
        drop(remove_copy(&copy));
    }
    outcome
}

fn copy_and_rename(copy: &Path, path: &Path, from: &mut Open) -> Result<(), StoreError> {
    let begun = Instant::now();
    let owner = from.metadata();
    loop {
        let version = version(from).map_err(|source| at(path, source))?;
        copied(copy, from)?;
        if let (Ok(copied), Some(owner)) = (File::open(copy), &owner) {
            share(&copied, owner);
        }
        let alone = from
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|source| at(path, source))?;
        // Another connection may have written while it was copied. From here on none does: the next holder of the
        // lock finds another file at the path.
        if self::version(&alone).map_err(|source| at(path, source))? != version {
            if begun.elapsed() > BUSY {
                return Err(StoreError::Busy { path: path.to_path_buf() });
            }
            continue;
        }
        return replace(copy, path);
    }
}

/// Puts a copy in the place of a database. The caller keeps everybody else from writing to that.
fn replace(copy: &Path, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    // A log that stays there would be taken for this one's.
    for stale in beside(path) {
        remove(&stale)?;
    }
    fs::rename(copy, path).map_err(failed)?;
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// Changes with every commit of another connection.
fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA data_version", [], |row| row.get(0))
}

/// Copies a database as a connection sees it, on the disk as one file.
pub(crate) fn copied(copy: &Path, from: &Connection) -> Result<(), StoreError> {
    let failed = |source| at(copy, source);
    let io = |source| StoreError::Io { path: copy.to_path_buf(), source };
    let unreadable = |damage| Err(StoreError::Corrupt { path: copy.to_path_buf(), damage });
    let newest = log_of(from).map_err(failed)?.newest;
    begin(copy)?;
    let mut to = open_database(copy)?;
    write_back_at_end(&to, true).map_err(failed)?;
    let step = Backup::new(from, &mut to).and_then(|backup| backup.step(-1)).map_err(failed)?;
    if step != StepResult::Done {
        return Err(StoreError::Busy { path: copy.to_path_buf() });
    }
    let damage: String =
        to.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if damage != "ok" {
        return unreadable(Damage::Checked(damage));
    }
    if log_of(&to).map_err(failed)?.newest < newest {
        return unreadable(Damage::EventsMissing);
    }
    to.close().map_err(|(_, source)| failed(source))?;
    let copy = open_plain(OpenOptions::new().write(true), copy);
    copy.and_then(|copy| copy.sync_all()).map_err(io)
}

/// Makes an empty file for a copy, in place of the remains of an earlier one.
fn begin(copy: &Path) -> Result<(), StoreError> {
    remove_copy(copy)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let made = open_plain(&mut options, copy);
    made.map(drop).map_err(|source| StoreError::Io { path: copy.to_path_buf(), source })
}

/// Deletes what is there of a copy.
pub(crate) fn remove_copy(copy: &Path) -> Result<(), StoreError> {
    files_of(copy).iter().try_for_each(|file| remove(file))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::Io { path: path.to_path_buf(), source })
        }
        _ => Ok(()),
    }
}

fn log_of(connection: &Connection) -> rusqlite::Result<Log> {
    let newest =
        connection.query_row("SELECT coalesce(max(seq), 0) FROM events", [], |row| row.get(0))?;
    let first = connection.query_row("SELECT min(seq) FROM events", [], |row| row.get(0))?;
    let first: Option<i64> = first;
    let first = match first {
        Some(first) => event(connection, first)?,
        None => None,
    };
    Ok(Log { newest, first })
}

/// Whether a database has an empty table of events. A view of that name would be a program of whoever made it.
fn is_without_events(connection: &Connection) -> bool {
    let is_table = "SELECT count(*) FROM sqlite_schema
                    WHERE type = 'table' AND name = 'events' AND rootpage > 0";
    let count = |statement| connection.query_row(statement, [], |row| row.get::<_, i64>(0));
    count(is_table).is_ok_and(|tables| tables == 1)
        && count("SELECT count(*) FROM (SELECT 1 FROM events LIMIT 1)").is_ok_and(|rows| rows == 0)
}

fn event(connection: &Connection, seq: i64) -> rusqlite::Result<Option<(i64, String)>> {
    connection
        .query_row("SELECT at, body FROM events WHERE seq = ?1", [seq], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()
}

/// Whether a log of events begins with all of another one.
fn holds(theirs: &Connection, ours: &Connection, log: &Log) -> rusqlite::Result<bool> {
    Ok(log.newest == 0
        || (log_of(theirs)?.first == log.first
            && event(theirs, log.newest)? == event(ours, log.newest)?))
}

/// Waits up to `patience` for the lock in the file at `path`, which keeps other processes from the same work as long as
/// the result is held.
pub(crate) fn alone(path: &Path, patience: Duration) -> Result<File, StoreError> {
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    let begun = Instant::now();
    loop {
        let file = open_plain(&mut options, path).map_err(failed)?;
        give_to_owner(&file, path.parent().unwrap_or(path));
        match file.try_lock() {
            // The folder may have been deleted while this waited.
            Ok(()) if id(path) == FileId::of(&file.metadata().map_err(failed)?) => {
                return Ok(file);
            }
            Ok(()) => {}
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) if begun.elapsed() > patience => {
                return Err(StoreError::Busy { path: path.to_path_buf() });
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
