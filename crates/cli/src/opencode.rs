//! The OpenCode on the path.

use std::io::{self, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// It starts a JavaScript runtime to say its version.
const LIMIT: Duration = Duration::from_secs(10);

/// Its version, or why there is none.
pub(crate) fn version() -> Result<String, String> {
    let started = Command::new("opencode")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("there is no OpenCode on the path".to_owned());
        }
        Err(error) => return Err(format!("OpenCode can't be started: {error}")),
    };
    let (send, receive) = mpsc::channel();
    let stdout = child.stdout.take();
    // Read aside: whoever inherited the pipe may hold it open for longer than we wait.
    thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.map(|stdout| stdout.take(1024).read_to_string(&mut text));
        // Nobody waits any more once the time is over.
        drop(send.send(read.map(|_| text)));
    });
    let said = receive.recv_timeout(LIMIT).ok().flatten();
    // Both fail only when it has ended by itself.
    drop(child.kill());
    drop(child.wait());
    match said.as_deref().map(str::trim) {
        Some("") => Err("OpenCode does not say its version".to_owned()),
        Some(version) => Ok(version.to_owned()),
        None => Err(format!("OpenCode did not say its version within {} s", LIMIT.as_secs())),
    }
}
