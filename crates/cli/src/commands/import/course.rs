//! How far long work is, and how long the rest takes.

use std::time::{Duration, Instant};

use callstack_core::text::format_duration;

/// How long a line of progress stands at least.
const STANDS: Duration = Duration::from_millis(100);
/// Time after which what was done tells how long the rest will take.
const ENOUGH: Duration = Duration::from_secs(3);
/// The share of the work of which that has to be told as well.
const LEAST: f64 = 0.01;

/// Work of a known size that is done part by part.
pub(crate) struct Course {
    begun: Instant,
    told: Instant,
    all: u64,
    /// What the parts before this one are of it.
    done: u64,
    /// What this part is of it.
    part: u64,
    /// The share of this part that was only to read it.
    read: f64,
}

impl Course {
    pub(crate) fn new(all: u64) -> Self {
        let now = Instant::now();
        Self { begun: now, told: now, all, done: 0, part: 0, read: 0.0 }
    }

    /// Begins with the next part.
    pub(crate) fn begin(&mut self, part: u64) {
        (self.done, self.part, self.read) = (self.done + self.part, part, 0.0);
    }

    /// Says that a part was done.
    pub(crate) fn go_on(&mut self, part: u64) {
        self.begin(part);
        self.begin(0);
    }

    /// Says that this part was read, which is so much of the work on it.
    pub(crate) fn has_read(&mut self, share: f64) {
        self.read = share;
    }

    /// Whether a line that was told has stood long enough.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.told.elapsed() >= STANDS;
        if due {
            self.told = Instant::now();
        }
        due
    }

    /// A line of progress, with how long the rest will take, as far as that can be told. `share` is what was done
    /// of this part since it was read.
    pub(crate) fn line(&self, line: &str, share: f64) -> String {
        let part = self.part as f64 * (self.read + (1.0 - self.read) * share.clamp(0.0, 1.0));
        let whole = if self.all > 0 { (self.done as f64 + part) / self.all as f64 } else { 0.0 };
        match left(self.begun.elapsed(), whole) {
            Some(left) => format!("{line}, about {left} left"),
            None => line.to_owned(),
        }
    }
}

/// How long the rest will take when a share of the work took so long.
fn left(elapsed: Duration, share: f64) -> Option<String> {
    if elapsed < ENOUGH || share < LEAST {
        return None;
    }
    let rest = elapsed.mul_f64((1.0 - share.min(1.0)) / share);
    // Seconds that change with every line only distract.
    let step = if rest > Duration::from_secs(90) { 30 } else { 5 };
    let seconds = rest.as_secs().div_ceil(step).max(1) * step;
    i64::try_from(seconds * 1000).ok().map(format_duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_told_once_enough_is_done() {
        let told = |seconds, share| left(Duration::from_secs(seconds), share);
        assert_eq!((told(2, 0.5), told(60, 0.005)), (None, None));
        assert_eq!(told(10, 0.5).as_deref(), Some("10s"));
        assert_eq!(told(61, 0.25).as_deref(), Some("3m 30s"));
        assert_eq!(told(10, 1.0).as_deref(), Some("5s"));
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
