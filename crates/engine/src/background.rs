//! Work that is done behind the calls that make it necessary: on a thread of its own, that begins with
//! the first wish and ends, with all done, when its owner goes.

use std::fmt;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use callstack_store::StoreError;

use crate::engine::lock;
use crate::error::EngineError;

/// How long it rests after each time: so many times as long as the work took, so that much work costs
/// a small part of a processor, and at least this long.
const REST: u32 = 10;
const LEAST_REST: Duration = Duration::from_millis(50);
/// How long it waits after a failure before it tries again.
const RETRY: Duration = Duration::from_secs(5);
/// How long one process may keep the others waiting.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is to be done each time; it keeps what it needs in between.
pub(crate) type Work = Box<dyn FnMut() -> Result<(), EngineError>>;

/// Work in the background.
#[derive(Debug)]
pub(crate) struct Background {
    shared: Arc<Shared>,
}

/// Wakes the work up.
#[derive(Clone, Debug)]
pub(crate) struct Waker {
    shared: Arc<Shared>,
}

struct Shared {
    name: &'static str,
    make: Box<dyn Fn() -> Work + Send + Sync>,
    signal: Mutex<Signal>,
    changed: Condvar,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Signal {
    wanted: bool,
    closed: bool,
    thread: Option<JoinHandle<()>>,
    failure: Option<EngineError>,
}

impl Background {
    /// Work that `make` begins, on the thread that does it; the thread has the name `name`.
    pub(crate) fn new(name: &'static str, make: impl Fn() -> Work + Send + Sync + 'static) -> Self {
        let make = Box::new(make);
        let (signal, changed) = (Mutex::default(), Condvar::new());
        Self { shared: Arc::new(Shared { name, make, signal, changed }) }
    }

    /// What others can wake it with.
    pub(crate) fn waker(&self) -> Waker {
        Waker { shared: Arc::clone(&self.shared) }
    }

    /// Has the work done, soon; returns at once.
    pub(crate) fn want(&self) {
        self.waker().want();
    }

    /// Why it last failed, until it succeeds.
    pub(crate) fn failure(&self) -> Option<EngineError> {
        lock(&self.shared.signal).failure.clone()
    }
}

impl Drop for Background {
    /// What is wanted is done before the process ends.
    fn drop(&mut self) {
        let thread = {
            let mut signal = lock(&self.shared.signal);
            signal.closed = true;
            signal.thread.take()
        };
        self.shared.changed.notify_all();
        if let Some(thread) = thread {
            // Work that panicked has nothing more to do.
            drop(thread.join());
        }
    }
}

impl Waker {
    /// Has the work done, soon; returns at once.
    pub(crate) fn want(&self) {
        let mut signal = lock(&self.shared.signal);
        signal.wanted = true;
        // One that is over has panicked: it begins anew.
        let is_over = signal.thread.as_ref().is_none_or(JoinHandle::is_finished);
        if is_over && !signal.closed {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new()
                .name(shared.name.to_owned())
                .spawn(move || shared.work());
            signal.thread = thread.ok();
        }
        drop(signal);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        let mut work = (self.make)();
        let mut rest = Duration::ZERO;
        while self.wait(rest) {
            let begun = Instant::now();
            let outcome = work();
            rest = (begun.elapsed() * REST).max(LEAST_REST);
            let mut signal = lock(&self.signal);
            if let Err(error) = outcome {
                // At the end there is no second try: the next process does what is left.
                signal.wanted = !signal.closed;
                signal.failure = Some(error);
                rest = RETRY;
            } else {
                signal.failure = None;
            }
        }
    }

    /// Waits for something to do, after a rest. False when there is nothing more to come.
    fn wait(&self, rest: Duration) -> bool {
        let rested = Instant::now() + rest;
        let mut signal = lock(&self.signal);
        loop {
            if signal.closed {
                return std::mem::take(&mut signal.wanted);
            }
            let left = rested.saturating_duration_since(Instant::now());
            if left.is_zero() && signal.wanted {
                signal.wanted = false;
                return true;
            }
            // Without a wish the rest may pass unseen.
            signal = if signal.wanted {
                let waited = self.changed.wait_timeout(signal, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.changed.wait(signal).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

/// Locks a file that all processes of a project share, waiting a while for the one that holds it. It is
/// free again when what this returns is dropped.
pub(crate) fn exclusive(path: &Path) -> Result<File, EngineError> {
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    let file = File::create(path).map_err(failed)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(failed(source).into()),
            Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => {
                return Err(StoreError::Busy { path: path.to_path_buf() }.into());
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
