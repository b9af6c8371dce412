//! Connections of one process to one database take turns in writing. SQLite has one that finds another
//! writing sleep and look again, for longer each time; a turn is had as soon as it is free.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

static OPEN: Mutex<BTreeMap<PathBuf, Weak<Mutex<()>>>> = Mutex::new(BTreeMap::new());

/// The turns of one database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<Mutex<()>>);

impl Turns {
    /// Those that everybody takes who has this database file open in this process.
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

    /// Waits until nobody else writes, and keeps everybody else from it until what this returns is dropped.
    pub(crate) fn take(&self) -> MutexGuard<'_, ()> {
        lock(&self.0)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is half done behind these locks: a panic in a turn rolls its transaction back.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
