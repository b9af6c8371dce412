//! Runs work after the call that requested it, on a background thread. The thread starts at the first request. When its
//! owner is dropped, it finishes all pending work and ends.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use callstack_store::{StoreError, open_plain, share_file_in};

use crate::error::EngineError;
use crate::lock::lock;
use crate::world::{Waited, World};

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
/// The pause before the next look whether it has ended.
const PAUSE: Duration = Duration::from_millis(5);

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
    world: Arc<dyn World>,
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
    first: Duration,
    last: Duration,
}

impl Wanted {
    fn again(before: Option<Self>, now: Duration) -> Self {
        Self { first: before.map_or(now, |wanted| wanted.first), last: now }
    }

    fn due(self, quiet: Duration) -> Duration {
        (self.last + quiet).min(self.first + LONGEST)
    }
}

impl Background {
    /// Makes work that begins with the first request for it. `make` makes it on the thread that does it, which is
    /// called `name`.
    pub(crate) fn at_once(
        name: &'static str,
        world: Arc<dyn World>,
        make: impl Fn() -> Work + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, world, Duration::ZERO, Box::new(make))
    }

    /// Makes work that waits until the host's requests pause.
    pub(crate) fn when_quiet(
        name: &'static str,
        world: Arc<dyn World>,
        make: impl Fn() -> Work + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, world, QUIET, Box::new(make))
    }

    fn new(
        name: &'static str,
        world: Arc<dyn World>,
        quiet: Duration,
        make: Box<dyn Fn() -> Work + Send + Sync>,
    ) -> Self {
        let (signal, changed) = (Mutex::default(), Condvar::new());
        Self { shared: Arc::new(Shared { name, world, quiet, make, signal, changed }) }
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
        signal.wanted = Some(Wanted::again(signal.wanted, self.shared.world.elapsed()));
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
            let begun = self.world.elapsed();
            let outcome = work();
            let ended = self.world.elapsed();
            rest = ended.saturating_sub(begun) * REST;
            let mut signal = lock(&self.signal);
            if let Err(error) = outcome {
                // At the end there is no second try: the next process does the rest.
                signal.wanted = (!signal.closed).then(|| Wanted::again(signal.wanted, ended));
                signal.failure = Some(error);
                rest = RETRY;
            } else {
                signal.failure = None;
            }
        }
    }

    /// Waits for work, after a rest. False when no more will come.
    fn wait(&self, rest: Duration) -> bool {
        let rested = self.world.elapsed() + rest;
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
            let due = wanted.due(self.quiet).max(rested);
            let (after, outcome) = self.world.wait(&self.changed, signal, due);
            signal = after;
            if outcome == Waited::Over {
                signal.wanted = None;
                return true;
            }
        }
    }
}

/// Locks a file that all processes of a project share, waiting a while for its holder. The lock is released when the
/// result is dropped. The file is for its owner only, as are all beside it.
pub(crate) fn exclusive(path: &Path, world: &dyn World) -> Result<File, EngineError> {
    let failed = |source| StoreError::Io { path: path.to_path_buf(), source };
    let folder = path.parent().unwrap_or(path);
    if fs::symlink_metadata(folder).is_ok_and(|it| it.is_symlink()) {
        // A checkout may have brought it, and it may lead anywhere.
        return Err(
            failed(io::Error::new(io::ErrorKind::NotADirectory, "its folder is a link")).into()
        );
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    let file = open_plain(&mut options, path).map_err(failed)?;
    share_file_in(folder, &file);
    let until = world.elapsed() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(failed(source).into()),
            Err(TryLockError::WouldBlock) => match world.left(until) {
                None => return Err(StoreError::Busy { path: path.to_path_buf() }.into()),
                Some(left) => std::thread::sleep(left.min(PAUSE)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::world::Simulated;

    /// Work that is counted.
    fn counted(world: &Simulated) -> (Background, Arc<AtomicUsize>) {
        let times = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&times);
        let background = Background::when_quiet("counted", Arc::new(world.clone()), move || {
            let counted = Arc::clone(&counted);
            Box::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        });
        (background, times)
    }

    #[test]
    fn what_is_wished_for_again_and_again_is_done_once_and_before_the_end() {
        let (background, times) = counted(&Simulated::default());
        for _ in 0..100 {
            background.want();
            std::thread::yield_now();
        }
        assert_eq!(times.load(Ordering::Relaxed), 0, "before requests paused");
        drop(background);
        assert_eq!(times.load(Ordering::Relaxed), 1, "before the end");
    }

    #[test]
    fn it_is_done_once_requests_pause_and_also_where_they_never_do() {
        let world = Simulated::default();
        let (background, times) = counted(&world);
        let until = |done: usize| {
            while times.load(Ordering::Relaxed) < done {
                std::thread::yield_now();
            }
        };
        background.want();
        world.pass(QUIET);
        until(1);
        let step = QUIET / 2;
        for _ in 0..LONGEST.as_millis() / step.as_millis() {
            assert_eq!(times.load(Ordering::Relaxed), 1);
            background.want();
            world.pass(step);
        }
        until(2);
    }

    #[test]
    fn a_lock_is_waited_for_until_its_holder_has_had_the_time_that_it_may_take() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let (world, waits) = (Simulated::default(), Arc::new(AtomicUsize::new(0)));
        let held = exclusive(&path, &world).unwrap();
        let other = std::thread::spawn({
            let (path, waits) = (path.clone(), Waits(world.clone(), Arc::clone(&waits)));
            move || exclusive(&path, &waits).map(drop)
        });
        while waits.load(Ordering::Relaxed) < 3 {
            std::thread::yield_now();
        }
        world.pass(PATIENCE);
        let late = other.join().unwrap().unwrap_err();
        assert!(matches!(late.cause(), Some(StoreError::Busy { .. })), "{late:?}");
        drop(held);
        exclusive(&path, &world).unwrap();
    }

    /// A world that counts how often it is asked whether to wait on.
    struct Waits(Simulated, Arc<AtomicUsize>);

    impl World for Waits {
        fn now(&self) -> i64 {
            self.0.now()
        }

        fn id(&self, prefix: &str) -> String {
            self.0.id(prefix)
        }

        fn elapsed(&self) -> Duration {
            self.0.elapsed()
        }

        fn left(&self, until: Duration) -> Option<Duration> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.left(until)
        }
    }
}
