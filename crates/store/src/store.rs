//! Opening a store, reading it and changing it.

use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use callstack_core::event::Event;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params, TransactionBehavior};
use sha2::{Digest as _, Sha256};

use crate::change::Change;
use crate::error::{StoreError, at};
use crate::handle::{FileId, Handle};
use crate::locate::DATABASE;
use crate::logs::LOGS;
use crate::messages::hex;
use crate::presence::{Presence, beside};
use crate::restore::{Restored, restore};
use crate::schema;
use crate::trust::Trusted;
use crate::turns::{Incident, Turns};
use crate::unreadable::{bytes_of, event_of};

/// How long a process waits for another one that writes.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// An open store. May be shared between threads; each call is one transaction.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Mutex<Open>,
    turns: Turns,
    read_only: bool,
    observer: OnceLock<Observer>,
    /// None for a store that nothing is asked about.
    trusted: Option<Trusted>,
}

/// A connection, and the file that it was opened on.
#[derive(Debug)]
pub(crate) struct Open {
    connection: Connection,
    pub(crate) presence: Option<Presence>,
    /// Given up after the connection: see [`crate::handle`].
    handle: Option<Arc<Handle>>,
}

impl Open {
    /// The file; none where the system does not tell.
    pub(crate) fn file(&self) -> Option<FileId> {
        self.handle.as_ref().and_then(|handle| handle.id())
    }
}

impl From<Connection> for Open {
    fn from(connection: Connection) -> Self {
        Self { connection, presence: None, handle: None }
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
        let store = Self::open_unchecked(&trusted.folder())?;
        Ok(Self { trusted: Some(trusted.clone()), ..store })
    }

    /// The same for a folder that nothing is asked about, for tests, examples and measurements.
    pub fn open_unchecked(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(DATABASE);
        refuse_emptied(&path)?;
        if writable(folder, &path)?.is_none() {
            return Self::open_read_only(path);
        }
        let open = connect(folder, &path)?;
        let turns = Turns::at(&path);
        Ok(Self::of(path, open, turns, false))
    }

    fn of(path: PathBuf, open: impl Into<Open>, turns: Turns, read_only: bool) -> Self {
        let connection = Mutex::new(open.into());
        Self { path, connection, turns, read_only, observer: OnceLock::new(), trusted: None }
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
        if connection.presence.as_ref().is_some_and(|it| it.absence(&self.path).is_some()) {
            let turn = self.turns.take();
            self.come_back(&mut connection)?;
            drop(turn);
        }
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
        self.come_back(&mut connection)?;
        let begin = |open: &mut Open| open.execute_batch("BEGIN IMMEDIATE").map_err(failed);
        begin(&mut connection)?;
        // Whoever puts another file in its place holds the lock of this one meanwhile.
        if connection.presence.as_ref().is_some_and(|it| it.absence(&self.path).is_some()) {
            connection.execute_batch("ROLLBACK").map_err(failed)?;
            self.come_back(&mut connection)?;
            begin(&mut connection)?;
        }
        let transaction = Begun { connection: &connection, is_over: false };
        let mut change = Change::new(View { connection: &connection, path: &self.path });
        let value = write(&mut change)?;
        let events = change.into_events();
        transaction.commit().map_err(failed)?;
        // What went to a file that had gone by then is in the one that is made of it.
        self.come_back(&mut connection)?;
        drop(turn);
        drop(connection);
        if let Some(Observer(observer)) = self.observer.get()
            && !events.is_empty()
        {
            observer(&events);
        }
        Ok(value)
    }

    /// Looks whether the store is still where it was opened, and makes it again if it is not. An error says that
    /// it can't be made again, or that another one is there, which the next call goes on with.
    pub fn look(&self) -> Result<(), StoreError> {
        self.read(|_| Ok(()))
    }

    /// What connections of this process to this store have in common.
    pub fn turns(&self) -> Turns {
        self.turns.clone()
    }

    /// What has happened to the files of the store since this was asked last.
    pub fn incidents(&self) -> Vec<Incident> {
        self.turns.take_incidents()
    }

    /// Goes on with the store as it is at its path. The caller has the turn.
    fn come_back(&self, open: &mut Open) -> Result<(), StoreError> {
        let absence = open.presence.as_ref().and_then(|presence| presence.absence(&self.path));
        let Some(absence) = absence else { return Ok(()) };
        match restore(&self.path, self.trusted.as_ref(), open, absence, &self.turns)? {
            Restored::Whole(new) => *open = new,
            Restored::Other(new) => {
                *open = new;
                return Err(StoreError::Replaced { path: self.path.clone() });
            }
        }
        Ok(())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Open> {
        // A panic in a transaction rolls it back; the connection itself stays sound.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write transaction under way; what is not committed is rolled back.
struct Begun<'c> {
    connection: &'c Connection,
    is_over: bool,
}

impl Begun<'_> {
    fn commit(mut self) -> rusqlite::Result<()> {
        self.connection.execute_batch("COMMIT")?;
        self.is_over = true;
        Ok(())
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // SQLite has rolled back by itself where this fails.
            drop(self.connection.execute_batch("ROLLBACK"));
        }
    }
}

/// Opens the database at `path`, which can be written.
pub(crate) fn connect(folder: &Path, path: &Path) -> Result<Open, StoreError> {
    let failed = |source| at(path, source);
    let Some(handle) = writable(folder, path)? else {
        return Err(StoreError::ReadOnly { path: path.to_path_buf() });
    };
    check_beginning(&handle, path)?;
    let mut connection = open_database(path)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    // Before anything is set in it: it may be another program's.
    schema::check_ours(&connection, path)?;
    configure(&connection).map_err(failed)?;
    schema::migrate(&mut connection, path)?;
    let presence = Presence::of(path, handle.id());
    Ok(Open { connection, presence, handle: Some(handle) })
}

/// Opens the database at `path`, unless it is a link.
pub(crate) fn open_database(path: &Path) -> Result<Connection, StoreError> {
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    // SQLite refuses links in the folders around it, too.
    let folder = path.parent().unwrap_or(path).canonicalize().map_err(failed)?;
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let resolved = folder.join(path.file_name().unwrap_or_default());
    Connection::open_with_flags(resolved, flags).map_err(|source| at(path, source))
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

/// The database, made for its owner only if it is not there yet; none if it can't be written.
fn writable(folder: &Path, path: &Path) -> Result<Option<Arc<Handle>>, StoreError> {
    match Handle::open(path) {
        Ok(handle) => Ok(folder_writable(folder).then_some(handle)),
        Err(error) if path.exists() && is_refusal(&error) => Ok(None),
        Err(source) => Err(StoreError::Io { path: path.to_path_buf(), source }),
    }
}

/// What lies in the folder of a store that held something.
const SIGNS: [&str; 4] = ["callstack.log", "callstack.log.1", "git", LOGS];

/// An empty database beside a log with something in it, or beside what is made of a store's content, has lost its
/// content; SQLite would take it for a new one, and delete the log too.
fn refuse_emptied(path: &Path) -> Result<(), StoreError> {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let [log, _] = beside(path);
    let has_log = size(&log) > 0;
    let is_known = || SIGNS.iter().any(|sign| path.with_file_name(sign).exists());
    if path.exists() && size(path) == 0 && (has_log || is_known()) {
        let detail = if has_log {
            "the database is empty, but its write-ahead log is not"
        } else {
            "the database is empty, and what lies beside it is of a store that was not"
        };
        let path = path.to_path_buf();
        return Err(StoreError::Corrupt { path, detail: detail.to_owned() });
    }
    Ok(())
}

/// SQLite takes a file that is too short to be a database for an empty one, and overwrites it.
fn check_beginning(handle: &Handle, path: &Path) -> Result<(), StoreError> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    // Less than SQLite's header is never a database; nothing at all is a new one.
    let mut header = [0; 100];
    if handle.length().map_err(failed)? == 0
        || (handle.read_beginning(&mut header).map_err(failed)? && header.starts_with(MAGIC))
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
