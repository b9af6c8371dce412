//! A program in a pseudo-terminal: its keys and its screen.

use std::io::{self, Read as _, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::{Parser, Screen};

use crate::TestError;

/// The longest time until a program shows something.
const LIMIT: Duration = Duration::from_mins(1);
/// The pause between two looks at the screen.
const PAUSE: Duration = Duration::from_millis(10);

/// A program that runs in a pseudo-terminal. It is ended when it is dropped.
pub struct Terminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    parser: Arc<Mutex<Parser>>,
}

impl Terminal {
    /// Starts a command in a terminal of so many columns and rows.
    pub fn start(command: &Command, (columns, rows): (u16, u16)) -> Result<Self, TestError> {
        let failed = |source: io::Error| TestError::Io {
            what: "start in a terminal",
            path: PathBuf::from(command.get_program()),
            source,
        };
        let pty = native_pty_system()
            .openpty(size(columns, rows))
            .map_err(|error| failed(io::Error::other(error)))?;
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                builder.env(name, value);
            }
        }
        builder.env("TERM", "xterm-256color");
        builder.env_remove("COLUMNS");
        if let Some(folder) = command.get_current_dir() {
            builder.cwd(folder);
        }
        let start = || {
            let child = pty.slave.spawn_command(builder)?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>((
                child,
                pty.master.try_clone_reader()?,
                pty.master.take_writer()?,
            ))
        };
        let (child, mut said, keys) = start().map_err(|error| failed(io::Error::other(error)))?;
        drop(pty.slave);
        let parser = Arc::new(Mutex::new(Parser::new(some(rows), some(columns), 200)));
        let shown = Arc::clone(&parser);
        thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count @ 1..) = said.read(&mut bytes) {
                lock(&shown).process(bytes.get(..count).unwrap_or_default());
            }
        });
        Ok(Self { master: pty.master, child, keys, parser })
    }

    /// Types keys, or whatever else a terminal sends.
    pub fn types(&mut self, keys: &str) -> Result<(), TestError> {
        let typed = self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush());
        typed.map_err(|source| TestError::Io { what: "type", path: PathBuf::from(keys), source })
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, columns: u16, rows: u16) -> Result<(), TestError> {
        lock(&self.parser).screen_mut().set_size(some(rows), some(columns));
        let resized = self.master.resize(size(columns, rows)).map_err(io::Error::other);
        let path = PathBuf::from("the terminal");
        resized.map_err(|source| TestError::Io { what: "resize", path, source })
    }

    /// The id of the program's process.
    pub fn process(&self) -> Option<u32> {
        self.child.process_id()
    }

    /// Returns the text on the screen, without blanks at its end.
    pub fn text(&self) -> String {
        self.look(|screen| screen.contents().trim_end().to_owned())
    }

    /// Looks at the screen.
    pub fn look<T>(&self, look: impl FnOnce(&Screen) -> T) -> T {
        look(lock(&self.parser).screen())
    }

    /// Waits until the screen is as it is wanted.
    pub fn wait_until(
        &self,
        what: &str,
        mut is_there: impl FnMut(&Screen) -> bool,
    ) -> Result<(), TestError> {
        let begun = Instant::now();
        while !self.look(&mut is_there) {
            if begun.elapsed() > LIMIT {
                let (what, so_far) = (what.to_owned(), self.text());
                return Err(TestError::TooLong { what, limit: LIMIT, so_far });
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Waits until a text is on the screen.
    pub fn wait_for(&self, text: &str) -> Result<(), TestError> {
        self.wait_until(text, |screen| screen.contents().contains(text))
    }

    /// Waits until the program has ended. Returns its exit code, or the name of the signal that ended it.
    pub fn wait_end(&mut self) -> Result<Result<u32, String>, TestError> {
        let begun = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let signal = status.signal().map(str::to_owned);
                    return Ok(signal.map_or(Ok(status.exit_code()), Err));
                }
                Ok(None) if begun.elapsed() < LIMIT => thread::sleep(PAUSE),
                _ => {
                    let what = "the end of the program".to_owned();
                    return Err(TestError::TooLong { what, limit: LIMIT, so_far: self.text() });
                }
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that has ended already can't be ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

/// A screen has a row and a column at least.
fn some(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap_or(NonZero::<u16>::MIN)
}

fn lock(parser: &Mutex<Parser>) -> MutexGuard<'_, Parser> {
    parser.lock().unwrap_or_else(PoisonError::into_inner)
}
