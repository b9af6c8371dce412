//! Processor time and memory of a replay, by the size of a session and by the kind of its calls. Writes the session
//! files into a folder and replays each in a process of its own, in all five ways.
//!
//! `cargo run --release -p callstack-replay --example long -- FOLDER`

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use callstack_recordings::read;
use callstack_replay::{Policy, Replay, Strategy};
use serde_json::{Value, json};

/// A session to make: some bytes in calls, turns and todo items.
struct Shape {
    bytes: usize,
    calls: usize,
    turns: usize,
    /// Calls of an item; none without a list.
    item: Option<usize>,
}

const MB: usize = 1_000_000;

const SHAPES: [Shape; 10] = [
    Shape { bytes: 4 * MB, calls: 200, turns: 10, item: None },
    Shape { bytes: 4 * MB, calls: 1_000, turns: 20, item: Some(20) },
    Shape { bytes: 4 * MB, calls: 3_000, turns: 300, item: None },
    Shape { bytes: 4 * MB, calls: 4_000, turns: 1, item: None },
    Shape { bytes: 4 * MB, calls: 4_000, turns: 1, item: Some(10) },
    Shape { bytes: 4 * MB, calls: 4_000, turns: 2_000, item: None },
    Shape { bytes: 14 * MB, calls: 6_000, turns: 100, item: Some(20) },
    Shape { bytes: 100 * MB, calls: 5_000, turns: 100, item: None },
    Shape { bytes: 100 * MB, calls: 40_000, turns: 1_000, item: Some(20) },
    Shape { bytes: 100 * MB, calls: 100_000, turns: 10_000, item: None },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &arguments[..] {
        [folder] => all(Path::new(folder)),
        [_, file] => one(Path::new(file)),
        _ => Err(io::Error::other("name a folder for the sessions")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _closed = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn all(folder: &Path) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "| size | calls | turns | items | time | reading it | peak memory |")?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- | --- |")?;
    for (number, shape) in SHAPES.iter().enumerate() {
        let file = folder.join(format!("long-{}.jsonl", number + 1));
        write(shape, &file)?;
        let bytes = file.metadata()?.len();
        let items = shape.item.map_or(0, |item| shape.calls / item);
        let size = bytes as f64 / MB as f64;
        write!(out, "| {size:.1} MB | {} | {} | {items} ", shape.calls, shape.turns)?;
        out.flush()?;
        let one = Command::new(std::env::current_exe()?).arg("one").arg(&file).output()?;
        writeln!(out, "{}", String::from_utf8_lossy(&one.stdout).trim_end())?;
    }
    Ok(())
}

fn one(file: &Path) -> io::Result<()> {
    let begun = Instant::now();
    let time = || worked().unwrap_or_else(|| begun.elapsed().as_secs_f64());
    let recordings = read(file).map_err(io::Error::other)?;
    let reading = time();
    let mut frames = 0;
    for recording in &recordings {
        let replay = Replay::of(recording, &Policy::default());
        frames += replay.figures(Strategy::Frames).calls;
    }
    if frames == 0 {
        return Err(io::Error::other("nothing was replayed"));
    }
    writeln!(io::stdout(), "| {:.2} s | {reading:.2} s | {} |", time(), peak())
}

/// Returns the processor time of this process in seconds, where the system reports it: other programs may use the
/// processor meanwhile.
fn worked() -> Option<f64> {
    let content = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(content.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// Returns the most memory that this process had, where the system reports it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<usize> = line.and_then(|it| it.trim().strip_suffix(" kB")?.trim().parse().ok());
    kib.map_or_else(|| "unknown".to_owned(), |kib| format!("{} MB", kib * 1_024 / MB))
}

/// Bytes of a call's two records without what it says.
const RECORDS: usize = 900;

fn write(shape: &Shape, file: &Path) -> io::Result<()> {
    let mut session = SessionBuilder { to: BufWriter::new(File::create(file)?), lines: 0 };
    let room = (shape.bytes / shape.calls).saturating_sub(RECORDS);
    let turn = shape.calls.div_ceil(shape.turns);
    session.user(&json!("Find out what parses dates, please."))?;
    for call in 0..shape.calls {
        let (of_turn, name) = (call % turn, NAMES[call % NAMES.len()]);
        let words = json!({"type": "text", "text": format!("I look at parse_{name}_{call} now.")});
        if of_turn + 1 == turn && call + 1 < shape.calls {
            session.agent(call, &json!([words]))?;
            session.user(&json!(format!("Go on with parse_{name}, please.")))?;
            continue;
        }
        let id = format!("toolu_{call}");
        let used = match shape.item {
            Some(item) if of_turn % item == 0 => used("TodoWrite", &id, &todos(of_turn / item)),
            _ if call % 3 == 0 => {
                let path = format!("/home/me/app/src/{name}_{}.rs", call % 50);
                used("Read", &id, &json!({ "file_path": path }))
            }
            _ => used("Bash", &id, &json!({ "command": format!("cargo test {name}_{call}") })),
        };
        session.agent(call, &json!([words, used]))?;
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": text(call, room)});
        session.user(&json!([result]))?;
    }
    session.to.flush()
}

const NAMES: [&str; 8] = ["date", "time", "zone", "week", "month", "year", "leap", "era"];

fn used(tool: &str, id: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": tool, "input": input})
}

/// Returns a list with items that are over, in progress and to be done.
fn todos(over: usize) -> Value {
    let item = |at: usize| {
        let status = match at.cmp(&over) {
            std::cmp::Ordering::Less => "completed",
            std::cmp::Ordering::Equal => "in_progress",
            std::cmp::Ordering::Greater => "pending",
        };
        json!({"content": format!("Write part {at}"), "status": status, "activeForm": "Writing"})
    };
    json!({"todos": (over.saturating_sub(2)..over + 3).map(item).collect::<Vec<_>>()})
}

/// Lines of a program.
fn text(call: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 80);
    let mut line = 0;
    while text.len() < bytes {
        let (name, number) = (NAMES[(call + line) % NAMES.len()], (call * 31 + line * 7) % 5_000);
        // Writing to a string can't fail.
        let _ =
            writeln!(text, "let {name}_{number} = parse_{name}(\"{name} {line}\", {number}00);");
        line += 1;
    }
    text
}

struct SessionBuilder {
    to: BufWriter<File>,
    lines: usize,
}

impl SessionBuilder {
    fn user(&mut self, content: &Value) -> io::Result<()> {
        self.line("user", &json!({"role": "user", "content": content}))
    }

    fn agent(&mut self, call: usize, content: &Value) -> io::Result<()> {
        let id = format!("msg_{call}");
        let message = json!({"role": "assistant", "id": id, "model": "m", "content": content});
        self.line("assistant", &message)
    }

    fn line(&mut self, kind: &str, message: &Value) -> io::Result<()> {
        let id = |number: usize| format!("00000000-0000-4000-8000-{number:012}");
        let parent = self.lines.checked_sub(1).map(id);
        let at = (self.lines / 3_600 % 24, self.lines / 60 % 60, self.lines % 60);
        let day = 1 + self.lines / 86_400;
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external",
            "cwd": "/home/me/app", "sessionId": "11111111-1111-4111-8111-111111111111",
            "version": "2.1.0", "type": kind, "message": message, "uuid": id(self.lines),
            "timestamp": format!("2026-01-{day:02}T{:02}:{:02}:{:02}.000Z", at.0, at.1, at.2),
        });
        self.lines += 1;
        writeln!(self.to, "{line}")
    }
}
