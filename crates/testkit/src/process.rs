//! Processes with a time limit that do not outlive their test.

use std::{
    fmt, fs,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::TestError;

/// The outcome of a process.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// The time that it ran.
    pub took: Duration,
}

impl Finished {
    /// Whether it ended with exit code 0.
    pub fn success(&self) -> bool {
        self.status.success()
    }

    /// The lines of standard output that are JSON (`opencode run --format json`).
    pub fn json_lines(&self) -> Vec<Value> {
        self.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, stdout, stderr, took } = self;
        write!(f, "{status} after {took:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// A running process. It is killed, with everything it started in its process group, when it is
/// dropped.
#[derive(Debug)]
pub struct Running {
    name: String,
    child: Child,
    started: Instant,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    /// Starts `command`, its output going to files `NAME.out` and `NAME.err` in `logs` (a pipe
    /// would stay open for as long as any grandchild lives).
    pub(crate) fn start(
        name: String,
        logs: &std::path::Path,
        mut command: Command,
    ) -> Result<Self, TestError> {
        let (stdout, stderr) = (logs.join(format!("{name}.out")), logs.join(format!("{name}.err")));
        let create = |path: &PathBuf| fs::File::create(path).map_err(TestError::io("create", path));
        command.stdout(create(&stdout)?).stderr(create(&stderr)?);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let program = PathBuf::from(command.get_program());
        let child = command.spawn().map_err(TestError::io("start", program))?;
        Ok(Self { name, child, started: Instant::now(), stdout, stderr })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns its output so far, standard output first.
    pub fn output(&self) -> String {
        [&self.stdout, &self.stderr].map(read).concat()
    }

    /// Waits for the end; after `limit` it is killed.
    pub fn wait(mut self, limit: Duration) -> Result<Finished, TestError> {
        loop {
            let ended = self.child.try_wait().map_err(TestError::io("wait for", &self.name))?;
            if let Some(status) = ended {
                return Ok(Finished {
                    status,
                    stdout: read(&self.stdout),
                    stderr: read(&self.stderr),
                    took: self.started.elapsed(),
                });
            }
            if self.started.elapsed() > limit {
                let (what, so_far) = (self.name.clone(), self.output());
                return Err(TestError::TooLong { what, limit, so_far });
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it and its process group at once, as `kill -9` does.
    pub fn kill(&mut self) {
        if !self.is_running() {
            return;
        }
        // Not reaped yet, so the group's number is still this process's own.
        let group = format!("-{}", self.child.id());
        let killed = Command::new("kill")
            .args(["-KILL", "--", &group])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !killed.is_ok_and(|status| status.success()) {
            // It fails only when the process has ended meanwhile.
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read(path: &PathBuf) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
