//! Recordings: how each program's files are read.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what is wrong by failing"
)]

mod bad_input;
mod claude_code;
mod codex;
mod halves;
mod mini_swe_agent;
mod opencode;
mod pi;
mod reading;
mod rendered;
mod swe_agent;

use std::path::PathBuf;

use callstack_recordings::{Recording, read};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(name)
}

/// Returns the recording in a file of JSON lines.
fn of_lines(lines: &[Value]) -> Recording {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    of_text(&(lines.join("\n") + "\n"))
}

/// Returns the recording in a file with this text.
fn of_text(text: &str) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session");
    std::fs::write(&path, text).unwrap();
    read(&path).unwrap().remove(0)
}

/// Returns the messages that the model was shown after the last one, by their ids.
fn shown(recording: &Recording) -> Vec<&str> {
    let places = recording.shown(recording.messages.len()).into_iter();
    places.map(|place| recording.messages[place].id.as_str()).collect()
}
