use serde_json::json;

use super::noted;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;

/// Remove a pinned constraint
#[derive(Debug, clap::Args)]
pub(crate) struct UnpinArgs {
    /// Number of the pin, such as p3; `callstack show` lists a frame's pins
    pin: String,
    /// The frame that it was pinned to [default: the open frame]
    #[arg(long)]
    frame: Option<String>,
}

pub(crate) fn run(
    args: &UnpinArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let arguments = json!({"pin": args.pin, "frame": args.frame});
    let answer = invocation.run(&engine, "stack_unpin", arguments)?;
    noted(output, &answer, "pin removed from")
}
