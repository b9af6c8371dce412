//! Notifies subscribers of changes, whichever process made them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use callstack_engine::{Engine, StopWatch};
use tokio::sync::watch;

/// The length of a wait for an event, which then begins again.
const WAIT: Duration = Duration::from_mins(1);
/// The pause after the store could not be read.
const REST: Duration = Duration::from_secs(1);
/// Events that are taken at once.
const MOST: usize = 1_000;

/// Follows the events of a store while anybody has subscribed to a resource.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    state: Mutex<State>,
    /// Counts the changes.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// The resources that a client with a handshake has subscribed to.
    subscribed: BTreeSet<String>,
    /// Whether that client is notified of changes.
    is_notified: bool,
    /// Whether anybody waits for changes.
    is_wanted: bool,
    /// Ends the thread that follows the events, where there is one.
    stop: Option<StopWatch>,
}

impl Updates {
    /// Waits for changes from now on, once there is a store. Returns their receiver.
    pub(crate) fn wanted(&self, engine: Option<&Arc<Engine>>) -> watch::Receiver<u64> {
        self.lock().is_wanted = true;
        if let Some(engine) = engine {
            self.follow(engine);
        }
        self.changes.subscribe()
    }

    /// Begins to follow the events of a store where anybody waits for them.
    pub(crate) fn follow(&self, engine: &Arc<Engine>) {
        let mut state = self.lock();
        if !state.is_wanted || state.stop.is_some() {
            return;
        }
        // Where the place of the newest event can't be read, all of them are new.
        let newest = engine.newest_event().unwrap_or_default();
        let mut events = engine.watch_events(newest);
        let stop = events.stopper();
        let changes = self.changes.clone();
        let follow = move || {
            while !events.is_stopped() {
                match events.wait(WAIT).and_then(|is_new| {
                    if is_new {
                        events.next_batch(MOST)?;
                    }
                    Ok(is_new)
                }) {
                    Ok(true) => changes.send_modify(|count| *count += 1),
                    Ok(false) => {}
                    Err(_) => thread::sleep(REST),
                }
            }
        };
        let thread = thread::Builder::new().name("callstack-updates".to_owned());
        if thread.spawn(follow).is_ok() {
            state.stop = Some(stop);
        }
    }

    /// Adds a resource; returns whether the client is not notified of changes yet.
    pub(crate) fn subscribe(&self, uri: String) -> bool {
        let mut state = self.lock();
        state.subscribed.insert(uri);
        !std::mem::replace(&mut state.is_notified, true)
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.lock().subscribed.remove(uri);
    }

    /// Returns the resources that are subscribed to.
    pub(crate) fn subscribed(&self) -> Vec<String> {
        self.lock().subscribed.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Updates {
    fn drop(&mut self) {
        if let Some(stop) = &self.lock().stop {
            stop.stop();
        }
    }
}
