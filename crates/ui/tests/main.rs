//! The view in a pseudo-terminal: keys, the mouse, sizes, signals, failures, and the terminal afterwards.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod leaving;
mod project;
mod using;

use project::{PROJECT, show};

/// The program that tests run in a terminal. Without a project there is nothing to show.
#[test]
fn child() {
    if let Some(project) = std::env::var_os(PROJECT) {
        show(project.as_ref());
    }
}
