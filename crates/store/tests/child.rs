//! Further processes on a store: the test binary starts itself with a task.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use callstack_core::decide::{Command as Asked, Refusal};
use callstack_core::event::Event;
use callstack_core::limits::Limits;
use callstack_core::named_steps::NamedSteps;
use callstack_core::transcript::Anchor;
use callstack_store::{Store, StoreError};

use crate::support::{Refused, carry_out, pop, push, record, root};

const TASK: &str = "CALLSTACK_TEST_STORE_TASK";
const FOLDER: &str = "CALLSTACK_TEST_STORE_FOLDER";

/// A process on the store in a folder; killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(crate) fn start(task: &str, folder: &Path) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), task, folder)
    }

    /// Starts the process through a program that runs the command line after its own arguments.
    pub(crate) fn start_through(mut program: Command, task: &str, folder: &Path) -> Self {
        program.arg(std::env::current_exe().unwrap());
        Self::spawn(program, task, folder)
    }

    fn spawn(mut command: Command, task: &str, folder: &Path) -> Self {
        let mut child = command
            .args(["--exact", "child::process", "--ignored", "--nocapture"])
            .env(TASK, task)
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next output of the process; none when it has ended.
    pub(crate) fn says(&mut self) -> Option<String> {
        loop {
            let line = self.lines.next()?.ok()?;
            if let Some(said) = line.strip_prefix("says ") {
                return Some(said.to_owned());
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        // It fails only when the process has ended already.
        let _ended = self.child.kill();
        self.child.wait().unwrap();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    // The test harness does not end its own line before a test runs.
    writeln!(out, "\nsays {what}").unwrap();
    out.flush().unwrap();
}

/// No limit is in the way of these tasks.
pub(crate) const WIDE: Limits =
    Limits { depth: 24, children: 1_000_000, live_frames: 1_000_000, live_sessions: 1_000_000 };

/// Pushes, records a message and pops, `steps` times, and prints each once it is acknowledged.
fn work(folder: &Path, session: &str, steps: u64) {
    let store = Store::open_unchecked(folder).unwrap();
    carry_out(&store, &root(session, None), &WIDE).unwrap();
    say("root");
    // A predecessor that was killed in a frame left it open.
    let start: Result<_, StoreError> = store.read(|view| {
        let root = view.session_row(session)?.and_then(|it| it.root).unwrap();
        view.children(Some(root))
    });
    let start = start.unwrap();
    if start.last().is_some_and(|last| last.ended_at.is_none()) {
        carry_out(&store, &pop(session, "left open"), &WIDE).unwrap();
    }
    let start = start.len() as u64;
    for step in start..start.saturating_add(steps) {
        let id = format!("frm-{session}-{step}");
        let num = carry_out(&store, &push(session, &id, &format!("step {step}")), &WIDE).unwrap();
        say(&format!("push {step} {num}"));
        record(&store, session, &[(&format!("msg-{step}"), &message(session, step))]);
        say(&format!("message {step}"));
        carry_out(&store, &pop(session, &format!("result {step}")), &WIDE).unwrap();
        say(&format!("pop {step}"));
    }
}

/// Pushes and pops, and repeats steps that were lost when another store took the place of theirs, until some steps
/// after the file `overwritten` appears. Prints its last push. If each attempt fails until its patience is over, it
/// prints `gave up` and the reason: another process then continues.
fn insist(folder: &Path, session: &str) {
    let store = Store::open_unchecked(folder).unwrap();
    let sign = folder.with_file_name("overwritten");
    let again = |command: &dyn Fn() -> Asked| {
        let begun = Instant::now();
        let mut failures = Vec::new();
        while begun.elapsed() < Duration::from_secs(6) {
            let known: Result<_, StoreError> = store.read(|view| view.session_row(session));
            if known.is_ok_and(|session| session.is_none())
                && carry_out(&store, &root(session, None), &WIDE).is_err()
            {
                continue;
            }
            let error = match carry_out(&store, &command(), &WIDE) {
                Ok(_) => return Ok(true),
                Err(Refused(Refusal::Store(error))) => error,
                // The earlier pushes are gone.
                Err(_) => return Ok(false),
            };
            match error {
                StoreError::NoFrame(_) => return Ok(false),
                // An attempt that failed in its commit may have been kept.
                StoreError::Database { .. } if !failures.is_empty() => return Ok(false),
                StoreError::Replaced { .. }
                | StoreError::Corrupt { .. }
                | StoreError::System { .. }
                | StoreError::Vanished { .. }
                | StoreError::Busy { .. } => failures.push(error.to_string()),
                error => panic!("{error:?}"),
            }
            // The copy is not whole yet.
            std::thread::sleep(Duration::from_millis(20));
        }
        failures.dedup();
        Err(failures)
    };
    let (mut step, mut left, mut last) = (0, 10, None);
    while left > 0 {
        let id = format!("frm-{session}-{step}");
        let pushed = again(&|| push(session, &id, &format!("step {step}")));
        if pushed == Ok(true) {
            last = Some(id);
        }
        let popped = again(&|| pop(session, &format!("result {step}")));
        if let Err(failures) = pushed.and(popped) {
            say(&format!("gave up: {failures:?}"));
            return;
        }
        step += 1;
        left -= u64::from(sign.exists());
        if step == 5 {
            say("working");
        }
    }
    say(&last.unwrap());
}

/// Names steps of a session, `times` times, and prints each name once it is acknowledged.
fn name(folder: &Path, session: &str, times: u64) {
    let store = Store::open_unchecked(folder).unwrap();
    carry_out(&store, &root(session, None), &WIDE).unwrap();
    for step in 0..times {
        let num = store.write(|change| {
            let num = change.view().next_named_steps()?;
            let steps = NamedSteps { num, first: made(step), last: made(step + 1) };
            let event = Event::StepsNamed { session: session.to_owned(), steps };
            change.append(1_000, &[event])?;
            Ok::<_, StoreError>(num)
        });
        say(&format!("named {step} {}", num.unwrap()));
    }
}

/// The call of a step.
pub(crate) fn made(step: u64) -> Anchor {
    Anchor { message: Some(format!("msg-{step}")), call: Some(format!("call-{step}")) }
}

/// Says how many frames there are.
fn count(folder: &Path) {
    let store = Store::open_unchecked(folder).unwrap();
    let frames = store.read(|view| view.all_frames()).unwrap();
    say(&format!("{} frames", frames.len()));
}

/// Says whether a process has the index of a write-ahead log open: SQLite holds a lock on byte 128 of it then.
fn index(path: &Path) {
    use rustix::process::{Flock, FlockType, fcntl_getlk};

    let file = std::fs::File::open(path).unwrap();
    let byte = Flock { start: 128, length: 1, ..FlockType::WriteLock.into() };
    let holder = fcntl_getlk(&file, &byte).unwrap();
    say(if holder.is_some() { "in use" } else { "not in use" });
}

/// The message of a step.
pub(crate) fn message(session: &str, step: u64) -> String {
    format!("{{\"session\":\"{session}\",\"step\":{step},\"text\":\"{}\"}}", "words ".repeat(200))
}

#[test]
#[ignore = "other tests start it as a process of its own"]
fn process() {
    let (Ok(task), Some(folder)) = (std::env::var(TASK), std::env::var_os(FOLDER)) else {
        println!("{TASK} is not set: nobody asked for anything");
        return;
    };
    let folder = Path::new(&folder);
    match task.split_once(' ') {
        Some(("work", rest)) => {
            let (session, steps) = rest.split_once(' ').unwrap();
            work(folder, session, steps.parse().unwrap());
        }
        Some(("name", rest)) => {
            let (session, times) = rest.split_once(' ').unwrap();
            name(folder, session, times.parse().unwrap());
        }
        Some(("insist", session)) => insist(folder, session),
        _ => match task.as_str() {
            "count" => count(folder),
            "index" => index(folder),
            "fill" => crate::damaged::fill(folder),
            "look" => crate::damaged::look(folder),
            _ => panic!("there is no task `{task}`"),
        },
    }
}
