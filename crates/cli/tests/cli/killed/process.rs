//! The process behind the plugin.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::super::desk::{BINARY, Desk};

/// What the shell counts the sizes of files in.
const BLOCK: u64 = 512;

pub(in crate::cli) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    last: u64,
}

impl Process {
    /// Starts it. With a limit the kernel ends it by a signal, as suddenly as any, in the write that
    /// would make a file longer than that; the part of the write that fits in is done.
    pub(in crate::cli) fn start(desk: &Desk, limit: Option<u64>) -> Self {
        let limit = limit.map_or("unlimited".to_owned(), |limit| (limit / BLOCK).to_string());
        let mut command = desk.sealed.command_in(&desk.project(), "sh");
        let script = format!("ulimit -c 0 && ulimit -f {limit} && exec \"$0\" host opencode");
        command.args(["-c", &script, BINARY]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, output, last: 0 }
    }

    /// What it answers; none where it has ended before.
    pub(in crate::cli) fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.last += 1;
        self.say(&json!({"id": self.last, "method": method, "params": params}));
        let line = self.output.next()?.ok()?;
        let answer: Value = serde_json::from_str(&line).ok()?;
        assert_eq!(answer["id"], self.last, "{line}");
        assert_eq!(answer["error"], Value::Null, "{method} {params}");
        Some(answer["result"].clone())
    }

    pub(in crate::cli) fn tell(&mut self, method: &str, params: &Value) {
        self.say(&json!({"method": method, "params": params}));
    }

    fn say(&mut self, request: &Value) {
        // One that has ended reads nothing, which shows when it is asked.
        let line = format!("{request}\n");
        let _written = self.input.as_mut().map(|input| input.write_all(line.as_bytes()));
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

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
