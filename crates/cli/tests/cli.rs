//! The command line as people and scripts use it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests fail as tests do, and a skip says why"
)]

mod alike;
mod completions;
mod config;
#[cfg(unix)]
mod demo;
mod doctor;
mod elsewhere;
mod exports;
mod files;
mod frames;
mod git_exclude;
mod help;
mod host;
mod init;
#[cfg(unix)]
mod kept;
#[cfg(unix)]
mod kept_ids;
#[cfg(unix)]
mod killed;
#[cfg(unix)]
mod links;
mod mcp;
#[cfg(unix)]
mod members;
#[cfg(target_os = "linux")]
mod odd_paths;
mod opencode_tui;
#[cfg(unix)]
mod packages;
mod places;
mod plans;
mod purge;
#[cfg(unix)]
mod put_aside;
mod refusals;
mod replay;
mod report;
mod rollback;
mod saving;
mod search;
mod secrets;
#[cfg(unix)]
mod serve;
mod settings;
#[cfg(unix)]
mod shared;
mod shown;
#[cfg(unix)]
mod special;
mod specification;
mod stores;
mod terminal;
pub(crate) mod test_env;
mod texts;
#[cfg(unix)]
mod trust;
#[cfg(unix)]
mod ui;
mod usual;
#[cfg(unix)]
mod vanished;
#[cfg(unix)]
mod vanished_idle;
