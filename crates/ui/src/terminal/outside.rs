//! Programs that have the terminal in between: an editor, an agent.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs a command in a folder, and returns the outcome in a line. The output of a failed command can be read until
/// somebody presses Enter.
pub(crate) fn run(words: &[String], folder: &Path) -> String {
    let Some((program, arguments)) = words.split_first() else {
        return "there is no command to run".to_owned();
    };
    let outcome = Command::new(program).args(arguments).current_dir(folder).status();
    let outcome_line = match &outcome {
        Ok(status) if status.success() => format!("{program} has ended"),
        Ok(status) => format!("{program} has ended with {status}"),
        Err(error) => format!("{program} can't be run: {error}"),
    };
    if !outcome.is_ok_and(|status: ExitStatus| status.success()) {
        // A terminal that is gone has nobody to wait for.
        drop(wait(&outcome_line));
    }
    outcome_line
}

fn wait(outcome_line: &str) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "\ncallstack: {outcome_line}. Enter goes back to the tree. ")?;
    out.flush()?;
    io::stdin().read_line(&mut String::new())?;
    Ok(())
}
