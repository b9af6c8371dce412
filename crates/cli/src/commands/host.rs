use clap::ValueEnum;

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::opencode_tui;
use crate::output::Output;
use crate::project::open;
use crate::signals::before_the_end;

/// Serve an agent's plugin on standard input and output
///
/// The plugin that `callstack init` installs starts this command. You never need to run it yourself.
#[derive(Debug, clap::Args)]
pub(crate) struct HostArgs {
    /// The agent whose plugin asks
    host: Host,
}

/// Agents that are spoken to.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Host {
    /// OpenCode
    Opencode,
    /// OpenCode's full-screen interface
    OpencodeTui,
}

pub(crate) fn run(
    args: &HostArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    if let Host::OpencodeTui = args.host {
        let input = std::io::BufReader::new(std::io::stdin());
        return opencode_tui::serve(&invocation.place, input, std::io::stdout().lock())
            .map_err(CommandError::of_output);
    }
    // An error of the store is reported to the plugin with each request, so that it can say why the agent goes on
    // without frames.
    let is_new = invocation.place.found().is_none();
    let engine = invocation.place.existing_or_new().and_then(|project| open(&project));
    if let Ok(engine) = &engine {
        if is_new && let Some(folder) = engine.store_path().parent() {
            engine.notify(format!("frames of this project are kept in {}", folder.display()));
        }
        engine.guard();
        before_the_end(engine.last_check());
        engine.write_files();
    }
    callstack_hosts::opencode::serve(
        &engine,
        env!("CARGO_PKG_VERSION"),
        std::io::stdin().lock(),
        std::io::stdout().lock(),
        |line| output.remark(line),
    )
    .map_err(CommandError::of_output)
}
