//! The program that shows long text page by page: `CALLSTACK_PAGER`, `PAGER`, or `less`.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};

/// A pager that waits for text.
#[derive(Debug)]
pub(crate) struct Pager {
    child: Child,
}

impl Pager {
    /// Starts the pager. Returns `None` if there is none, or none is wanted (`cat` or an empty name).
    pub(crate) fn start() -> Option<Self> {
        let named =
            ["CALLSTACK_PAGER", "PAGER"].into_iter().find_map(|name| std::env::var(name).ok());
        let named = named.unwrap_or_else(|| "less".to_owned());
        let mut words = named.split_whitespace();
        let program = words.next().filter(|program| *program != "cat")?;
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // With these options `less` ends by itself where all fits on one page, shows colours, and leaves the text
            // on the screen.
            command.env("LESS", "FRX");
        }
        command.spawn().ok().map(|child| Self { child })
    }

    /// Sends text to the pager.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        match &mut self.child.stdin {
            Some(stdin) => stdin.write_all(text.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits until the reader has seen enough.
    pub(crate) fn finish(mut self) {
        drop(self.child.stdin.take());
        // The exit code of the pager does not matter to the command.
        drop(self.child.wait());
    }
}
