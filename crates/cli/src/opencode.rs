//! The OpenCode on the path: its version, and the sessions that it keeps.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The longest time to ask for the version, for which OpenCode starts a JavaScript runtime.
const LIMIT: Duration = Duration::from_secs(10);
/// The longest time to list sessions or to export one: OpenCode may have to migrate its database first, and a session
/// may be long.
const LONG: Duration = Duration::from_mins(2);
/// The time between two checks whether OpenCode has ended.
const LOOK: Duration = Duration::from_millis(20);
/// The most bytes of a list of sessions that are read.
const LIST: u64 = 64 * 1024 * 1024;

/// A session that OpenCode keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Its id.
    pub(crate) id: String,
    /// The folder that it works in.
    pub(crate) folder: PathBuf,
    /// The time of its last change in milliseconds since 1970.
    pub(crate) changed: i64,
}

/// Returns the version of OpenCode. Fails with the reason if there is none.
pub(crate) fn version() -> Result<String, String> {
    let mut command = Command::new("opencode");
    command.arg("--version");
    match said(command, 1024, LIMIT)?.trim() {
        "" => Err("OpenCode does not say its version".to_owned()),
        version => Ok(version.to_owned()),
    }
}

/// Returns the sessions that OpenCode keeps of the project that `folder` is in, without those of subagents.
pub(crate) fn sessions(folder: &Path) -> Result<Vec<Kept>, String> {
    let mut command = Command::new("opencode");
    command.args(["session", "list", "--format", "json", "--pure"]).current_dir(folder);
    let list = said(command, LIST, LONG)?;
    // The output is empty if there are no sessions.
    if list.trim().is_empty() {
        return Ok(Vec::new());
    }
    let list: Value = serde_json::from_str(&list)
        .map_err(|error| format!("OpenCode's list of sessions can't be read: {error}"))?;
    let sessions = list.as_array().into_iter().flatten().filter_map(|session| {
        Some(Kept {
            id: session["id"].as_str()?.to_owned(),
            folder: PathBuf::from(session["directory"].as_str().unwrap_or_default()),
            changed: session["updated"].as_i64().unwrap_or_default(),
        })
    });
    Ok(sessions.collect())
}

/// Has OpenCode write a session to a new file. With a pipe, whatever did not fit into the pipe's buffer when OpenCode
/// exits would be lost.
pub(crate) fn export(folder: &Path, session: &str, to: &Path) -> Result<(), String> {
    let file = File::create(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let mut command = Command::new("opencode");
    command.args(["export", session, "--pure"]).current_dir(folder);
    let mut child = start(command, file.into())?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if begun.elapsed() < LONG => thread::sleep(LOOK),
            _ => break None,
        }
    };
    end(&mut child);
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("OpenCode could not export {session}: {status}")),
        None => Err(late(LONG)),
    }
}

/// Returns a command's standard output, at most `bytes` of it, once the command closes it or ends. After `limit` the
/// command is ended.
fn said(command: Command, bytes: u64, limit: Duration) -> Result<String, String> {
    let mut child = start(command, Stdio::piped())?;
    let (send, receive) = mpsc::channel();
    let stdout = child.stdout.take();
    // The output is read in a thread: a process that inherited the pipe may hold it open for longer than the limit.
    thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.map(|stdout| stdout.take(bytes).read_to_string(&mut text));
        // Nobody receives this once the time is over.
        drop(send.send(read.map(|_| text)));
    });
    let said = receive.recv_timeout(limit).ok().flatten();
    end(&mut child);
    said.ok_or_else(|| late(limit))
}

fn start(mut command: Command, stdout: Stdio) -> Result<Child, String> {
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "there is no OpenCode on the path".to_owned(),
        _ => format!("OpenCode can't be started: {error}"),
    })
}

/// Ends a process, with those that it has started. This fails only if it has ended by itself.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    drop(child.kill());
    drop(child.wait());
}

fn late(limit: Duration) -> String {
    format!("OpenCode did not answer within {} s", limit.as_secs())
}
