//! Signals: those that end the process, the one that stops it, and the one for another size of the terminal.

use std::io;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::news::News;
use super::screen::{is_ours, restore};

/// The time that the view has to end after a signal, before the process is ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// Notifies the view of signals. If it does not end by itself, the process is ended, with the terminal restored.
pub(crate) fn watch(news: &Sender<News>) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH])?;
    let news = news.clone();
    let thread = thread::Builder::new().name("ui-signals".to_owned());
    thread.spawn(move || {
        for signal in signals.forever() {
            // While another program has the terminal, its keys are for that one: to stop both, or to interrupt it.
            match (is_ours(), signal) {
                (false, SIGINT) => continue,
                (false, SIGTSTP) => {
                    drop(stop());
                    continue;
                }
                // `crossterm` loses this signal where a key arrives with it.
                (_, SIGWINCH) => {
                    drop(news.send(News::Resized));
                    continue;
                }
                _ => {}
            }
            let is_received = news.send(News::Signal(signal)).is_ok();
            if signal != SIGTSTP {
                if is_received {
                    thread::sleep(PATIENCE);
                }
                drop(restore());
                drop(emulate_default_handler(signal));
            }
        }
    })?;
    Ok(())
}

/// Stops the process as the terminal would; returns once it continues.
pub(crate) fn stop() -> io::Result<()> {
    emulate_default_handler(SIGTSTP)
}

/// Ends the process as a signal would have.
pub(crate) fn end_by(signal: i32) -> io::Result<()> {
    emulate_default_handler(signal)
}
