//! Connections of one process to one database take turns in writing. SQLite has one that finds another
//! writing sleep and look again, for longer each time; a turn is had as soon as it is free.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use crate::connect::Open;
use crate::error::StoreError;
use crate::handle::FileId;
use crate::history::History;

static OPEN: Mutex<BTreeMap<PathBuf, Weak<Shared>>> = Mutex::new(BTreeMap::new());

/// The turns of one database.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    turn: Mutex<()>,
    /// The connections of the process to this database.
    open: Mutex<Vec<Weak<Mutex<Open>>>>,
    file: Mutex<Current>,
}

/// The file that the connections of the process go on with after theirs had vanished.
#[derive(Debug, Default)]
struct Current {
    id: Option<FileId>,
    /// Open on that file: the connections of the process come to it one after the other, and it may vanish before
    /// the last one has.
    keeper: Option<Open>,
    generation: u64,
    incidents: Vec<Incident>,
    /// How far the log of events had come, as far as the process knows.
    history: History,
}

/// Something that happened to the files of a store while it was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// They had vanished, and were made again with all that they held.
    Restored,
    /// Others are in their place, which hold something else.
    Replaced {
        /// How many events the one had that is gone.
        lost: u64,
    },
}

impl Turns {
    /// Returns the turns of everybody who has this database file open in this process.
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

    /// Waits until nobody else writes, and keeps everybody else from it until the result is dropped.
    pub(crate) fn take(&self) -> MutexGuard<'_, ()> {
        lock(&self.0.turn)
    }

    /// Takes note of a connection to the database.
    pub(crate) fn add(&self, connection: &Arc<Mutex<Open>>) {
        let mut open = lock(&self.0.open);
        open.retain(|it| it.strong_count() > 0);
        open.push(Arc::downgrade(connection));
    }

    /// Runs something in a turn with a connection that the process has open already, if it has one, and returns its
    /// result. The caller holds neither a connection nor the turn.
    pub(crate) fn with_another<T>(
        &self,
        act: impl FnOnce(&mut Open, &Self) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let other = lock(&self.0.open).iter().find_map(Weak::upgrade);
        let Some(other) = other else { return Ok(None) };
        loop {
            let turn = self.take();
            match other.try_lock() {
                Ok(mut open) => return act(&mut open, self),
                Err(TryLockError::Poisoned(open)) => return act(&mut open.into_inner(), self),
                Err(TryLockError::WouldBlock) => drop(turn),
            }
            // Whoever has it may be reading for long, which stops no writes.
            drop(lock(&other));
        }
    }

    /// How far the log of events had come, as far as the process knows.
    pub(crate) fn history(&self) -> History {
        lock(&self.0.file).history
    }

    /// Takes note of how far a log of events has come that was just opened.
    pub(crate) fn learn(&self, history: History) {
        let mut current = lock(&self.0.file);
        current.history = current.history.longer(history);
    }

    /// Takes note of an event that is on the disk.
    pub(crate) fn extend(&self, newest: (i64, i64)) {
        let mut current = lock(&self.0.file);
        current.history = current.history.extended(newest);
    }

    /// Takes note that the log of events is another one, in the same file.
    pub(crate) fn went_back(&self, history: History) {
        let mut current = lock(&self.0.file);
        let lost = current.history.lost_in(&history);
        current.history = history;
        current.generation += 1;
        current.incidents.push(Incident::Replaced { lost });
    }

    /// Takes note that a file was made that holds everything that the one before held.
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

    /// Takes note that a file was found that holds something else than the one before. The connections of a
    /// process find it one after the other; it counts once.
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

    /// The connection to the newest file that the process knows of, if it is another one than `file`.
    pub(crate) fn take_newer_than(&self, file: Option<FileId>) -> Option<Open> {
        let mut current = lock(&self.0.file);
        if current.id == file { None } else { current.keeper.take() }
    }

    /// Returns how often knowledge of the store became invalid, because another one had taken its place.
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
