//! Time and ids come from outside, so that the whole engine can run in a simulation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The source of time and ids.
pub trait World: Send + Sync {
    /// Milliseconds since 1970.
    fn now(&self) -> i64;
    /// A new id, unique for ever, that begins with `prefix` (`frm-`, `plan-`).
    fn id(&self, prefix: &str) -> String;
    /// The longest wait for the recorder, where a caller has time for `limit`. A simulation waits longer, so that
    /// nothing in it depends on the load of the machine.
    fn patience(&self, limit: Duration) -> Duration {
        limit
    }
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
