//! Opening a store, reading it and changing it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant};

use callstack_core::event::Event;
use rusqlite::{Connection, OptionalExtension as _, Params, TransactionBehavior};
use sha2::{Digest as _, Sha256};

use crate::change::Change;
use crate::checkpoint::Stamp;
use crate::connect::{Open, configure, connect, connect_read_only, restore_lost, writable};
use crate::connections::{Access, Connections, until_undisturbed};
use crate::error::{StoreError, at};
use crate::history::History;
use crate::kept;
use crate::locate::DATABASE;
use crate::messages::hex;
use crate::presence::beside;
use crate::restore::{Restored, open_overwritten, restore};
use crate::schema;
use crate::sharing::end_sharing;
use crate::trust::{Trusted, logs_put_aside};
use crate::unreadable::{bytes_of, event_of};
use crate::watch::Signal;
use crate::write_turns::{Incident, Turns};

/// An open store. May be shared between threads; each call is one transaction.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connections: Connections,
    turns: Turns,
    /// The generation of the store that callers of this object know of.
    generation: AtomicU64,
    observers: Observers,
    /// Raised after each change through this object, and when the files of the store change.
    pub(crate) signal: Arc<Signal>,
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

    /// The same without trust, for tests, examples and measurements.
    pub fn open_unchecked(folder: &Path) -> Result<Self, StoreError> {
        Self::open_in(folder, None)
    }

    fn open_in(folder: &Path, trusted: Option<&Trusted>) -> Result<Self, StoreError> {
        let path = folder.join(DATABASE);
        let turns = Turns::at(&path);
        let begun = Instant::now();
        let logs_aside = logs_put_aside(&path);
        let mut found = None;
        until_undisturbed(|| {
            // By its own proof: the store at this path may have been deleted for good, and another one begun.
            turns.with_another(|open, trusted| come_back(&path, trusted, open, &turns))?;
            found = restore_lost(&path, trusted, begun.elapsed())?.or(found);
            if writable(&path)?.is_none() {
                let open = connect_read_only(&path, trusted)?.into();
                let (turns, access) = (Turns::default(), Access::ReadOnly);
                return Ok(Self::of(path.clone(), open, turns, access, trusted));
            }
            // Where that fails, nothing is lost.
            drop(kept::remove_remains(&path, trusted, Duration::ZERO));
            kept::part_from_log(&path, trusted)?;
            if kept::put_log_back(&path, trusted)? {
                found = Some(Incident::WithoutLog);
            }
            open_overwritten(&path, trusted, &turns)?;
            let open = connect(&path, trusted)?;
            turns.learn(History::of(&open).map_err(|source| at(&path, source))?);
            if found == Some(Incident::Restored) && logs_put_aside(&path) != logs_aside {
                found = Some(Incident::WithoutLog);
            }
            if let Some(incident) = found {
                turns.happened(incident);
            }
            if open.has_put_aside {
                turns.happened(Incident::PutAside);
            }
            Ok(Self::of(path.clone(), open, turns.clone(), Access::ReadWrite, trusted))
        })
    }

    /// Opens a store in a file that nobody else knows of.
    pub(crate) fn over(path: PathBuf, connection: Connection) -> Self {
        Self::of(path, connection.into(), Turns::default(), Access::Single, None)
    }

    fn of(
        path: PathBuf,
        open: Open,
        turns: Turns,
        access: Access,
        trusted: Option<&Trusted>,
    ) -> Self {
        let connections = Connections::new(path.clone(), open, access, trusted.cloned());
        turns.add(connections.first(), trusted);
        Self {
            path,
            connections,
            generation: AtomicU64::new(turns.generation()),
            turns,
            observers: Observers::default(),
            signal: Arc::default(),
        }
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
        schema::migrate(&mut connection, &path, None)?;
        Ok(Self::of(path, connection.into(), Turns::default(), Access::Single, None))
    }

    /// Returns the databases that were put aside, since an earlier state came into their place.
    pub fn databases_aside(&self) -> Vec<PathBuf> {
        kept::put_aside_before(self.trusted())
    }

    /// Returns all databases in the state folder that hold work which this store lacks.
    pub fn databases_with_other_work(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.with_connection(|open| Ok(kept::with_other_work(&self.path, open, self.trusted())))
    }

    /// Returns why the state folder has no hard link to the database, if it has none.
    pub(crate) fn obstacle_to_keeping(&self) -> Result<Option<String>, StoreError> {
        self.with_connection(|open| Ok(kept::obstacle(&self.path, open, self.trusted())))
    }

    pub(crate) fn trusted(&self) -> Option<&Trusted> {
        self.connections.trusted()
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the store can only be read.
    pub fn is_read_only(&self) -> bool {
        self.connections.is_read_only()
    }

    /// Reads in one transaction, so that all that is read belongs together: the last committed change is seen, and none
    /// that is committed meanwhile. Others read and write at the same time.
    pub fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&View<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut open = self.connections.take(&self.turns)?;
        if open.absence(&self.path).is_some() {
            // Whoever has the turn may need this connection.
            self.connections.give_back(open);
            let turn = self.turns.take();
            open = self.connections.take(&self.turns)?;
            self.come_back(&mut open)?;
            drop(turn);
        }
        let outcome = self.read_from(&mut open, read);
        self.connections.give_back(open);
        outcome
    }

    fn read_from<T, E: From<StoreError>>(
        &self,
        open: &mut Open,
        read: impl FnOnce(&View<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let transaction = open
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
        if self.is_read_only() {
            return Err(StoreError::ReadOnly { path: self.path.clone() }.into());
        }
        let turn = self.turns.take();
        let (value, events) = self.with_connection(|open| self.write_to(open, write))?;
        drop(turn);
        if !events.is_empty() {
            self.signal.raise();
            self.observers.call(&events);
        }
        Ok(value)
    }

    /// The caller has the turn.
    fn write_to<T, E: From<StoreError>>(
        &self,
        connection: &mut Open,
        write: impl FnOnce(&mut Change<'_>) -> Result<T, E>,
    ) -> Result<(T, Vec<(i64, Event)>), E> {
        let failed = |source| at(&self.path, source);
        self.come_back(connection)?;
        let begin = |open: &mut Open| open.execute_batch("BEGIN IMMEDIATE").map_err(failed);
        begin(connection)?;
        // Whoever puts another file in its place holds the lock of this one meanwhile.
        if connection.absence(&self.path).is_some() {
            connection.execute_batch("ROLLBACK").map_err(failed)?;
            self.come_back(connection)?;
            begin(connection)?;
        }
        let transaction = Begun { connection, is_over: false };
        self.check_history(connection)?;
        let mut change = Change::new(View { connection, path: &self.path });
        let value = write(&mut change)?;
        let newest = change.newest();
        let events = change.into_events();
        transaction.commit().map_err(failed)?;
        if let Some(newest) = newest {
            self.turns.extend(newest);
        }
        // Writes to a file that had gone by then are in the one that is made of it.
        self.come_back(connection)?;
        connection.mark_log(&self.path)?;
        connection.shorten_log(&self.path);
        Ok((value, events))
    }

    /// Whether the files of the store are not those that were opened, but its folder is there. False while the store is
    /// in use, which finds out by itself.
    pub(crate) fn is_disturbed(&self) -> bool {
        let Ok(mut open) = self.connections.first().try_lock() else { return false };
        self.path.parent().is_some_and(Path::is_dir) && open.absence(&self.path).is_some()
    }

    /// The state of the write-ahead log; none if there is none, or nothing is in it.
    pub(crate) fn log_stamp(&self) -> Option<Stamp> {
        let [log, _] = beside(&self.path);
        Stamp::at(&log).ok().filter(|stamp| stamp.bytes() > 0)
    }

    /// Writes the write-ahead log back to the database. Returns false if the store is in use just then, so that some of
    /// it may be left.
    pub(crate) fn write_back(&self) -> bool {
        if self.is_read_only() {
            return true;
        }
        let Some(turn) = self.turns.try_take() else { return false };
        let Ok(mut open) = self.connections.first().try_lock() else { return false };
        // Files that are not there any more are the business of the next use.
        let is_over = open.absence(&self.path).is_some() || open.write_back(&self.path);
        drop(turn);
        is_over
    }

    /// Keeps what this process holds where its files are gone and can't be put back, since it is about to end. A
    /// connection that is in use for long is not waited for: the end may have been asked for by a signal.
    pub(crate) fn save(&self) {
        const PATIENCE: Duration = Duration::from_millis(500);
        const PAUSE: Duration = Duration::from_millis(5);
        let begun = Instant::now();
        let mut open = loop {
            match self.connections.first().try_lock() {
                Ok(open) => break open,
                Err(TryLockError::Poisoned(open)) => break open.into_inner(),
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => return,
            }
        };
        if open.absence(&self.path).is_some() {
            // There is nobody left to say it to.
            drop(kept::save(&open, self.connections.trusted()));
        }
    }

    /// Looks whether the store is still where it was opened, and makes it again if it is not. An error says that
    /// it can't be made again, or that another one is there, which the next call goes on with.
    pub fn check_files(&self) -> Result<(), StoreError> {
        let known = self.turns.history();
        if self.read(|view| known.is_in(view.connection).map_err(|source| view.failed(source)))? {
            return Ok(());
        }
        let turn = self.turns.take();
        let outcome = self.with_connection(|open| self.check_history(open));
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

    /// Returns the state that connections of this process to this store share.
    pub fn turns(&self) -> Turns {
        self.turns.clone()
    }

    /// Returns the incidents of the store's files since the last call.
    pub fn incidents(&self) -> Vec<Incident> {
        self.turns.take_incidents()
    }

    /// Goes on with the store as it is at its path. The caller has the turn.
    fn come_back(&self, open: &mut Open) -> Result<(), StoreError> {
        let come_back = || come_back(&self.path, self.connections.trusted(), open, &self.turns);
        let Some(other) = until_undisturbed(come_back)? else { return Ok(()) };
        *open = other;
        // Each connection finds the other store; the first one that does says so.
        let generation = self.turns.generation();
        if self.generation.swap(generation, Ordering::Relaxed) == generation {
            return Ok(());
        }
        Err(StoreError::Replaced { path: self.path.clone() })
    }

    pub(crate) fn with_connection<T, E: From<StoreError>>(
        &self,
        act: impl FnOnce(&mut Open) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut open = self.connections.take(&self.turns)?;
        let outcome = act(&mut open);
        self.connections.give_back(open);
        outcome
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
    end_sharing(path);
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

/// A write transaction under way, which is rolled back unless it is committed.
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
            // Where this fails, SQLite has rolled back already.
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

    /// Returns the identity of this store: a hash of its first event, without the parts that a purge may remove. None
    /// while it is empty.
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
