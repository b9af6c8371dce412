//! The real `OpenCode` in its full-screen interface, on a terminal of the test's own.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::Parser;

use super::project::Project;

/// The longest time until something is on the screen.
const LIMIT: Duration = Duration::from_mins(2);

pub(crate) struct Screen {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    parser: Arc<Mutex<Parser>>,
    /// Keeps the terminal open.
    _terminal: Box<dyn MasterPty + Send>,
}

impl Screen {
    /// Starts `opencode` in a project, and waits until it takes a prompt.
    pub(crate) fn start(project: &Project, columns: u16, rows: u16, env: &[(&str, &str)]) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let command = project.opencode.command(&project.sealed);
        let mut builder = CommandBuilder::new(command.get_program());
        builder.env_clear();
        builder.cwd(command.get_current_dir().unwrap());
        let given = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        for (name, value) in given {
            builder.env(name, value);
        }
        builder.env("TERM", "xterm-256color");
        for (name, value) in env {
            builder.env(name, value);
        }
        let child = pair.slave.spawn_command(builder).unwrap();
        drop(pair.slave);
        let parser = Arc::new(Mutex::new(Parser::new(cells(rows), cells(columns), 0)));
        let mut output = pair.master.try_clone_reader().unwrap();
        let seen = Arc::clone(&parser);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                seen.lock().unwrap().process(&bytes[..count]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        let screen = Self { child, keys, parser, _terminal: pair.master };
        screen.wait("ctrl+p");
        screen
    }

    /// Types text or keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types a prompt, and sends it once it is on the screen.
    pub(crate) fn say(&mut self, prompt: &str) {
        self.press(prompt);
        self.wait(prompt);
        self.press("\r");
    }

    /// Returns the text on the screen, without blanks at the ends of lines.
    pub(crate) fn text(&self) -> String {
        self.right_of(0)
    }

    /// Returns the text right of so many columns, without empty lines.
    pub(crate) fn right_of(&self, column: u16) -> String {
        let parser = self.parser.lock().unwrap();
        let (_, width) = parser.screen().size();
        let lines: Vec<String> = parser.screen().rows(column, width.get() - column).collect();
        drop(parser);
        let lines = lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty());
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    /// Waits until a text is on the screen, and returns all that is there then.
    #[track_caller]
    pub(crate) fn wait(&self, text: &str) -> String {
        self.wait_for(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until a text is no longer on the screen.
    #[track_caller]
    pub(crate) fn wait_without(&self, text: &str) -> String {
        self.wait_for(&format!("a screen without {text:?}"), |screen| !screen.contains(text))
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if is_there(&text) {
                return text;
            }
            assert!(begun.elapsed() < LIMIT, "there is no {what} on the screen:\n{text}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It ends by itself where its test has ended it.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
