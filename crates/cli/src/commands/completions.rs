use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::completion::VARIABLE;
use crate::error::CommandError;
use crate::output::Output;

/// Print a completion script for a shell
///
/// The script asks callstack for what may come next, so that handles, sessions, settings and presets are completed as they
/// are in the project. For bash:
/// `callstack completions bash > ~/.local/share/bash-completion/completions/callstack`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Has zsh complete the very line for which it has just loaded the script.
const LOADED: &str = r#"
if [ "$funcstack[1]" = "_callstack" ]; then
    _clap_dynamic_completer_callstack "$@"
fi
"#;

pub(crate) fn run(args: &CompletionsArgs, output: &mut Output) -> Result<(), CommandError> {
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&args.shell.to_string()) {
        let name = "callstack";
        let written = shell.write_registration(VARIABLE, name, name, name, &mut script);
        written.map_err(CommandError::of_output)?;
    }
    let end = if args.shell == Shell::Zsh { LOADED } else { "" };
    output.generated(&format!("{}{end}", String::from_utf8_lossy(&script).trim_start()))
}
