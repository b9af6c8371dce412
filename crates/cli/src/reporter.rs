//! Reports of work that goes on: what it is at, and remarks that change nothing in its outcome.

use std::fmt;

/// Someone who is told how long work goes on. Operations know nothing else of who waits for them.
pub(crate) trait Reporter: fmt::Debug {
    /// Reports the progress in one line, which replaces the one before; an empty line ends it.
    fn progress(&mut self, line: &str);

    /// Reports a remark.
    fn remark(&mut self, text: &str);
}
