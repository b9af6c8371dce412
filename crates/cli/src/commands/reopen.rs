use serde_json::json;

use super::began;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;

/// Open a completed, failed or invalidated frame again
#[derive(Debug, clap::Args)]
pub(crate) struct ReopenArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
}

pub(crate) fn run(
    args: &ReopenArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let answer = invocation.run(&engine, "stack_frame_reopen", json!({"frame": args.frame}))?;
    began(output, &answer, &invocation.caller(&engine)?.session)
}
