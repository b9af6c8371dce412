//! Opening a store, reading it and changing it.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use callstack_core::event::Event;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params, TransactionBehavior};
use sha2::{Digest as _, Sha256};

use crate::change::Change;
use crate::error::{StoreError, at};
use crate::locate::DATABASE;
use crate::messages::hex;
use crate::plain::open_plain;
use crate::schema;
use crate::trust::Trusted;
use crate::turns::Turns;
use crate::unreadable::{bytes_of, event_of};

/// How long a process waits for another one that writes.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// An open store. May be shared between threads; each call is one transaction.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Mutex<Connection>,
    turns: Turns,
    read_only: bool,
    observer: OnceLock<Observer>,
}

type Observe = dyn Fn(&[(i64, Event)]) + Send + Sync;

struct Observer(Box<Observe>);

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer")
    }
}

impl Store {
    /// Opens a project's store, making it if there is none yet.
    ///
    /// A store that can't be written is opened for reading; a damaged or newer one is refused and
    /// left as it is.
    pub fn open(trusted: &Trusted) -> Result<Self, StoreError> {
        Self::open_unchecked(&trusted.folder())
    }

    /// The same for a folder that nothing is asked about, for tests, examples and measurements.
    pub fn open_unchecked(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(DATABASE);
        if !writable(folder, &path)? {
            return Self::open_read_only(path);
        }
        let failed = |source| at(&path, source);
        refuse_emptied(&path)?;
        check_beginning(&path)?;
        let resolved = folder.canonicalize();
        let resolved = resolved.map_err(|source| StoreError::Io { path: path.clone(), source })?;
        let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let opened = Connection::open_with_flags(resolved.join(DATABASE), flags);
        let mut connection = opened.map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        // Before anything is set in it: it may be another program's.
        schema::check_ours(&connection, &path)?;
        configure(&connection).map_err(failed)?;
        schema::migrate(&mut connection, &path)?;
        let turns = Turns::at(&path);
        Ok(Self::of(path, connection, turns, false))
    }

    fn of(path: PathBuf, connection: Connection, turns: Turns, read_only: bool) -> Self {
        let connection = Mutex::new(connection);
        Self { path, connection, turns, read_only, observer: OnceLock::new() }
    }

    /// Has `observer` told of the events of each change that goes through this store object, with the
    /// time of each, once they are on the disk. It must be quick: the change's caller waits for it. Only
    /// the first observer counts.
    pub fn observe(&self, observer: impl Fn(&[(i64, Event)]) + Send + Sync + 'static) {
        // There is one already: its owner has made the store.
        drop(self.observer.set(Observer(Box::new(observer))));
    }

    /// A store in memory, for tests and simulations.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let mut connection = Connection::open_in_memory().map_err(|source| at(&path, source))?;
        configure(&connection).map_err(|source| at(&path, source))?;
        schema::migrate(&mut connection, &path)?;
        Ok(Self::of(path, connection, Turns::default(), false))
    }

    fn open_read_only(path: PathBuf) -> Result<Self, StoreError> {
        let failed = |source| at(&path, source);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let plain = Connection::open_with_flags(&path, flags).and_then(|connection| {
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            Ok(connection)
        });
        // In a folder that can't be written, WAL has no place for its index; what was checkpointed
        // can still be read as an unchanging file.
        let connection = if let Ok(connection) = plain {
            connection
        } else {
            let uri = format!("file:{}?immutable=1", uri_path(&path));
            Connection::open_with_flags(uri, flags).map_err(failed)?
        };
        connection.busy_timeout(BUSY).map_err(failed)?;
        schema::check_readable(&connection, &path)?;
        Ok(Self::of(path, connection, Turns::default(), true))
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the store can only be read.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Reads in one transaction, so that all that is read belongs together.
    pub fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&View<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.lock();
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Deferred)
            .map_err(|source| at(&self.path, source))?;
        read(&View { connection: &transaction, path: &self.path })
    }

    /// Changes the store in one transaction that begins by taking the write lock. Once this returns
    /// well, the change is on the disk; otherwise there was none.
    pub fn write<T, E: From<StoreError>>(
        &self,
        write: impl FnOnce(&mut Change<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        if self.read_only {
            return Err(StoreError::ReadOnly { path: self.path.clone() }.into());
        }
        let mut connection = self.lock();
        let turn = self.turns.take();
        let failed = |source| at(&self.path, source);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let mut change = Change::new(View { connection: &transaction, path: &self.path });
        let value = write(&mut change)?;
        let events = change.into_events();
        transaction.commit().map_err(failed)?;
        drop(turn);
        drop(connection);
        if let Some(Observer(observer)) = self.observer.get()
            && !events.is_empty()
        {
            observer(&events);
        }
        Ok(value)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic in a transaction rolls it back; the connection itself stays sound.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store as one transaction sees it.
#[derive(Debug, Clone, Copy)]
pub struct View<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) path: &'c Path,
}

impl View<'_> {
    /// The number of the newest event; it changes with every change but of messages' bodies.
    pub fn revision(&self) -> Result<i64, StoreError> {
        self.connection
            .prepare_cached("SELECT coalesce(max(seq), 0) FROM events")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(|source| self.failed(source))
    }

    /// What tells this store from every other one: a hash of its first event, but for what a purge may
    /// take out of that. None while it is empty.
    pub fn identity(&self) -> Result<Option<String>, StoreError> {
        let first = self
            .connection
            .prepare_cached("SELECT at, body FROM events ORDER BY seq LIMIT 1")
            .and_then(|mut statement| {
                statement
                    .query_row([], |row| Ok((row.get::<_, i64>(0)?, bytes_of(row, 1)?)))
                    .optional()
            })
            .map_err(|source| self.failed(source))?;
        let Some((at, mut body)) = first else { return Ok(None) };
        if let Some(Event::MessagesRecorded { session, mut messages }) = event_of(&body) {
            for message in &mut messages {
                message.hash.clear();
            }
            body = serde_json::to_vec(&Event::MessagesRecorded { session, messages })?;
        }
        Ok(Some(hex(&Sha256::digest([at.to_string().as_bytes(), &body].concat())[..8])))
    }

    /// Carries out a statement that answers nothing.
    pub(crate) fn run(&self, statement: &str, params: impl Params) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(statement)
            .and_then(|mut statement| statement.execute(params))
            .map(drop)
            .map_err(|source| self.failed(source))
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> StoreError {
        at(self.path, source)
    }
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    use_write_ahead_log(connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    // What a purge frees is overwritten where that costs no further write.
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

/// Whether the database can be written, and made for its owner only if it is not there yet.
fn writable(folder: &Path, path: &Path) -> Result<bool, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    match open_plain(&mut options, path) {
        Ok(_) => Ok(folder_writable(folder)),
        Err(error) if path.exists() && is_refusal(&error) => Ok(false),
        Err(source) => Err(StoreError::Io { path: path.to_path_buf(), source }),
    }
}

/// An empty database beside a log with something in it has lost its content, and SQLite would delete
/// the log too.
fn refuse_emptied(path: &Path) -> Result<(), StoreError> {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if size(Path::new(&log)) > 0 && size(path) == 0 {
        let detail = "the database is empty, but its write-ahead log is not".to_owned();
        return Err(StoreError::Corrupt { path: path.to_path_buf(), detail });
    }
    Ok(())
}

/// SQLite takes a file that is too short to be a database for an empty one, and overwrites it.
fn check_beginning(path: &Path) -> Result<(), StoreError> {
    use std::io::Read as _;
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    let mut file = open_plain(OpenOptions::new().read(true), path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut beginning = [0; MAGIC.len()];
    // Less than SQLite's header of 100 bytes is never a database; nothing at all is a new one.
    if length == 0
        || (length >= 100 && file.read_exact(&mut beginning).is_ok() && beginning == MAGIC)
    {
        return Ok(());
    }
    Err(StoreError::Corrupt { path: path.to_path_buf(), detail: "it is not a database".to_owned() })
}

/// WAL needs to make files beside the database.
fn folder_writable(folder: &Path) -> bool {
    std::fs::metadata(folder).is_ok_and(|metadata| !metadata.permissions().readonly())
}

fn is_refusal(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
    )
}

/// A path as it stands in a URI, where it has to be ASCII and `?` and `#` mean something else.
fn uri_path(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    path.as_os_str().as_encoded_bytes().iter().fold(String::new(), |mut uri, byte| {
        if plain(*byte) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a string can't fail.
            let _ = write!(uri, "%{byte:02x}");
        }
        uri
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn each_byte_of_a_path_stands_in_its_uri() {
        let uri = |path| uri_path(Path::new(OsStr::from_bytes(path)));
        assert_eq!(uri(b"/home/a-b_c.d~/x"), "/home/a-b_c.d~/x");
        assert_eq!(uri(b"/a b/\xc3\xa9\xff?#%"), "/a%20b/%c3%a9%ff%3f%23%25");
    }

    #[test]
    fn a_store_is_opened_by_such_a_uri() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OsStr::from_bytes(b"a?b#c%41"));
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (n)").unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let uri = format!("file:{}?immutable=1", uri_path(&path));
        let connection = Connection::open_with_flags(uri, flags).unwrap();
        connection.query_row("SELECT count(*) FROM t", [], |_| Ok(())).unwrap();
    }
}
