//! Signals that would end the process where an error is enough.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGXFSZ;

/// Makes a write beyond the limit of a file's size (`ulimit -f`) fail instead of ending the process.
pub(crate) fn let_large_writes_fail() {
    // The flag is never read: it is enough that the signal has a handler. If none can be registered, the signal ends
    // the process as before.
    drop(signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))));
}
