//! The OpenCode on the path: its version, and the sessions that it keeps.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// It starts a JavaScript runtime to say its version.
const LIMIT: Duration = Duration::from_secs(10);
/// It may have to bring its database to a newer shape before it lists sessions, and a session may be long.
const LONG: Duration = Duration::from_mins(2);
/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of a list of sessions that are read.
const LIST: u64 = 64 * 1024 * 1024;

/// A session that OpenCode keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Its id.
    pub(crate) id: String,
    /// The folder that it works in.
    pub(crate) folder: PathBuf,
    /// When it went on last: milliseconds since 1970.
    pub(crate) changed: i64,
}

/// Its version, or why there is none.
pub(crate) fn version() -> Result<String, String> {
    let mut command = Command::new("opencode");
    command.arg("--version");
    match said(command, 1024, LIMIT)?.trim() {
        "" => Err("OpenCode does not say its version".to_owned()),
        version => Ok(version.to_owned()),
    }
}

/// The sessions that it keeps of the project that `folder` is in; without those of subagents.
pub(crate) fn sessions(folder: &Path) -> Result<Vec<Kept>, String> {
    let mut command = Command::new("opencode");
    command.args(["session", "list", "--format", "json", "--pure"]).current_dir(folder);
    let list = said(command, LIST, LONG)?;
    // It says nothing at all where there is none.
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

/// Has it write a session into a new file: into a pipe it writes no more than that holds when it ends.
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

/// What it writes to standard output, up to a length, once it closes that or ends. It is ended after a time.
fn said(command: Command, bytes: u64, limit: Duration) -> Result<String, String> {
    let mut child = start(command, Stdio::piped())?;
    let (send, receive) = mpsc::channel();
    let stdout = child.stdout.take();
    // Read aside: whoever inherited the pipe may hold it open for longer than we wait.
    thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.map(|stdout| stdout.take(bytes).read_to_string(&mut text));
        // Nobody waits any more once the time is over.
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

/// Ends it, with what it has started. This fails only when it has ended by itself.
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
