//! The binary `callstack`: frames for people at a terminal, and the process that serves agents' plugins.

mod args;
mod binary;
mod clients;
mod commands;
mod completion;
mod demo;
mod error;
mod examples;
mod frame_view;
mod input;
mod invocation;
mod log_view;
mod opencode;
mod opencode_config;
mod opencode_tui;
mod operations;
mod output;
mod page;
mod pager;
mod plugin;
mod printed;
mod project;
mod recorded_view;
#[cfg(test)]
mod reference_tests;
mod replay_verdict;
mod reporter;
mod resume;
mod signals;
mod slash_files;
mod tree_view;
mod tui_plugin;
mod user;
mod wording;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    signals::let_large_writes_fail();
    let arguments: Vec<_> = std::env::args_os().collect();
    let mut output = output::Output::new(args::wants_json(&arguments));
    let outcome = match completion::answer(&arguments, &mut output) {
        Ok(false) => match args::parse(&arguments) {
            Ok(args) => commands::run(&args, &mut output),
            Err(error) => output.usage(&error, &arguments),
        },
        answered => answered.map(|_| ()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output.failure(&failure),
    }
}
