use serde_json::json;

use super::began;
use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;

/// Start work in a planned frame, or take up a blocked one
#[derive(Debug, clap::Args)]
pub(crate) struct ActivateArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
}

pub(crate) fn run(
    args: &ActivateArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    let answer = invocation.run(&engine, "stack_frame_activate", json!({"frame": args.frame}))?;
    began(output, &answer, &invocation.caller(&engine)?.session)
}
