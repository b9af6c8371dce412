use serde_json::json;

use super::began;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;

/// Start a second attempt at what a finished frame was for
///
/// The new frame stands beside the old one and has the same title, criteria and pins. Its first decision tells
/// what the first attempt came to: how it ended, its results and its decisions, shortened where they are long.
#[derive(Debug, clap::Args)]
pub(crate) struct RetryArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
}

pub(crate) fn run(
    args: &RetryArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let answer = invocation.run(&engine, "stack_frame_retry", json!({"frame": args.frame}))?;
    began(output, &answer, &invocation.caller(&engine)?.session)
}
