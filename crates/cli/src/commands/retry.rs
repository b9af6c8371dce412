use serde_json::json;

use super::began;
use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;

/// Try again what a frame that has ended was for
///
/// Opens a fresh frame beside it with the same title, criteria and pins, and with what was learnt from the
/// first try as its first decision: the results, how it stood at its end, and what was decided in it, as
/// far as they are short.
#[derive(Debug, clap::Args)]
pub(crate) struct RetryArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
}

pub(crate) fn run(
    args: &RetryArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    let answer = invocation.run(&engine, "stack_frame_retry", json!({"frame": args.frame}))?;
    began(output, &answer, &invocation.caller(&engine)?.session)
}
