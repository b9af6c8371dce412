//! The progress of long work, and the time that the rest takes.

use std::time::{Duration, Instant};

use callstack_core::text::format_duration;

/// The shortest time for which a line of progress is shown.
const STANDS: Duration = Duration::from_millis(100);
/// The time after which the rest can be estimated.
const ENOUGH: Duration = Duration::from_secs(3);
/// The share of the work after which the rest can be estimated.
const LEAST: f64 = 0.01;

/// Work of a known size that is done part by part.
pub(crate) struct Course {
    begun: Instant,
    shown_at: Instant,
    all: u64,
    /// The size of the parts before this one.
    done: u64,
    /// The size of this part.
    part: u64,
    /// The share of reading in the work on this part, once it was read.
    read: f64,
}

impl Course {
    pub(crate) fn new(all: u64) -> Self {
        let now = Instant::now();
        Self { begun: now, shown_at: now, all, done: 0, part: 0, read: 0.0 }
    }

    /// Begins with the next part.
    pub(crate) fn begin(&mut self, part: u64) {
        (self.done, self.part, self.read) = (self.done + self.part, part, 0.0);
    }

    /// Counts a part as done.
    pub(crate) fn go_on(&mut self, part: u64) {
        self.begin(part);
        self.begin(0);
    }

    /// Counts this part as read, which is the given share of the work on it.
    pub(crate) fn has_read(&mut self, share: f64) {
        self.read = share;
    }

    /// Whether the last line has been shown for long enough to be replaced.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.shown_at.elapsed() >= STANDS;
        if due {
            self.shown_at = Instant::now();
        }
        due
    }

    /// Returns a line of progress, with an estimate of the time left once there is one. `share` is the finished share
    /// of the work on this part after reading, from 0 to 1.
    pub(crate) fn line(&self, line: &str, share: f64) -> String {
        let part = self.part as f64 * (self.read + (1.0 - self.read) * share.clamp(0.0, 1.0));
        let whole = if self.all > 0 { (self.done as f64 + part) / self.all as f64 } else { 0.0 };
        match left(self.begun.elapsed(), whole) {
            Some(left) => format!("{line}, about {left} left"),
            None => line.to_owned(),
        }
    }
}

/// Estimates the time left from the time that a share of the work took. Returns `None` while either is too small.
fn left(elapsed: Duration, share: f64) -> Option<String> {
    if elapsed < ENOUGH || share < LEAST {
        return None;
    }
    let rest = elapsed.mul_f64((1.0 - share.min(1.0)) / share);
    // Seconds that change with every line would only distract.
    let step = if rest > Duration::from_secs(90) { 30 } else { 5 };
    let seconds = rest.as_secs().div_ceil(step).max(1) * step;
    i64::try_from(seconds * 1000).ok().map(format_duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_estimated_once_enough_is_done() {
        let left_after = |seconds, share| left(Duration::from_secs(seconds), share);
        assert_eq!((left_after(2, 0.5), left_after(60, 0.005)), (None, None));
        assert_eq!(left_after(10, 0.5).as_deref(), Some("10s"));
        assert_eq!(left_after(61, 0.25).as_deref(), Some("3m 30s"));
        assert_eq!(left_after(10, 1.0).as_deref(), Some("5s"));
    }

    #[test]
    fn parts_add_up() {
        let mut course = Course::new(100);
        course.begun -= Duration::from_mins(1);
        course.begin(50);
        course.has_read(0.2);
        assert_eq!(course.line("at it", 0.0), "at it, about 9m left");
        assert_eq!(course.line("at it", 1.0), "at it, about 1m left");
        course.begin(50);
        assert_eq!(course.line("at it", 0.0), "at it, about 1m left");
        assert_eq!(Course::new(0).line("at it", 0.5), "at it");
    }
}
