//! The process that serves the plugin.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::super::test_env::{BINARY, TestEnv};

/// The unit of file sizes in the shell.
const BLOCK: u64 = 512;

pub(in crate::cli) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    last: u64,
}

impl Process {
    /// Starts it. With a limit the kernel ends it by a signal, as suddenly as any, in the write that
    /// would make a file longer than that; the part of the write that fits in is done. The handler that lets such
    /// a write fail instead is kept out.
    pub(in crate::cli) fn start(desk: &TestEnv, limit: Option<u64>) -> Self {
        let limit = limit.map_or("unlimited".to_owned(), |limit| (limit / BLOCK).to_string());
        let mut command = desk.sealed.command_in(&desk.project(), "sh");
        let script = format!("ulimit -c 0 && ulimit -f {limit} && exec \"$0\" host opencode");
        command.args(["-c", &script, BINARY]);
        if limit != "unlimited" {
            command.env("LD_PRELOAD", keep_signal());
        }
        Self::of(command)
    }

    /// Starts it by a command.
    pub(in crate::cli) fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, output, last: 0 }
    }

    /// Returns its answer; none where it has ended before.
    pub(in crate::cli) fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        let answer = self.try_ask(method, params)?;
        Some(answer.unwrap_or_else(|error| panic!("{method} {params}: {error}")))
    }

    /// The same where it may refuse: its error.
    pub(in crate::cli) fn try_ask(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Option<Result<Value, Value>> {
        self.last += 1;
        self.say(&json!({"id": self.last, "method": method, "params": params}));
        let line = self.output.next()?.ok()?;
        let answer: Value = serde_json::from_str(&line).ok()?;
        assert_eq!(answer["id"], self.last, "{line}");
        let error = &answer["error"];
        Some(if error.is_null() { Ok(answer["result"].clone()) } else { Err(error.clone()) })
    }

    pub(in crate::cli) fn notify(&mut self, method: &str, params: &Value) {
        self.say(&json!({"method": method, "params": params}));
    }

    fn say(&mut self, request: &Value) {
        // A process that has ended reads nothing, which shows when it is asked.
        let line = format!("{request}\n");
        let _written = self.input.as_mut().map(|input| input.write_all(line.as_bytes()));
    }

    /// Asks the process to end, and waits until it has.
    pub(in crate::cli) fn terminate(&mut self) {
        self.signal("TERM");
        self.child.wait().unwrap();
    }

    /// Sends a signal, by its name.
    pub(in crate::cli) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let mut kill = Command::new("kill");
        assert!(kill.args(["-s", name, &pid]).status().unwrap().success());
    }

    pub(in crate::cli) fn kill(&mut self) {
        // It fails only when it has ended already.
        let _ended = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Lets it end in order; returns whether it did.
    pub(in crate::cli) fn close(&mut self) -> bool {
        drop(self.input.take());
        self.child.wait().unwrap().success()
    }
}

/// The library that keeps a process from handling the signal.
fn keep_signal() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let library = folder.join("keep_signal.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/killed/keep_signal.c");
        // Several tests may build it at the same time, each in a process of its own.
        let made = tempfile::Builder::new().tempfile_in(folder).unwrap().into_temp_path();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(&made).args([source, "-ldl"]);
        assert!(compiler.status().unwrap().success());
        made.persist(&library).unwrap();
        library
    });
    &LIBRARY
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
