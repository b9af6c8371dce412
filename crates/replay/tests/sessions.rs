//! Sessions to replay.

use std::collections::BTreeMap;

use callstack_core::evidence::Action;
use callstack_core::framing::{Division, Todo, TodoStatus};
use callstack_core::transcript::{CallState, MessageKind, Role, ToolCall};
use callstack_recordings::{Format, Recorded, RecordedPart, Recording, Skipped, Usage};
use serde_json::json;

/// A session in the making; a second passes with every message.
pub(crate) struct SessionBuilder {
    recording: Recording,
    now: i64,
}

impl From<Recording> for SessionBuilder {
    fn from(recording: Recording) -> Self {
        Self { recording, now: 1_700_000_000_000 }
    }
}

impl SessionBuilder {
    pub(crate) fn new() -> Self {
        let recording = Recording {
            format: Format::ClaudeCode,
            session: "session-1".to_owned(),
            parent: None,
            project: "/home/me/app".to_owned(),
            title: Some("Dates & <times>".to_owned()),
            messages: Vec::new(),
            left: Vec::new(),
            skipped: Skipped { kinds: BTreeMap::from([("hint".to_owned(), 2)]), unreadable: 1 },
        };
        Self { recording, now: 1_700_000_000_000 }
    }

    fn message(&mut self, role: Role, standing: MessageKind, parts: Vec<RecordedPart>) {
        self.now += 1_000;
        let id = format!("m{}", self.recording.messages.len() + 1);
        self.recording.messages.push(Recorded {
            id,
            role,
            standing,
            kept: Vec::new(),
            at: Some(self.now),
            parts,
            usage: None,
            model: None,
            of_program: false,
            broken_off: false,
            records: Vec::new(),
        });
    }

    pub(crate) fn user(&mut self, text: &str) -> &mut Self {
        self.message(Role::User, MessageKind::Normal, vec![words(text)]);
        self
    }

    pub(crate) fn agent(&mut self, parts: Vec<RecordedPart>) -> &mut Self {
        self.message(Role::Assistant, MessageKind::Normal, parts);
        self
    }

    pub(crate) fn summary(&mut self, text: &str) -> &mut Self {
        self.message(Role::Assistant, MessageKind::Summary, vec![words(text)]);
        self
    }

    pub(crate) fn pause(&mut self, ms: i64) -> &mut Self {
        self.now += ms;
        self
    }

    /// Adds the provider's reports of the tokens of calls, in order.
    pub(crate) fn usages(&mut self, reported: &[u64]) -> &mut Self {
        let answers = self.recording.messages.iter_mut().filter(|message| message.is_answer());
        for (answer, input) in answers.zip(reported) {
            answer.usage = Some(Usage { input: *input, ..Usage::default() });
        }
        self
    }

    pub(crate) fn child(&mut self) -> &mut Self {
        self.recording.parent = Some(callstack_recordings::Parent::default());
        self
    }

    pub(crate) fn done(&mut self) -> Recording {
        self.recording.clone()
    }
}

pub(crate) fn words(text: &str) -> RecordedPart {
    RecordedPart::Text { text: text.to_owned(), synthetic: false }
}

fn call(tool: &str, input: serde_json::Value, output: &str) -> ToolCall {
    // Ids of calls are unique in a session; their form does not matter.
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    ToolCall {
        input,
        output: Some(output.to_owned()),
        ..ToolCall::new(format!("call-{number}"), tool, CallState::Completed)
    }
}

pub(crate) fn read(file: &str, content: &str) -> RecordedPart {
    let mut call = call("Read", json!({"file_path": file}), content);
    call.action = Action::Read(file.to_owned());
    RecordedPart::Call(Box::new(call))
}

pub(crate) fn edit(file: &str, new: &str) -> RecordedPart {
    let mut call = call("Edit", json!({"file_path": file, "new_string": new}), "done");
    call.action = Action::Wrote(vec![file.to_owned()]);
    RecordedPart::Call(Box::new(call))
}

pub(crate) fn replace(file: &str, old: &str, new: &str) -> RecordedPart {
    let input = json!({"file_path": file, "old_string": old, "new_string": new});
    let mut call = call("Edit", input, "done");
    call.action = Action::Wrote(vec![file.to_owned()]);
    RecordedPart::Call(Box::new(call))
}

pub(crate) fn write(file: &str, content: &str) -> RecordedPart {
    let mut call = call("Write", json!({"file_path": file, "content": content}), "done");
    call.action = Action::Wrote(vec![file.to_owned()]);
    RecordedPart::Call(Box::new(call))
}

pub(crate) fn run(command: &str, output: &str) -> RecordedPart {
    let mut call = call("Bash", json!({"command": command}), output);
    call.action = Action::Ran(command.to_owned());
    RecordedPart::Call(Box::new(call))
}

/// The whole list; `>` begins an item in progress, `+` a completed one.
pub(crate) fn todos(items: &[&str]) -> RecordedPart {
    let of = |item: &&str| {
        let (status, content) = match item.split_at(1) {
            (">", content) => (TodoStatus::InProgress, content),
            ("+", content) => (TodoStatus::Completed, content),
            _ => (TodoStatus::Pending, *item),
        };
        Todo { id: None, content: content.to_owned(), status }
    };
    let mut call = call("TodoWrite", json!({"todos": items}), "The list was written.");
    call.division = Some(Division::Todos(items.iter().map(of).collect()));
    RecordedPart::Call(Box::new(call))
}

/// Lines of a program, some of them with names of their own.
pub(crate) fn program(name: &str, lines: usize) -> String {
    let line =
        |at: usize| format!("{at:>4}\tlet {name}_{at} = parse_{name}(\"{name} {at}\", {at}00);");
    (1..=lines).map(line).collect::<Vec<_>>().join("\n")
}

/// Two items of a list, a chat, and a turn of much reading.
pub(crate) fn work() -> Recording {
    let mut making = SessionBuilder::new();
    making.user("Add dates to the app, with tests, please.");
    making.agent(vec![words("I plan it."), todos(&[">Write the parser", "Write the tests"])]);
    making.agent(vec![read("/home/me/app/src/date.rs", &program("date", 60))]);
    making.agent(vec![edit("/home/me/app/src/date.rs", "fn parse_date() { todo_now() }")]);
    making.agent(vec![words("parse_date reads ISO dates."), run("cargo build", "Finished")]);
    making.agent(vec![todos(&["+Write the parser", ">Write the tests"])]);
    making.agent(vec![edit("/home/me/app/src/date_tests.rs", "parse_date(\"2026-01-01\")")]);
    making.agent(vec![run("cargo test", &(program("test", 40) + "\n3 passed; 0 failed"))]);
    making.agent(vec![todos(&["+Write the parser", "+Write the tests"])]);
    making.agent(vec![words("Dates are in: parse_date in src/date.rs, three tests pass.")]);
    making.user("thanks");
    making.agent(vec![words("You are welcome.")]);
    making.pause(600_000).user("Now look for what else parses.");
    for at in 0..80 {
        let name = ["time", "zone", "week", "month", "year", "leap", "era", "noon"][at % 8];
        let file = format!("/home/me/app/src/{name}{at}.rs");
        making.agent(vec![read(&file, &program(name, 60))]);
    }
    making.agent(vec![words("parse_time and parse_zone do; parse_week does not.")]);
    making.user("Fix parse_week.");
    making.agent(vec![edit(
        "/home/me/app/src/week.rs",
        "let week_12 = parse_week(\"week 12\", 1200);",
    )]);
    making.agent(vec![words("Fixed.")]);
    making.done()
}
