//! Waiting for events that any process appends.
//!
//! The system's notices of changed files are only hints. They come when the write-ahead log is written, and the commit
//! becomes visible a moment later by a change of shared memory, which makes no notice; network file systems and
//! exhausted limits make none at all. Therefore the log is checked several times after a hint, and each second in any
//! case.

mod folder;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::feed::{EventBatch, EventCursor, LoggedEvent};
use crate::store::Store;
use crate::watch::folder::{FolderWatch, Folders};

/// The pauses after a hint.
const AFTER_HINT: [Duration; 4] = [
    Duration::from_millis(2),
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(100),
];
/// The pause where nothing hints at new events.
const IDLE: Duration = Duration::from_secs(1);

/// Wakes the watches of one store object.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    raised: Mutex<u64>,
    changed: Condvar,
    folders: Folders,
}

impl Signal {
    /// Has every watch look whether there are new events.
    pub(crate) fn raise(&self) {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    fn count(&self) -> u64 {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the signal was raised more often than `known`, or the time is over. Returns the number of times
    /// that it was raised.
    fn wait(&self, known: u64, time: Duration) -> u64 {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(raised, time, |raised| *raised == known);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A reader that follows the event log and waits for its next events, whichever process appends them. There may be
/// any number of them; those of one [`Store`] share its connection and one watch of its folder.
///
/// After a restart of the reader, a watch that begins at its last [`cursor`](Self::cursor) continues without a loss
/// and without a repetition.
#[derive(Debug)]
pub struct Watch {
    store: Arc<Store>,
    cursor: EventCursor,
    is_stopped: Arc<AtomicBool>,
    folder: Option<Arc<FolderWatch>>,
}

/// Stops a watch from another thread.
#[derive(Clone, Debug)]
pub struct StopWatch {
    store: Arc<Store>,
    is_stopped: Arc<AtomicBool>,
}

impl StopWatch {
    /// Ends a wait that is going on, and makes every later one end at once.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.store.signal.raise();
    }
}

impl Watch {
    /// A watch of a store's events after a place.
    pub fn new(store: Arc<Store>, after: impl Into<EventCursor>) -> Self {
        let is_stopped = Arc::default();
        let mut watch = Self { store, cursor: after.into(), is_stopped, folder: None };
        watch.watch_folder();
        watch
    }

    /// The place up to which events were taken.
    pub fn cursor(&self) -> EventCursor {
        self.cursor
    }

    /// Returns a handle that stops the watch from another thread.
    pub fn stopper(&self) -> StopWatch {
        StopWatch { store: Arc::clone(&self.store), is_stopped: Arc::clone(&self.is_stopped) }
    }

    /// Whether the watch was stopped.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Waits until [`next_batch`](Self::next_batch) has something to return: events, or a gap. False if `timeout`
    /// passes first, or the watch was stopped.
    ///
    /// After an error, `wait` can be called again.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, StoreError> {
        let begun = Instant::now();
        let mut known = self.store.signal.count();
        let mut pauses = AFTER_HINT.iter();
        loop {
            if self.is_stopped() {
                return Ok(false);
            }
            if self.is_behind()? {
                return Ok(true);
            }
            let Some(left) = timeout.checked_sub(begun.elapsed()).filter(|it| !it.is_zero()) else {
                return Ok(false);
            };
            let pause = pauses.next().copied().unwrap_or_else(|| {
                self.watch_folder();
                IDLE
            });
            let raised = self.store.signal.wait(known, pause.min(left));
            if raised != known {
                known = raised;
                pauses = AFTER_HINT.iter();
            }
        }
    }

    /// Takes the next events, at most `limit`: those that are there already, without waiting. After a gap the watch
    /// continues from the end of the log.
    pub fn next_batch(&mut self, limit: usize) -> Result<EventBatch, StoreError> {
        let batch = self.store.events_after(self.cursor, limit)?;
        match &batch {
            EventBatch::Events(events) => {
                self.cursor = events.last().map_or(self.cursor, LoggedEvent::cursor);
            }
            EventBatch::Gap { newest } => self.cursor = *newest,
        }
        Ok(batch)
    }

    /// Whether the log has another end than this watch knows. A store that is disturbed or busy is checked again.
    fn is_behind(&self) -> Result<bool, StoreError> {
        let is_behind = self.store.read_whichever(|view| {
            let newest = view.newest_event()?;
            let is_here = newest.seq == self.cursor.seq
                && (newest.seq == 0 || self.cursor.at.is_none_or(|at| newest.at == Some(at)));
            Ok(!is_here)
        });
        match is_behind {
            Err(StoreError::Busy { .. } | StoreError::Disturbed { .. }) => Ok(false),
            outcome => outcome,
        }
    }

    /// Asks the system for notices about the store's folder, unless it gives them already. Where it can't, the log is
    /// checked each second.
    fn watch_folder(&mut self) {
        let signal = &self.store.signal;
        self.folder = signal.folders.watch(self.store.path(), signal);
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
