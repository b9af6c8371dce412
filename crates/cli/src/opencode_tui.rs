//! The process that serves the plugin of OpenCode's full-screen interface. It reads requests, one JSON object a line,
//! and prints the state of the session on the screen whenever it changes: `docs/opencode-tui.md` describes the lines.
//!
//! The plugin draws what it is given. The names of frames, the figures that are shown, and the possible actions are
//! decided here; the operations of the table carry the actions out.

mod actions;
mod frame;
mod project;
mod state;

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use callstack_engine::EngineError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::project::StartFolder;
use crate::wording::for_a_terminal;
use project::Project;

/// The version of the lines.
pub(crate) const PROTOCOL: u32 = 1;
/// The time after a change in which further changes are awaited, so that they are shown together.
const SETTLE: Duration = Duration::from_millis(60);
/// The share of the time that may be spent on reading states: one part in so many.
const SHARE: u32 = 10;
/// The longest wait for that share, since the person at the screen waits as well.
const LONGEST_WAIT: Duration = Duration::from_millis(400);
/// The pause after which a store that is missing, or can't be used, is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// No change is awaited for longer.
const LONGEST: Duration = Duration::from_hours(24);

/// A request of the plugin.
#[derive(Debug, Deserialize)]
struct Request {
    id: Option<u64>,
    #[serde(flatten)]
    asked: Asked,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
enum Asked {
    /// Show a session from now on; none if there is none on the screen.
    Watch(Watched),
    /// Say that it is there.
    Ping {},
    /// Check for changes that are no events, such as the figures of a request.
    Look {},
    /// Describe a frame, with what can be done with it.
    Frame { frame: String },
    /// Carry out an operation.
    Run { operation: String, arguments: Value, session: Option<String> },
}

/// The session on the screen.
#[derive(Clone, Debug, Default, Deserialize)]
struct Watched {
    session: Option<String>,
    /// Whether the whole tree is shown, instead of the open frames and those right below them.
    #[serde(default)]
    all: bool,
}

/// Something that the main thread has to act on.
enum Signal {
    Line(String),
    Changed,
    Answer(Value),
    Over,
}

/// Serves the plugin until its input ends.
pub(crate) fn serve(
    place: &StartFolder,
    input: impl BufRead + Send + 'static,
    output: impl Write,
) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel();
    let lines = sender.clone();
    thread::spawn(move || {
        for line in input.lines() {
            // A line that is no UTF-8 is none of the plugin's.
            let Ok(line) = line else { break };
            if lines.send(Signal::Line(line)).is_err() {
                return;
            }
        }
        drop(lines.send(Signal::Over));
    });
    let server = Server {
        project: Project::of(place, sender.clone()),
        sender,
        output,
        watched: Watched::default(),
        shown: String::new(),
        due: None,
        took: Duration::ZERO,
    };
    server.run(&receiver)
}

struct Server<'p, W> {
    project: Project<'p>,
    sender: Sender<Signal>,
    output: W,
    watched: Watched,
    /// The line of the state that was printed last.
    shown: String,
    /// The time at which the state is to be read again.
    due: Option<Instant>,
    /// The time that this took last.
    took: Duration,
}

impl<W: Write> Server<'_, W> {
    fn run(mut self, receiver: &Receiver<Signal>) -> io::Result<()> {
        loop {
            let wait =
                self.due.map_or(LONGEST, |due| due.saturating_duration_since(Instant::now()));
            match receiver.recv_timeout(wait) {
                Ok(Signal::Line(line)) => self.answer(&line)?,
                Ok(Signal::Answer(answer)) => self.print(&answer.to_string())?,
                Ok(Signal::Changed) => self.soon(),
                Ok(Signal::Over) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => self.show()?,
            }
        }
    }

    /// Has the state read soon.
    fn soon(&mut self) {
        let due = Instant::now() + SETTLE.max((self.took * SHARE).min(LONGEST_WAIT));
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    fn answer(&mut self, line: &str) -> io::Result<()> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let Request { id, asked } = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(error) => {
                let error = EngineError::invalid(
                    format!("a request can't be read: {error}"),
                    "Run `callstack init opencode`, and start OpenCode again.",
                );
                return self.print(&refusal(None, &error).to_string());
            }
        };
        match asked {
            Asked::Watch(watched) => {
                self.watched = watched;
                // A new watch is answered with a state, even if it is the same as before.
                self.shown.clear();
                self.print(&json!({"id": id, "result": {}}).to_string())?;
                return self.show();
            }
            Asked::Ping {} => return self.print(&json!({"id": id, "result": {}}).to_string()),
            Asked::Look {} => {
                self.soon();
                return self.print(&json!({"id": id, "result": {}}).to_string());
            }
            Asked::Frame { frame } => {
                let session = self.watched.session.clone();
                self.beside(id, move |project| {
                    frame::described(project, session.as_deref(), &frame)
                });
            }
            Asked::Run { operation, arguments, session } => {
                let session = session.or_else(|| self.watched.session.clone());
                self.beside(id, move |project| {
                    let answer = project.run(session.as_deref(), &operation, arguments)?;
                    Ok(json!({"title": answer.title, "text": answer.text}))
                });
            }
        }
        Ok(())
    }

    /// Works on an answer in a thread: an operation may wait for a model.
    fn beside(
        &mut self,
        id: Option<u64>,
        work: impl FnOnce(&project::Open) -> Result<Value, CommandError> + Send + 'static,
    ) {
        let sender = self.sender.clone();
        let open = self.project.open();
        thread::spawn(move || {
            let answer = match open.map_err(CommandError::from).and_then(|open| work(&open)) {
                Ok(result) => json!({"id": id, "result": result}),
                Err(CommandError::Failed(error)) => refusal(id, &error),
                Err(_) => json!({"id": id, "error": {"message": "the output can't be written"}}),
            };
            drop(sender.send(Signal::Answer(answer)));
        });
    }

    /// Reads the state, and prints it if it has changed.
    fn show(&mut self) -> io::Result<()> {
        self.due = None;
        let begun = Instant::now();
        let Some(session) = self.watched.session.clone() else { return Ok(()) };
        let read = match self.project.open() {
            Ok(open) => state::read(&open, &session, self.watched.all),
            Err(error) => Err(error.into()),
        };
        let state = match read {
            Ok(state) => state,
            Err(failure) => {
                // The store may have been moved or replaced. It is opened again.
                self.project.close();
                self.due = Some(Instant::now() + RETRY);
                state::State::without_frames(&session, self.watched.all, self.project.why(&failure))
            }
        };
        self.took = begun.elapsed();
        let line = json!({"protocol": PROTOCOL, "state": state}).to_string();
        if line == self.shown {
            return Ok(());
        }
        self.print(&line)?;
        self.shown = line;
        Ok(())
    }

    fn print(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.output, "{line}")?;
        self.output.flush()
    }
}

fn refusal(id: Option<u64>, error: &EngineError) -> Value {
    let hint = error.hint.as_ref().map(for_a_terminal);
    json!({"id": id, "error": {"kind": error.kind.as_str(), "message": error.message, "hint": hint}})
}
