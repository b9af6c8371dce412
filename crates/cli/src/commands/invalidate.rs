use serde_json::json;

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::PLAIN;

/// Mark a frame and what is planned below it as irrelevant
#[derive(Debug, clap::Args)]
pub(crate) struct InvalidateArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
    /// Why it is no longer relevant
    #[arg(short, long, value_name = "TEXT")]
    reason: String,
}

pub(crate) fn run(
    args: &InvalidateArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let arguments = json!({"frame": args.frame, "reason": args.reason});
    let answer = invocation.run(&engine, "stack_frame_invalidate", arguments)?;
    output.either(&answer.data, |page| {
        page.put(PLAIN, &answer.text).end();
    })
}
