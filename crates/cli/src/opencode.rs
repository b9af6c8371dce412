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
    let mut command = Command::new("opencode");
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = match command.spawn() {
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
    // These fail only when it has ended by itself. What it has started ends with it.
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    drop(child.kill());
    drop(child.wait());
    match said.as_deref().map(str::trim) {
        Some("") => Err("OpenCode does not say its version".to_owned()),
        Some(version) => Ok(version.to_owned()),
        None => Err(format!("OpenCode did not say its version within {} s", LIMIT.as_secs())),
    }
}
