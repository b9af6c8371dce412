//! Opening a store, reading it and changing it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use callstack_core::event::Event;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params, TransactionBehavior};
use sha2::{Digest as _, Sha256};

use crate::change::Change;
use crate::connect::{BUSY, Open, configure, connect, refuse_emptied, uri_path, writable};
use crate::error::{StoreError, at};
use crate::history::History;
use crate::locate::DATABASE;
use crate::messages::hex;
use crate::restore::{Restored, open_overwritten, restore};
use crate::schema;
use crate::trust::Trusted;
use crate::turns::{Incident, Turns};
use crate::unreadable::{bytes_of, event_of};

/// An open store. May be shared between threads; each call is one transaction.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Arc<Mutex<Open>>,
    turns: Turns,
    read_only: bool,
    observers: Observers,
    /// None for a store that nothing is asked about.
    trusted: Option<Trusted>,
}

type Observe = dyn Fn(&[(i64, Event)]) + Send + Sync;

/// Those that are called with the events of each change.
#[derive(Default)]
struct Observers(RwLock<Vec<Arc<Observe>>>);

impl Observers {
    fn add(&self, observer: Arc<Observe>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(observer);
    }

    /// Calls each of them. One that observes the store meanwhile is called from the next change on.
    fn call(&self, events: &[(i64, Event)]) {
        let observers = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        for observer in observers {
            observer(events);
        }
    }
}

impl std::fmt::Debug for Observers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observers")
    }
}

impl Store {
    /// Opens a project's store, making it if there is none yet.
    ///
    /// A store that can't be written is opened for reading; a damaged or newer one is refused and
    /// left as it is.
    pub fn open(trusted: &Trusted) -> Result<Self, StoreError> {
        Self::open_in(&trusted.folder(), Some(trusted))
    }

    /// The same for a folder that nothing is asked about, for tests, examples and measurements.
    pub fn open_unchecked(folder: &Path) -> Result<Self, StoreError> {
        Self::open_in(folder, None)
    }

    fn open_in(folder: &Path, trusted: Option<&Trusted>) -> Result<Self, StoreError> {
        let path = folder.join(DATABASE);
        let turns = Turns::at(&path);
        let store = until_undisturbed(|| {
            turns.with_another(|open, turns| come_back(&path, trusted, open, turns))?;
            refuse_emptied(&path)?;
            if writable(folder, &path)?.is_none() {
                return Self::open_read_only(path.clone());
            }
            open_overwritten(&path, &turns)?;
            let open = connect(folder, &path)?;
            turns.learn(History::of(&open).map_err(|source| at(&path, source))?);
            Ok(Self::of(path.clone(), open, turns.clone(), false))
        })?;
        Ok(Self { trusted: trusted.cloned(), ..store })
    }

    /// A store in a file that nobody else knows of.
    pub(crate) fn over(path: PathBuf, connection: Connection) -> Self {
        Self::of(path, connection, Turns::default(), false)
    }

    fn of(path: PathBuf, open: impl Into<Open>, turns: Turns, read_only: bool) -> Self {
        let connection = Arc::new(Mutex::new(open.into()));
        turns.add(&connection);
        Self { path, connection, turns, read_only, observers: Observers::default(), trusted: None }
    }

    /// Calls `observer` with the events of each change that goes through this store object, with the time of each in
    /// milliseconds since 1970, once they are on the disk. It must be quick: the change's caller waits for it.
    /// Observers are called in the order in which they came.
    pub fn observe(&self, observer: impl Fn(&[(i64, Event)]) + Send + Sync + 'static) {
        self.observers.add(Arc::new(observer));
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
        if connection.absence(&self.path).is_some() {
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
    /// well, the change is on the disk; otherwise there was none, unless the files were exchanged or
    /// overwritten while it was committed: then it may be there or not.
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
        if connection.absence(&self.path).is_some() {
            connection.execute_batch("ROLLBACK").map_err(failed)?;
            self.come_back(&mut connection)?;
            begin(&mut connection)?;
        }
        let transaction = Begun { connection: &connection, is_over: false };
        self.check_history(&connection)?;
        let mut change = Change::new(View { connection: &connection, path: &self.path });
        let value = write(&mut change)?;
        let newest = change.newest();
        let events = change.into_events();
        transaction.commit().map_err(failed)?;
        if let Some(newest) = newest {
            self.turns.extend(newest);
        }
        // What went to a file that had gone by then is in the one that is made of it.
        self.come_back(&mut connection)?;
        connection.shorten_log(&self.path);
        drop(turn);
        drop(connection);
        if !events.is_empty() {
            self.observers.call(&events);
        }
        Ok(value)
    }

    /// Looks whether the store is still where it was opened, and makes it again if it is not. An error says that
    /// it can't be made again, or that another one is there, which the next call goes on with.
    pub fn look(&self) -> Result<(), StoreError> {
        let known = self.turns.history();
        if self.read(|view| known.is_in(view.connection).map_err(|source| view.failed(source)))? {
            return Ok(());
        }
        let connection = self.lock();
        let turn = self.turns.take();
        let outcome = self.check_history(&connection);
        drop(turn);
        outcome
    }

    /// Makes sure that all events that this process knows of are there: somebody may have restored an older state
    /// through SQLite. The caller has the turn.
    fn check_history(&self, connection: &Connection) -> Result<(), StoreError> {
        let failed = |source| at(&self.path, source);
        let known = self.turns.history();
        if known.is_in(connection).map_err(failed)? {
            return Ok(());
        }
        self.turns.went_back(History::of(connection).map_err(failed)?);
        Err(StoreError::Replaced { path: self.path.clone() })
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
        let come_back = || come_back(&self.path, self.trusted.as_ref(), open, &self.turns);
        if let Some(other) = until_undisturbed(come_back)? {
            *open = other;
            return Err(StoreError::Replaced { path: self.path.clone() });
        }
        Ok(())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Open> {
        // A panic in a transaction rolls it back; the connection itself stays sound.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes sure that a connection is to the files at the path of its store, which are made again if they have vanished.
/// Returns one to the store that has taken its place, if one has. The caller has the turn.
fn come_back(
    path: &Path,
    trusted: Option<&Trusted>,
    open: &mut Open,
    turns: &Turns,
) -> Result<Option<Open>, StoreError> {
    let Some(absence) = open.absence(path) else { return Ok(None) };
    match restore(path, trusted, open, absence, turns)? {
        Restored::AsItIs => Ok(None),
        Restored::Whole(new) => {
            *open = new;
            Ok(None)
        }
        Restored::Other(new) => Ok(Some(new)),
    }
}

/// Tries again for a while what somebody disturbs who deletes or exchanges the files just then.
fn until_undisturbed<T>(mut act: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    const PATIENCE: Duration = Duration::from_secs(2);
    const PAUSE: Duration = Duration::from_millis(5);
    let begun = Instant::now();
    loop {
        match act() {
            Err(StoreError::Disturbed { .. }) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE);
            }
            outcome => return outcome,
        }
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
