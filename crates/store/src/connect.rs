//! Connections to a database.

mod checks;
mod uri;

use std::fs::Metadata;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};

use crate::checkpoint::{self, Closing};
use crate::error::{StoreError, at};
use crate::handle::{FileId, Handle, LogFiles};
use crate::kept;
use crate::presence::{Absence, Presence, id, logs_at};
use crate::schema;
use crate::sharing::end_sharing;
use crate::trust::{self, DatabaseKey, LogKey, LogMark, LogOrigin, Trusted};
use checks::{check_beginning, refuse_journal};

pub(crate) use checks::{
    are_logs_lost, is_log_empty, refuse_any_journal, refuse_emptied, restore_lost,
    was_closed_cleanly, writable,
};
pub(crate) use uri::unchanging;

/// How long a process waits for another one that writes.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// A connection, and the file that it was opened on.
#[derive(Debug)]
pub(crate) struct Open {
    connection: Connection,
    pub(crate) presence: Option<Presence>,
    /// How many pages were in the write-ahead log when this connection last wrote to it.
    logged: Arc<AtomicI32>,
    /// Whether it has written to the log since that was marked.
    is_unmarked: Arc<AtomicBool>,
    /// Ended after the connection, which may take a checkpoint where it is the last one.
    closing: Option<Closing>,
    /// None where there is no write-ahead log to mark.
    mark: Option<LogMark>,
    /// Given up after the connection: see [`crate::handle`].
    handle: Option<Arc<Handle>>,
    path: PathBuf,
    /// Whether the database that was at its path before holds work that this one lacks, and was put aside.
    pub(crate) has_put_aside: bool,
    /// The hard link to the log.
    kept_log: Option<PathBuf>,
}

impl Open {
    /// The file; none where the system does not identify files.
    pub(crate) fn file(&self) -> Option<FileId> {
        self.handle.as_ref().and_then(|handle| handle.id())
    }

    /// The mode and owner of the file.
    pub(crate) fn metadata(&self) -> Option<Metadata> {
        self.handle.as_ref().and_then(|handle| handle.metadata())
    }

    /// The connection, and the files that it was opened on.
    pub(crate) fn parts(&mut self) -> (&Connection, Option<&mut Presence>) {
        (&self.connection, self.presence.as_mut())
    }

    /// Returns how the files are missing; none if they are all there.
    pub(crate) fn absence(&mut self, path: &Path) -> Option<Absence> {
        self.presence.as_mut()?.absence(path, Duration::ZERO)
    }

    /// Marks the write-ahead log as the store's own, if this connection has written to it.
    pub(crate) fn mark_log(&mut self, path: &Path) -> Result<(), StoreError> {
        if !self.is_unmarked.load(Ordering::Relaxed) {
            return Ok(());
        }
        if let (Some(mark), Some(presence)) = (&mut self.mark, &self.presence) {
            mark.put(path, presence.log(), self.logged.load(Ordering::Relaxed))?;
        }
        self.is_unmarked.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Takes a checkpoint if the write-ahead log is long. The caller has the turn and has just checked the files.
    pub(crate) fn shorten_log(&mut self, path: &Path) {
        if self.logged.load(Ordering::Relaxed) >= checkpoint::FULL {
            self.write_back(path);
        }
    }

    /// Whether no other connection to the database is open. Another one may be opened meanwhile.
    fn is_last(&self) -> bool {
        self.handle.as_ref().is_some_and(|handle| {
            Arc::strong_count(handle) == 1
                && handle.is_open_elsewhere().is_ok_and(|is_open| !is_open)
        })
    }

    /// Takes a checkpoint, under the same conditions. Returns whether all of the log is written back.
    pub(crate) fn write_back(&mut self, path: &Path) -> bool {
        self.presence
            .as_mut()
            .is_none_or(|presence| checkpoint::take(&self.connection, path, presence))
    }
}

impl From<Connection> for Open {
    fn from(connection: Connection) -> Self {
        Self {
            connection,
            presence: None,
            logged: Arc::default(),
            is_unmarked: Arc::default(),
            closing: None,
            mark: None,
            handle: None,
            path: PathBuf::new(),
            has_put_aside: false,
            kept_log: None,
        }
    }
}

impl Drop for Open {
    /// Records that closing may checkpoint, since SQLite does so when the last connection is closed. If another program
    /// has written to the log, or the log is not at its path, the checkpoint is disabled instead: if it ran out of disk
    /// space, it could not be resumed.
    fn drop(&mut self) {
        if let (Some(mark), Some(presence)) = (&self.mark, &self.presence)
            && (!mark.is_intact(&self.path, presence.log()) || presence.is_without_log(&self.path))
        {
            let never = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            drop(self.connection.set_db_config(never, true));
            return;
        }
        if let Some(presence) = &self.presence
            && self.file().is_some_and(|file| id(&self.path) == Some(file))
        {
            self.closing = Closing::begin(&self.path, presence, self.kept_log.take());
        }
        if self.closing.is_some() && self.is_last() {
            // SQLite deletes the log, and its content would stay in the hard links of other homes.
            drop(self.connection.busy_timeout(Duration::ZERO));
            drop(checkpoint::empty_log(&self.connection));
        }
    }
}

impl Deref for Open {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Open {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// Opens the database at `path`, which can be written. One that is not the database on record is refused before
/// anything but its key is read.
pub(crate) fn connect(path: &Path, trusted: Option<&Trusted>) -> Result<Open, StoreError> {
    let failed = |source| at(path, source);
    end_sharing(path);
    let expected = expected_key(trusted)?;
    let Some(handle) = writable(path)? else {
        return Err(StoreError::ReadOnly { path: path.to_path_buf() });
    };
    let opening = handle.opening();
    check_beginning(&handle, path)?;
    // One that is on record without a key may have been cut off while it was made.
    if expected.is_some() || trusted.is_some_and(Trusted::is_named) {
        refuse_journal(&handle, path)?;
    }
    trust::check_log(path, trusted)?;
    let is_fresh = was_closed_cleanly(path);
    let before = logs_at(path);
    if are_logs_lost(&handle, path)? {
        return Err(StoreError::Disturbed { path: path.to_path_buf() });
    }
    let mut connection = open_beside_journal(path)?;
    let logged = Arc::new(AtomicI32::new(0));
    // One that is adopted has no mark yet.
    let is_unmarked = Arc::new(AtomicBool::new(expected.is_none()));
    let (count, wrote) = (Arc::clone(&logged), Arc::clone(&is_unmarked));
    // Instead of SQLite's own checkpoints, which are not recorded.
    let hook = move |_: &mut Wal, pages| {
        count.store(pages, Ordering::Relaxed);
        wrote.store(true, Ordering::Relaxed);
        Ok(())
    };
    connection.wal_hook(Some(hook)).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    // Before anything is set in it: it may be another program's.
    schema::check_ours(&connection, path)?;
    trust::check_key(&connection, path, expected.as_ref())?;
    if trusted.is_some_and(Trusted::is_on_record) {
        schema::refuse_code(&connection, path)?;
    }
    write_back_at_end(&connection, true).map_err(failed)?;
    configure(&connection).map_err(failed)?;
    schema::migrate(&mut connection, path, expected.as_ref())?;
    let key = DatabaseKey::of(&connection).map_err(failed)?;
    let mut presence = match handle.id() {
        Some(id) if uses_log(&connection) => {
            let logs = logs_opened(&handle, path, before)?;
            Presence::of(path, id, logs, is_fresh)
        }
        _ => None,
    };
    drop(opening);
    if let (Some(presence), Some(_)) = (&mut presence, trusted) {
        presence.expect_mark();
    }
    let mark = match (&key, &presence) {
        (Some(key), Some(presence)) => {
            let key = LogKey::new(key.clone(), path, trusted)?;
            Some(LogMark::new(key, path, presence.log()))
        }
        _ => None,
    };
    let handle = Some(handle);
    let mut open = Open {
        connection,
        presence,
        logged,
        is_unmarked,
        closing: None,
        mark,
        handle,
        path: path.to_path_buf(),
        has_put_aside: false,
        kept_log: trusted.and_then(Trusted::states_in_force).map(|it| kept::link_to_log(&it)),
    };
    // Before the key is on record, from which on a log needs the mark.
    open.mark_log(path)?;
    if let (Some(trusted), None, Some(key)) = (trusted, &expected, &key) {
        trusted.record_key(key)?;
    }
    // Where there is no link, `callstack doctor` says so.
    open.has_put_aside = kept::keep(path, &open, trusted).unwrap_or(false);
    Ok(open)
}

/// Returns the key that a database must have.
pub(crate) fn expected_key(trusted: Option<&Trusted>) -> Result<Option<DatabaseKey>, StoreError> {
    Ok(trusted.map(Trusted::database_key).transpose()?.flatten())
}

/// Opens the database at `path`, which can't be written.
pub(crate) fn connect_read_only(
    path: &Path,
    trusted: Option<&Trusted>,
) -> Result<Connection, StoreError> {
    let failed = |source| at(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    end_sharing(path);
    let expected = expected_key(trusted)?;
    let plain = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok::<_, rusqlite::Error>(connection)
    };
    let has_own_log = trust::log_origin(path, trusted)? == LogOrigin::Own;
    // In a folder that can't be written, WAL has no place for its index; the content of the last checkpoint can still
    // be read as an unchanging file. So it is beside a log of somebody else.
    let connection = if has_own_log && let Ok(connection) = plain() {
        connection
    } else {
        Connection::open_with_flags(unchanging(path), flags).map_err(failed)?
    };
    connection.busy_timeout(BUSY).map_err(failed)?;
    schema::check_readable(&connection, path)?;
    trust::check_key(&connection, path, expected.as_ref())?;
    if trusted.is_some_and(Trusted::is_on_record) {
        schema::refuse_code(&connection, path)?;
    }
    Ok(connection)
}

/// Returns the write-ahead log and its index that a new connection has open. `before` are the files that were at their
/// paths before it was opened. Fails if these may have changed in between.
fn logs_opened(
    handle: &Handle,
    path: &Path,
    before: [Option<FileId>; 2],
) -> Result<Arc<LogFiles>, StoreError> {
    let stayed = |before: Option<FileId>, after| before.is_none() || before == after;
    match logs_at(path) {
        [Some(log), Some(index)]
            if stayed(before[0], Some(log)) && stayed(before[1], Some(index)) =>
        {
            handle.has_open([log, index])
        }
        _ => None,
    }
    .ok_or_else(|| StoreError::Disturbed { path: path.to_path_buf() })
}

/// Whether a database has a write-ahead log.
pub(crate) fn uses_log(connection: &Connection) -> bool {
    let mode = connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
    mode.is_ok_and(|mode| mode == "wal")
}

/// Opens the database at `path`, which may be foreign, in such a way that closing it writes nothing to it, since the
/// log beside it may belong to another database. Fails if `path` is a symbolic link, if this process has the database
/// open with a log that is no longer there (SQLite would share the index of that log), or if the log beside it belongs
/// to another database that this process has open. A rollback journal beside it is refused: SQLite would write its
/// content into the database.
pub(crate) fn open_database(path: &Path) -> Result<Connection, StoreError> {
    if std::fs::symlink_metadata(path).is_ok_and(|file| file.len() > 0) {
        refuse_any_journal(path)?;
    }
    open_beside_journal(path)
}

/// The same for a database whose journal was checked: one that is not on record may have been cut off while it was made.
fn open_beside_journal(path: &Path) -> Result<Connection, StoreError> {
    let logs = logs_at(path);
    if Handle::logs_open_at(path).is_some_and(|open| logs != open.map(Some))
        || Handle::are_logs_of_another(path, logs)
    {
        return Err(StoreError::Disturbed { path: path.to_path_buf() });
    }
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    // SQLite refuses links in the folders around it, too.
    let folder = path.parent().unwrap_or(path).canonicalize().map_err(failed)?;
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let resolved = folder.join(path.file_name().unwrap_or_default());
    let open = || {
        let connection = Connection::open_with_flags(resolved, flags)?;
        write_back_at_end(&connection, is_log_empty(path))?;
        Ok(connection)
    };
    open().map_err(|source| at(path, source))
}

/// Sets whether SQLite writes the log to the database when its last connection is closed, and deletes the log.
pub(crate) fn write_back_at_end(connection: &Connection, is_wanted: bool) -> rusqlite::Result<()> {
    let never = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    connection.set_db_config(never, !is_wanted).map(drop)
}

pub(crate) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    use_write_ahead_log(connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    // Pages that a purge frees are overwritten where that costs no further write.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    // Otherwise statements are compiled again whenever a value is bound that might suit another plan.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// SQLite does not wait for another connection that is making the same switch, so this does.
fn use_write_ahead_log(connection: &Connection) -> rusqlite::Result<()> {
    const PAUSE: Duration = Duration::from_millis(10);
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if begun.elapsed() < BUSY
                    && error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) =>
            {
                std::thread::sleep(PAUSE);
            }
            outcome => return outcome,
        }
    }
}
