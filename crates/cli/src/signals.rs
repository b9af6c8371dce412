//! Signals that would end the process where an error is enough.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGXFSZ;

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail instead of ending the process.
pub(crate) fn let_large_writes_fail() {
    // Nobody asks whether the signal came: it is enough that it has a handler. Where it can't have one, all is
    // as it was.
    drop(signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))));
}
