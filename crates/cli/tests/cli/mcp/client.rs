//! A client that starts `callstack mcp` and speaks to it line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};

use serde_json::{Value, json};

use crate::cli::test_env::TestEnv;

pub(crate) struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
}

impl Client {
    /// A client that has shaken hands as one of 2025.
    pub(crate) fn start(desk: &TestEnv, name: &str) -> Self {
        Self::start_with(desk, name, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn start_with(desk: &TestEnv, name: &str, variables: &[(&str, &str)]) -> Self {
        let mut client = Self::unready(desk, variables);
        let info = json!({"name": name, "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
        client.request("initialize", &hello);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    /// A client that has said nothing yet.
    fn unready(desk: &TestEnv, variables: &[(&str, &str)]) -> Self {
        let mut command = desk.command(&desk.project(), &["mcp"]);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output, requests: 0 }
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a request; returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request.to_string());
        id
    }

    /// The next message of the server.
    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server has ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Returns the answer to a request, and ignores everything before it.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The result of a request that has to succeed.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        let mut answer = self.answer(id);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The result of a tool.
    #[track_caller]
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// Returns the answer of a tool that has to succeed, as a program reads it.
    #[track_caller]
    pub(crate) fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let mut result = self.call(name, arguments);
        assert_eq!(result["isError"], false, "{name}: {result}");
        result["structuredContent"].take()
    }

    /// Kills the server as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Closes the server's standard input, and waits for its end.
    pub(crate) fn close(mut self) -> ExitStatus {
        self.input.take();
        self.process.wait().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It fails where the process has ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
