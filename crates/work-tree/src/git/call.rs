//! A child process with limits: on time, including the processes that it starts, and on its output.

use std::io::{ErrorKind, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::GitError;

/// The interval between polls of the child.
const LOOK: Duration = Duration::from_millis(1);
/// Bytes of an answer: the names of more than a million files.
const LARGEST_ANSWER: u64 = 128 * 1024 * 1024;
/// Bytes of the message about a failure.
const LARGEST_COMPLAINT: u64 = 64 * 1024;

/// Bytes that were read, up to a limit.
struct Received {
    bytes: Vec<u8>,
    is_whole: bool,
}

/// Runs a command with `input` and returns its output. The command and all processes that it has started are killed
/// at `until`; one that has left its process group is not waited for.
pub(super) fn run(
    mut command: Command,
    input: Vec<u8>,
    until: Instant,
) -> Result<Vec<u8>, GitError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => GitError::NotThere,
        _ => GitError::Uncallable(error),
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may stop reading; its status says why.
        thread::spawn(move || stdin.write_all(&input).is_ok());
    }
    let answer = child.stdout.take().map(|pipe| received(pipe, LARGEST_ANSWER));
    let complaint = child.stderr.take().map(|pipe| received(pipe, LARGEST_COMPLAINT));
    let outcome = outcome(&mut child, answer.as_ref(), complaint.as_ref(), until);
    if outcome.is_err() {
        end(&mut child);
    }
    outcome
}

fn outcome(
    child: &mut Child,
    answer: Option<&Receiver<Received>>,
    complaint: Option<&Receiver<Received>>,
    until: Instant,
) -> Result<Vec<u8>, GitError> {
    let mut answered = None;
    let status = loop {
        if answered.is_none() {
            answered = answer.and_then(|answer| answer.try_recv().ok());
        }
        if answered.as_ref().is_some_and(|it| it.bytes.len() as u64 > LARGEST_ANSWER) {
            let limit = LARGEST_ANSWER / (1024 * 1024);
            return Err(GitError::Broken(format!("it wrote more than {limit} MB")));
        }
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => thread::sleep(LOOK),
            Ok(None) => return Err(GitError::Slow),
            Err(error) => return Err(GitError::Uncallable(error)),
        }
    };
    let answered = match answered {
        Some(answered) => answered,
        None => wait(answer, until)?,
    };
    finish(status, answered, || wait(complaint, until))
}

fn finish(
    status: ExitStatus,
    answer: Received,
    complaint: impl FnOnce() -> Result<Received, GitError>,
) -> Result<Vec<u8>, GitError> {
    match status {
        status if status.success() && answer.is_whole => Ok(answer.bytes),
        status if status.success() => Err(GitError::Broken("its answer broke off".to_owned())),
        _ => {
            let words = complaint()?.bytes;
            Err(GitError::Refused(String::from_utf8_lossy(&words).trim().to_owned()))
        }
    }
}

/// Waits for the end of the output: others than the child may hold the pipe open.
fn wait(received: Option<&Receiver<Received>>, until: Instant) -> Result<Received, GitError> {
    let Some(received) = received else {
        return Ok(Received { bytes: Vec::new(), is_whole: true });
    };
    match received.recv_timeout(until.saturating_duration_since(Instant::now())) {
        Ok(received) => Ok(received),
        Err(RecvTimeoutError::Timeout) => Err(GitError::Slow),
        Err(RecvTimeoutError::Disconnected) => {
            Err(GitError::Broken("its answer broke off".to_owned()))
        }
    }
}

/// Reads aside, one byte more than the limit at most. The thread ends with the pipe, perhaps after all waiting for it
/// has ended.
fn received(pipe: impl Read + Send + 'static, limit: u64) -> Receiver<Received> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let is_whole = pipe.take(limit + 1).read_to_end(&mut bytes).is_ok();
        // Nobody waits any more once the time is over.
        drop(send.send(Received { bytes, is_whole }));
    });
    receive
}

/// Kills a child and all that it has started. Processes that can't be killed have ended.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    drop(child.kill());
    drop(child.wait());
}
