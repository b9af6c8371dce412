use serde_json::json;

use super::noted;
use crate::error::CommandError;
use crate::input;
use crate::invocation::Invocation;
use crate::output::Output;

/// Record a key decision in a frame
#[derive(Debug, clap::Args)]
pub(crate) struct DecisionArgs {
    /// What was decided, and why; `-` reads it from standard input
    text: String,
    /// Handle such as f3, or the beginning of an id [default: the open frame]
    #[arg(long)]
    frame: Option<String>,
}

pub(crate) fn run(
    args: &DecisionArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let text = input::text(&args.text)?;
    let engine = invocation.engine()?;
    let arguments = json!({"decision": text, "frame": args.frame});
    let answer = invocation.run(&engine, "stack_add_decision", arguments)?;
    noted(output, &answer, "decision noted in")
}
