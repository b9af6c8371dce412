use clap_complete::Shell;

use crate::error::Failure;
use crate::output::Output;

/// Print a completion script for a shell
///
/// For bash: `callstack completions bash > ~/.local/share/bash-completion/completions/callstack`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, output: &mut Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::command(), "callstack", &mut script);
    output.generated(&String::from_utf8_lossy(&script))
}
