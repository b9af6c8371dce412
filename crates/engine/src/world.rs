//! Time and ids come from outside, so that the whole engine can run in a simulation.

use std::sync::{Condvar, LazyLock, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The source of time and ids.
pub trait World: Send + Sync {
    /// Milliseconds since 1970.
    fn now(&self) -> i64;
    /// A new id, unique for ever, that begins with `prefix` (`frm-`, `plan-`).
    fn id(&self, prefix: &str) -> String;
    /// The time since some fixed moment, by a clock that is never set: pauses and limits are measured with it.
    fn elapsed(&self) -> Duration {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGAN.elapsed()
    }
    /// Returns how long a thread that waits until [`elapsed`](Self::elapsed) is `until` may sleep before it asks
    /// again; none once it need not wait any more. In a simulation, in which time passes only when a test says so,
    /// that is a moment of the machine's time, whatever is left.
    fn left(&self, until: Duration) -> Option<Duration> {
        until.checked_sub(self.elapsed()).filter(|left| !left.is_zero())
    }
}

impl dyn World {
    /// Waits until `changed` is notified, or a while passes; not at all where `until` has come.
    pub(crate) fn wait<'g, T>(
        &self,
        changed: &Condvar,
        guard: MutexGuard<'g, T>,
        until: Duration,
    ) -> (MutexGuard<'g, T>, Waited) {
        let Some(left) = self.left(until) else { return (guard, Waited::Over) };
        let (guard, _) = changed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner);
        (guard, Waited::Awake)
    }
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Something may have changed: whoever waits looks, and waits on.
    Awake,
    /// The time is over.
    Over,
}

/// The machine's clock and random ids that sort by time.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemWorld;

impl World for SystemWorld {
    fn now(&self) -> i64 {
        // No frame depends on the time of a clock that is set before 1970.
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{}", uuid::Uuid::now_v7().simple())
    }
}

/// The machine's dates and ids; the time of waits passes only when a test says so.
#[cfg(test)]
#[derive(Clone, Debug, Default)]
pub(crate) struct Simulated(std::sync::Arc<std::sync::Mutex<Duration>>);

#[cfg(test)]
impl Simulated {
    /// So much time passes.
    pub(crate) fn pass(&self, time: Duration) {
        *crate::lock::lock(&self.0) += time;
    }
}

#[cfg(test)]
impl World for Simulated {
    fn now(&self) -> i64 {
        SystemWorld.now()
    }

    fn id(&self, prefix: &str) -> String {
        SystemWorld.id(prefix)
    }

    fn elapsed(&self) -> Duration {
        *crate::lock::lock(&self.0)
    }

    fn left(&self, until: Duration) -> Option<Duration> {
        (self.elapsed() < until).then_some(Duration::from_millis(1))
    }
}
