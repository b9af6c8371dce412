//! Agents' messages, live and in recordings, on their way into a store.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what is wrong by failing"
)]

mod bad_input;
mod beside;
#[path = "../examples/evidence/check/mod.rs"]
#[allow(dead_code, reason = "what the example prints")]
mod check;
mod evidence;
#[path = "../../recordings/tests/halves.rs"]
mod halves;
mod importing;
mod left;
mod opencode;
mod protocol;
mod session_links;
mod unreadable;

use std::path::PathBuf;

use callstack_recordings::{Recording, read};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../recordings/tests/recordings").join(name)
}

/// Returns the recording in a file with this text.
fn of_text(text: &str) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session");
    std::fs::write(&path, text).unwrap();
    read(&path).unwrap().remove(0)
}
