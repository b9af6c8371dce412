//! Signals that would end the process before its work is done.

#[cfg(not(unix))]
pub(crate) use elsewhere::{Ending, before_the_end};
#[cfg(unix)]
pub(crate) use unix::{Ending, before_the_end, let_large_writes_fail};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// Makes a write beyond the limit of a file's size (`ulimit -f`) fail instead of ending the process.
    pub(crate) fn let_large_writes_fail() {
        // The flag is never read: it is enough that the signal has a handler. If none can be registered, the signal
        // ends the process as before.
        drop(signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))));
    }

    /// Calls `then` at a signal that asks the process to end, before it ends. Where no handler can be registered, the
    /// signal ends the process at once. One that is ignored, as under `nohup`, stays so.
    pub(crate) fn before_the_end(then: impl FnOnce() + Send + 'static) {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ends = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|it| !is_ignored(&status, *it));
        let Ok(mut signals) = Signals::new(ends) else { return };
        let handler = signals.handle();
        let watch = move || {
            let mut then = Some(then);
            for signal in signals.forever() {
                if let Some(then) = then.take() {
                    then();
                }
                drop(emulate_default_handler(signal));
            }
        };
        if thread::Builder::new().name("signals".to_owned()).spawn(watch).is_err() {
            handler.close();
        }
    }

    /// Whether a process with this status in `/proc` ignores a signal.
    pub(super) fn is_ignored(status: &str, signal: i32) -> bool {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }

    /// The signal that asked the process to end, if one did.
    #[derive(Debug, Default)]
    pub(crate) struct Ending(Arc<AtomicI32>);

    impl Ending {
        /// Calls `then` at the first signal that asks the process to end. A second one ends it.
        pub(crate) fn watch(then: impl FnOnce() + Send + 'static) -> io::Result<Self> {
            let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
            let ending = Self::default();
            let seen = Arc::clone(&ending.0);
            thread::Builder::new().name("signals".to_owned()).spawn(move || {
                let mut then = Some(then);
                for signal in signals.forever() {
                    seen.store(signal, Ordering::SeqCst);
                    match then.take() {
                        Some(then) => then(),
                        None => drop(emulate_default_handler(signal)),
                    }
                }
            })?;
            Ok(ending)
        }

        /// Ends the process as the signal would have, if there was one.
        pub(crate) fn end(&self) {
            let signal = self.0.load(Ordering::SeqCst);
            if signal != 0 {
                drop(emulate_default_handler(signal));
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #[test]
    fn an_ignored_signal_is_known_by_its_bit() {
        let status = "Name:\tx\nSigBlk:\t0000000000000003\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        let ignored = |signal| super::unix::is_ignored(status, signal);
        assert_eq!([1, 2, 13, 15].map(ignored), [true, false, true, false]);
        assert!(!super::unix::is_ignored("", 1));
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::io;

    /// Without signals, the system ends the process.
    pub(crate) fn before_the_end(_: impl FnOnce() + Send + 'static) {}

    /// Without signals, the system ends the process.
    #[derive(Debug)]
    pub(crate) struct Ending;

    impl Ending {
        pub(crate) fn watch(_: impl FnOnce() + Send + 'static) -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) fn end(&self) {}
    }
}
