//! The binary `callstack`.

use std::process::ExitCode;

use callstack_engine::{Engine, Settings, SystemWorld};

fn main() -> ExitCode {
    let directory = std::env::current_dir().unwrap_or_default();
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let project = callstack_store::find(&directory, home.as_deref())
        .unwrap_or_else(|| callstack_store::project_root(&directory, home.as_deref()));
    let engine = Settings::from_vars(|name| std::env::var(name).ok())
        .and_then(|settings| Engine::open(&project, settings, Box::new(SystemWorld)));
    let served = callstack_hosts::opencode::serve(
        &engine,
        env!("CARGO_PKG_VERSION"),
        std::io::stdin().lock(),
        std::io::stdout().lock(),
        |_| {},
    );
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
