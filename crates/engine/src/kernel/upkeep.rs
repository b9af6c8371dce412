//! Work on the store as a whole: its checks, its files, its events, its removal of texts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use callstack_core::transcript::Span;
use callstack_store::{
    Erased, EventBatch, EventCursor, Guard, Health, Incident, Purge, Rebuilt, StoreError, View,
    Watch,
};

use crate::error::EngineError;
use crate::kernel::Kernel;

impl Kernel {
    /// Has the files of the store looked after while this process does not use it.
    pub(crate) fn guard(&self) -> &Guard {
        self.guard.get_or_init(|| Guard::of(&self.connection.0))
    }

    /// Whether the store can be read but not changed.
    pub(crate) fn is_read_only(&self) -> bool {
        self.connection.0.is_read_only()
    }

    /// The database file.
    pub(crate) fn store_path(&self) -> &Path {
        self.connection.0.path()
    }

    /// Databases that were put aside, since an earlier state came into their place.
    pub(crate) fn databases_aside(&self) -> Vec<PathBuf> {
        self.connection.0.databases_aside()
    }

    /// All databases in the state folder that hold work which the store lacks.
    pub(crate) fn databases_with_other_work(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.connection.0.databases_with_other_work()
    }

    /// Looks whether the files of the store are there, and makes them again if they are not.
    pub(crate) fn look_after_files(&self) -> Result<(), StoreError> {
        self.connection.0.check_files()
    }

    /// Returns the incidents of the store's files since the last call.
    pub(crate) fn incidents(&self) -> Vec<Incident> {
        self.connection.0.incidents()
    }

    /// Whether another store has taken the place of the one that was there at the last call.
    pub(crate) fn was_replaced(&self) -> bool {
        let generation = self.connection.turns().generation();
        self.generation.swap(generation, Ordering::Relaxed) != generation
    }

    /// The events after a place, at most `limit` and about 8 MB.
    pub(crate) fn events_after(
        &self,
        after: EventCursor,
        limit: usize,
    ) -> Result<EventBatch, StoreError> {
        self.connection.0.events_after(after, limit)
    }

    /// A watch of the events after a place.
    pub(crate) fn watch_events(&self, after: EventCursor) -> Watch {
        Watch::new(Arc::clone(&self.connection.0), after)
    }

    /// Removes texts for good; `due` says which. `returned` renders the text again that stands for a span.
    pub(crate) fn purge(
        &self,
        due: impl FnOnce(&View<'_>) -> Result<Purge, EngineError>,
        returned: &dyn Fn(&View<'_>, &Span) -> Result<String, EngineError>,
    ) -> Result<(), EngineError> {
        self.connection.0.purge(self.now(), due, returned)
    }

    /// Writes the database again, so that nothing of removed texts is left in it.
    pub(crate) fn erase(&self) -> Result<Erased, StoreError> {
        self.connection.0.erase()
    }

    /// The number of events that can't be read.
    pub(crate) fn unreadable_events(&self) -> Result<u64, StoreError> {
        self.connection.0.unreadable_events()
    }

    /// Checks the store. Changes nothing.
    pub(crate) fn check(&self) -> Result<Health, EngineError> {
        Ok(self.connection.0.check()?)
    }

    /// Derives the store's tables from its events; those that can't be read are left out.
    pub(crate) fn rebuild(&self) -> Result<Rebuilt, EngineError> {
        Ok(self.connection.0.rebuild()?)
    }

    /// Whether nothing was ever done in the store.
    pub(crate) fn is_unused(&self) -> Result<bool, EngineError> {
        self.read(|view| Ok(view.revision()? == 0 && view.message_sizes()?.0 == 0))
    }

    /// Messages in the store, their bytes as they came and as they are stored.
    pub(crate) fn message_sizes(&self) -> Result<(u64, u64, u64), EngineError> {
        self.read(|view| Ok(view.message_sizes()?))
    }
}
