//! The binary `callstack`: frames for people at a terminal, and the process behind agents' plugins.

mod args;
mod commands;
mod demo;
mod error;
mod input;
mod invocation;
mod opencode;
mod output;
mod page;
mod pager;
mod plugin;
mod project;
#[cfg(test)]
mod reference_tests;
#[cfg(unix)]
mod signals;
mod slash_files;
mod user;
mod wording;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    signals::let_large_writes_fail();
    let arguments: Vec<_> = std::env::args_os().collect();
    let mut output = output::Output::new(args::wants_json(&arguments));
    let outcome = match args::parse(&arguments) {
        Ok(args) => commands::run(&args, &mut output),
        Err(error) => output.usage(&error, &arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output.failure(&failure),
    }
}
