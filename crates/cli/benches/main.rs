//! The costs of the binary: its start, the process that serves the plugin, and our hooks inside the real `OpenCode`.
//!
//! `cargo bench -p callstack-cli` takes sessions of 20 and 200 messages, `-- --full` also those of 2,000
//! (about two minutes more), `-- --messages N` only those of N. `-- --only start`, `host` or `hooks`
//! takes one part. `-- --wire FILE` plays the recorded sessions of a file or folder instead
//! (`--dump FOLDER` writes their requests).

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement reports on standard output and stops at the first failure"
)]

mod hooks;
mod host;
#[expect(dead_code, reason = "shared with the engine's measurements, which need more of it")]
#[path = "../../engine/benches/measure.rs"]
mod measure;
mod model;
mod start;
mod transcript;
mod wire;

use std::path::Path;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1)).cloned()
    };
    let sizes = match option("--messages") {
        Some(list) => list.split(',').map(|it| it.replace('_', "").parse().unwrap()).collect(),
        None if args.iter().any(|arg| arg == "--full") => vec![20, 200, 2_000],
        None => vec![20, 200],
    };
    if let Some(path) = option("--wire") {
        wire::run(&[path], option("--dump").as_deref().map(Path::new));
        return;
    }
    let only = option("--only");
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    if wanted("start") {
        start::run();
    }
    if wanted("host") {
        host::run(&sizes);
    }
    if wanted("hooks") {
        hooks::run(&sizes);
    }
}
