//! Work after the calls that make it necessary: on a thread of its own, which starts with the first request and ends,
//! with everything done, when its owner is dropped.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use callstack_store::{StoreError, open_plain};

use crate::error::EngineError;
use crate::lock::lock;

/// The time without a request after which work begins that can wait: a host sends several requests about one call of
/// the model in a row, and so none of them waits for the disk.
const QUIET: Duration = Duration::from_millis(250);
/// The longest time that wanted work waits where requests never pause.
const LONGEST: Duration = Duration::from_secs(5);
/// The rest after each run, as a multiple of the run's time: even much work takes only a small part of a processor.
const REST: u32 = 10;
/// The wait after a failure before the next try.
const RETRY: Duration = Duration::from_secs(5);
/// The longest time that one process may keep others waiting.
const PATIENCE: Duration = Duration::from_secs(5);

/// The work of each run; it keeps its state in between.
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
    quiet: Duration,
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
    wanted: Option<Wanted>,
    closed: bool,
    thread: Option<JoinHandle<()>>,
    failure: Option<EngineError>,
}

/// The times of the first and the last request for work that is still to be done.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    first: Instant,
    last: Instant,
}

impl Wanted {
    fn again(before: Option<Self>) -> Self {
        let now = Instant::now();
        Self { first: before.map_or(now, |wanted| wanted.first), last: now }
    }

    fn due(self, quiet: Duration) -> Instant {
        (self.last + quiet).min(self.first + LONGEST)
    }
}

impl Background {
    /// Makes work that begins with the first request for it. `make` makes it on the thread that does it, which is
    /// called `name`.
    pub(crate) fn at_once(
        name: &'static str,
        make: impl Fn() -> Work + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, Duration::ZERO, Box::new(make))
    }

    /// Makes work that waits until the host's requests pause.
    pub(crate) fn when_quiet(
        name: &'static str,
        make: impl Fn() -> Work + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, QUIET, Box::new(make))
    }

    fn new(name: &'static str, quiet: Duration, make: Box<dyn Fn() -> Work + Send + Sync>) -> Self {
        let (signal, changed) = (Mutex::default(), Condvar::new());
        Self { shared: Arc::new(Shared { name, quiet, make, signal, changed }) }
    }

    /// Returns a handle with which others can wake it.
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
    /// Requested work is done before the process ends.
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
        signal.wanted = Some(Wanted::again(signal.wanted));
        // A thread that has ended has panicked: another one takes its place.
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
            rest = begun.elapsed() * REST;
            let mut signal = lock(&self.signal);
            if let Err(error) = outcome {
                // At the end there is no second try: the next process does the rest.
                signal.wanted = (!signal.closed).then(|| Wanted::again(signal.wanted));
                signal.failure = Some(error);
                rest = RETRY;
            } else {
                signal.failure = None;
            }
        }
    }

    /// Waits for work, after a rest. False when no more will come.
    fn wait(&self, rest: Duration) -> bool {
        let rested = Instant::now() + rest;
        let mut signal = lock(&self.signal);
        loop {
            if signal.closed {
                return signal.wanted.take().is_some();
            }
            let Some(wanted) = signal.wanted else {
                // Without a wish the rest may pass unseen.
                signal = self.changed.wait(signal).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = wanted.due(self.quiet).max(rested).saturating_duration_since(Instant::now());
            if left.is_zero() {
                signal.wanted = None;
                return true;
            }
            signal =
                self.changed.wait_timeout(signal, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Locks a file that all processes of a project share, waiting a while for its holder. The lock is released when the
/// result is dropped. The file is for its owner only, as are all beside it.
pub(crate) fn exclusive(path: &Path) -> Result<File, EngineError> {
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    let file = open_plain(&mut options, path).map_err(failed)?;
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_is_wished_for_again_and_again_is_done_once_and_before_the_end() {
        let times = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&times);
        let background = Background::when_quiet("counted", move || {
            let counted = Arc::clone(&counted);
            Box::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        });
        let begun = Instant::now();
        for _ in 0..100 {
            background.want();
            std::thread::yield_now();
        }
        let early = times.load(Ordering::Relaxed);
        // If the machine stood still meanwhile, that was a pause as well.
        let was_quick = begun.elapsed() < Duration::from_millis(100);
        drop(background);
        let all = times.load(Ordering::Relaxed);
        if was_quick {
            assert_eq!((early, all), (0, 1));
        }
        assert!(all > 0, "what was wished for was not done before the end");
    }
}
