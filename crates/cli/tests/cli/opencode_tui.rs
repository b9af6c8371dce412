//! The process that serves the plugin of OpenCode's full-screen interface, with requests as the plugin sends them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::host::serve;
use super::test_env::TestEnv;

/// The longest time until something is said.
const LIMIT: Duration = Duration::from_mins(1);
const SESSION: &str = "ses_one";

struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    fn start(desk: &TestEnv) -> Self {
        let mut command = desk.command(&desk.project(), &["host", "opencode-tui"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines() {
                sender.send(line.unwrap()).unwrap();
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines }
    }

    fn ask(&mut self, request: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{request}").unwrap();
    }

    fn watch(&mut self, all: bool) {
        self.ask(&json!({"id": 1, "method": "watch", "params": {"session": SESSION, "all": all}}));
        assert_eq!(self.next(), json!({"id": 1, "result": {}}));
    }

    #[track_caller]
    fn next(&self) -> Value {
        serde_json::from_str(&self.lines.recv_timeout(LIMIT).unwrap()).unwrap()
    }

    /// The next state that is as wanted.
    #[track_caller]
    fn state(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let said = self.next();
            if !said["state"].is_null() && is_wanted(&said["state"]) {
                assert_eq!(said["protocol"], 1);
                return said["state"].clone();
            }
        }
    }

    /// Returns the answer to a request, whatever states are printed before it.
    #[track_caller]
    fn answer(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.ask(&json!({"id": id, "method": method, "params": params}));
        loop {
            let said = self.next();
            if said["id"] == id {
                return said;
            }
        }
    }

    /// Ends its input, and waits until it is gone.
    fn end(mut self) {
        self.stdin.take();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Lets an agent's session begin in a project.
fn begin(desk: &TestEnv) {
    let params = json!({"session": SESSION, "message": "msg_1", "text": "Write the tests"});
    let said = serve(desk, &[json!({"id": 1, "method": "message", "params": params})]);
    assert_eq!(said.code, 0, "{}", said.stderr);
}

fn titles(state: &Value) -> Vec<String> {
    let rows = state["rows"].as_array().unwrap().iter();
    let line = |row: &Value| {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let star = if row["active"] == true { " *" } else { "" };
        format!(
            "{}{} {} {}{star}",
            "  ".repeat(depth(row)),
            text("sign"),
            text("handle"),
            text("title")
        )
    };
    rows.map(line).collect()
}

fn depth(row: &Value) -> usize {
    row["depth"].as_u64().unwrap().try_into().unwrap()
}

#[test]
fn it_says_what_changes_in_the_session_that_is_watched() {
    let desk = TestEnv::new();
    begin(&desk);
    let mut process = Process::start(&desk);
    process.watch(false);
    let state = process.state(|_| true);
    assert_eq!(titles(&state), ["▶ f1 Write the tests *"]);
    assert_eq!(state.get("criteria"), None, "they are the title once more");
    desk.ok(&[
        "push",
        "Read\nthe \u{1b}[2Jgrammar",
        "-c",
        "Every rule is known",
        "--session",
        SESSION,
    ]);
    let state = process.state(|state| titles(state).len() == 2);
    let title = r"Read the \u{1b}[2Jgrammar";
    assert_eq!(titles(&state), ["▶ f1 Write the tests".to_owned(), format!("  ▶ f2 {title} *")]);
    assert_eq!(state["criteria"], "Every rule is known");
    assert_eq!(state["stack"][1], json!({"handle": "f2", "title": title}));

    let pop = json!({"operation": "stack_frame_pop", "arguments": {"frame": "f2", "results": "23 rules."}});
    let answer = process.answer(2, "run", &pop);
    assert!(answer["result"]["title"].as_str().unwrap().contains("f2"), "{answer}");
    let state = process.state(|state| state["rows"][1]["status"] == "completed");
    assert_eq!(titles(&state)[0], "▶ f1 Write the tests *");
    assert_eq!(desk.json(&["show", "f2"])["results"], "23 rules.");
    process.watch(true);
    assert_eq!(titles(&process.state(|state| state["all"] == true)), titles(&state));
    process.end();
}

#[test]
fn a_frame_is_described_with_what_can_be_done_with_it() {
    let desk = TestEnv::new();
    begin(&desk);
    desk.ok(&["plan", "Later", "-c", "It is done"]);
    let mut process = Process::start(&desk);
    process.watch(false);
    let answer = process.answer(2, "frame", &json!({"frame": "f2"}));
    let frame = &answer["result"];
    let text = frame["text"].as_str().unwrap();
    assert!(text.starts_with("○ f2 Later\n") && text.contains("It is done"), "{text}");
    let operations = frame["actions"].as_array().unwrap().iter().map(|it| &it["operation"]);
    assert_eq!(
        operations.collect::<Vec<_>>(),
        [
            "stack_frame_activate",
            "stack_frame_unplan",
            "stack_pin",
            "stack_add_decision",
            "stack_frame_invalidate"
        ]
    );
    // Whatever is offered is taken.
    for (id, action) in frame["actions"].as_array().unwrap().iter().rev().enumerate() {
        if action["operation"] == "stack_frame_invalidate"
            || action["operation"] == "stack_frame_unplan"
        {
            continue;
        }
        let mut arguments = action["arguments"].clone();
        if let Some(asked) = action["asks"]["argument"].as_str() {
            arguments[asked] = "words".into();
        }
        let run = json!({"operation": action["operation"], "arguments": arguments});
        let answer = process.answer(10 + id as u64, "run", &run);
        assert!(answer["error"].is_null(), "{action}: {answer}");
    }
    let refused = process.answer(3, "frame", &json!({"frame": "f99"}));
    assert_eq!(refused["error"]["kind"], "not_found");
    let unknown = json!({"operation": "no_such_operation", "arguments": {}});
    assert_eq!(process.answer(4, "run", &unknown)["error"]["kind"], "not_found");
    process.ask(&json!("no request"));
    assert_eq!(process.next()["error"]["kind"], "invalid");
}

#[test]
fn it_makes_no_store_and_shows_one_that_is_made_later() {
    let desk = TestEnv::without_store();
    let mut process = Process::start(&desk);
    process.watch(false);
    let state = process.state(|_| true);
    assert_eq!(state["rows"], json!([]));
    assert_eq!(state.get("trouble"), None);
    assert!(!desk.project().join(".callstack").exists());
    begin(&desk);
    process.state(|state| titles(state) == ["▶ f1 Write the tests *"]);
}

#[test]
fn a_store_that_can_not_be_used_is_reported() {
    let desk = TestEnv::new();
    desk.sealed.write(".callstack/callstack.db", &"no database ".repeat(600)).unwrap();
    desk.ok(&["trust", "--yes"]);
    let mut process = Process::start(&desk);
    process.watch(false);
    let state = process.state(|_| true);
    let trouble = state["trouble"].as_str().unwrap();
    assert!(trouble.contains("callstack.db"), "{trouble}");
}
