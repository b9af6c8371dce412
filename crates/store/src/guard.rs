//! Watches the files of a store that a process has open but is not using. If they are deleted, only the process's open
//! files still have the data, which would be lost when it ends, and which other processes would believe lost. For the
//! same reason the write-ahead log is checkpointed when idle: the database then has everything, also where its log has
//! no hard link elsewhere.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::checkpoint::Stamp;
use crate::locate::keep_from_git_again;
use crate::sharing::end_sharing;
use crate::store::Store;

/// The time between two looks.
const PERIOD: Duration = Duration::from_millis(500);
/// The looks in a row that find the write-ahead log as it was, until it is written back: 5 s.
const QUIET: u32 = 10;

/// Makes a store again soon after its files were deleted or replaced, as long as this is kept, and once more at its end.
///
/// Where the whole folder is gone, the next use of the store makes it again: somebody may be deleting the project.
#[derive(Debug)]
pub struct Guard {
    store: Weak<Store>,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Guard {
    /// Returns the final check, for a process that ends without dropping this guard, such as by a signal.
    pub fn last_check(&self) -> impl FnOnce() + Send + use<> {
        let store = self.store.clone();
        move || check_once_more(&store)
    }

    /// Begins to look after a store. Without a thread it is looked after at the end alone.
    pub fn of(store: &Arc<Store>) -> Self {
        let (store, state) = (Arc::downgrade(store), Arc::<State>::default());
        let (looked_after, shared) = (store.clone(), Arc::clone(&state));
        let thread = std::thread::Builder::new().name("store".to_owned()).spawn(move || {
            let mut log = Log::default();
            while shared.is_still_wanted() {
                check(&looked_after);
                log.check(&looked_after);
            }
        });
        Self { store, state, thread: thread.ok() }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        *self.state.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.state.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // One that panicked has nothing more to do.
            drop(thread.join());
        }
        check_once_more(&self.store);
    }
}

impl State {
    /// Waits for the next look. False at the end.
    fn is_still_wanted(&self) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_over, PERIOD, |is_over| !*is_over);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Looks at the end of a process, which is the last one to hold what it can't put back.
fn check_once_more(store: &Weak<Store>) {
    check(store);
    if let Some(store) = store.upgrade() {
        store.save();
        // Where the log is deleted, not every home that uses the store has a link to it.
        store.write_back();
    }
}

fn check(store: &Weak<Store>) {
    let Some(store) = store.upgrade() else { return };
    end_sharing(store.path());
    if store.is_disturbed() && store.check_files().is_err() {
        // The next use of the store says what is wrong. What this process holds is kept in case that it gets SIGKILL.
        store.save();
    }
    if let Some(folder) = store.path().parent() {
        keep_from_git_again(folder);
    }
}

/// The write-ahead log, as the last looks found it.
#[derive(Debug, Default)]
struct Log {
    stamp: Option<Stamp>,
    /// How many looks in a row found it so, up to the one at which it is written back.
    quiet: u32,
}

impl Log {
    fn check(&mut self, store: &Weak<Store>) {
        let Some(store) = store.upgrade() else { return };
        let stamp = store.log_stamp();
        if stamp != self.stamp {
            *self = Self { stamp, quiet: 0 };
        } else if stamp.is_some() && self.quiet < QUIET {
            self.quiet += 1;
            if self.quiet == QUIET && !store.write_back() {
                self.quiet -= 1;
            }
        }
    }
}
