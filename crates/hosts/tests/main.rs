//! Recordings: how each program's files are read, and how what is read gets into a store.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what is wrong by failing"
)]

mod bad_input;
mod importing;
mod reading;
mod told;

use std::path::PathBuf;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(name)
}
