//! Connections of one process to one database take turns in writing. In SQLite, a connection that finds another one
//! writing sleeps and tries again, for longer each time; a turn is taken as soon as it is free.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use crate::connect::Open;
use crate::error::StoreError;
use crate::handle::FileId;
use crate::history::History;
use crate::trust::Trusted;

static OPEN: Mutex<BTreeMap<PathBuf, Weak<Shared>>> = Mutex::new(BTreeMap::new());

/// The turns of one database.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    turn: Mutex<()>,
    /// The connections of the process to this database.
    open: Mutex<Vec<Known>>,
    file: Mutex<Current>,
}

/// A connection, and the proof by which it was opened.
#[derive(Debug)]
struct Known {
    connection: Weak<Mutex<Open>>,
    trusted: Option<Trusted>,
}

/// The file with which the connections of the process continue after theirs had vanished.
#[derive(Debug, Default)]
struct Current {
    id: Option<FileId>,
    /// A connection to that file: the connections of the process change to it one after the other, and it may vanish
    /// before the last one has.
    keeper: Option<Open>,
    generation: u64,
    incidents: Vec<Incident>,
    /// The end of the log of events that the process knows of.
    history: History,
}

/// Something that happened to the files of a store while it was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// They had vanished, and were made again with all of their content.
    Restored,
    /// Some of them had vanished, and their write-ahead log was not known to be the store's own: it was put aside.
    WithoutLog,
    /// They were deleted before it was opened, and there was nothing to restore them from. An empty store was begun.
    Gone,
    /// An earlier state is in their place. The later one was put aside.
    PutAside,
    /// Others are in their place, with other content.
    Replaced {
        /// The number of events in the store that is gone.
        lost: u64,
    },
}

impl Turns {
    /// Returns the turns of all connections of this process to a database file.
    pub(crate) fn at(path: &Path) -> Self {
        let mut open = lock(&OPEN);
        if let Some(turns) = open.get(path).and_then(Weak::upgrade) {
            return Self(turns);
        }
        open.retain(|_, turns| turns.strong_count() > 0);
        let turns = Self::default();
        open.insert(path.to_path_buf(), Arc::downgrade(&turns.0));
        turns
    }

    /// Waits until no other connection writes, and keeps all others from writing until the result is dropped.
    pub(crate) fn take(&self) -> MutexGuard<'_, ()> {
        lock(&self.0.turn)
    }

    /// The same without waiting; none if another connection writes.
    pub(crate) fn try_take(&self) -> Option<MutexGuard<'_, ()>> {
        match self.0.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Takes note of a connection to the database.
    pub(crate) fn add(&self, connection: &Arc<Mutex<Open>>, trusted: Option<&Trusted>) {
        let mut open = lock(&self.0.open);
        open.retain(|it| it.connection.strong_count() > 0);
        let connection = Arc::downgrade(connection);
        open.push(Known { connection, trusted: trusted.cloned() });
    }

    /// Runs something in a turn with an open connection of the process and the proof by which it was opened, if there is
    /// one, and returns its result. The caller must hold neither a connection nor the turn.
    pub(crate) fn with_another<T>(
        &self,
        act: impl FnOnce(&mut Open, Option<&Trusted>) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let other = lock(&self.0.open)
            .iter()
            .find_map(|known| Some((known.connection.upgrade()?, known.trusted.clone())));
        let Some((other, trusted)) = other else { return Ok(None) };
        loop {
            let turn = self.take();
            match other.try_lock() {
                Ok(mut open) => return act(&mut open, trusted.as_ref()),
                Err(TryLockError::Poisoned(open)) => {
                    return act(&mut open.into_inner(), trusted.as_ref());
                }
                Err(TryLockError::WouldBlock) => drop(turn),
            }
            // Its holder may be reading for long, which stops no writes.
            drop(lock(&other));
        }
    }

    /// The end of the log of events that the process knows of.
    pub(crate) fn history(&self) -> History {
        lock(&self.0.file).history
    }

    /// Records the end of a log of events that was just opened.
    pub(crate) fn learn(&self, history: History) {
        let mut current = lock(&self.0.file);
        current.history = current.history.longer(history);
    }

    /// Takes note of an event that is on the disk.
    pub(crate) fn extend(&self, newest: (i64, i64)) {
        let mut current = lock(&self.0.file);
        current.history = current.history.extended(newest);
    }

    /// Records that the log of events is another one, in the same file.
    pub(crate) fn went_back(&self, history: History) {
        let mut current = lock(&self.0.file);
        let lost = current.history.lost_in(&history);
        current.history = history;
        current.generation += 1;
        current.incidents.push(Incident::Replaced { lost });
    }

    /// Takes note of something that was found when the database was opened.
    pub(crate) fn happened(&self, incident: Incident) {
        lock(&self.0.file).incidents.push(incident);
    }

    /// Records that a file was made with all content of the one before.
    pub(crate) fn restored(&self, keeper: Open) {
        self.found(keeper);
        lock(&self.0.file).incidents.push(Incident::Restored);
    }

    /// The same for a file that somebody else has made.
    pub(crate) fn found(&self, keeper: Open) {
        let mut current = lock(&self.0.file);
        current.id = keeper.file();
        current.keeper = Some(keeper);
    }

    /// Records that a file with other content than the one before was found. The connections of a process find it one
    /// after the other; it counts once.
    pub(crate) fn replaced(&self, file: Option<FileId>, before: History, history: History) {
        let mut current = lock(&self.0.file);
        if file.is_none() || current.id != file {
            let lost = current.history.longer(before).lost_in(&history);
            current.id = file;
            current.keeper = None;
            current.history = history;
            current.generation += 1;
            current.incidents.push(Incident::Replaced { lost });
        }
    }

    /// Returns the connection to the newest file that the process knows of, unless that is `file`.
    pub(crate) fn take_newer_than(&self, file: Option<FileId>) -> Option<Open> {
        let mut current = lock(&self.0.file);
        if current.id == file { None } else { current.keeper.take() }
    }

    /// Returns how often another store took the place of this one, so that all knowledge of it became invalid.
    pub fn generation(&self) -> u64 {
        lock(&self.0.file).generation
    }

    /// Returns the incidents since the last call.
    pub(crate) fn take_incidents(&self) -> Vec<Incident> {
        std::mem::take(&mut lock(&self.0.file).incidents)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No state is half changed while these locks are held: a panic in a turn rolls its transaction back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "write_turns_tests.rs"]
mod tests;
