use serde_json::json;

use super::began;
use crate::error::Failure;
use crate::input;
use crate::invocation::Invocation;
use crate::output::Output;

/// Open a frame below the open one, and make it the open one
///
/// An agent that works in the session goes on in the new frame. Where nobody has worked yet, a
/// store is made at the root of the work tree.
#[derive(Debug, clap::Args)]
pub(crate) struct PushArgs {
    /// Short name, two to five words
    title: String,
    /// What "done" means; `-` reads it from standard input
    #[arg(short, long, value_name = "TEXT")]
    criteria: String,
}

pub(crate) fn run(
    args: &PushArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let criteria = input::text(&args.criteria)?;
    let engine = invocation.engine_or_new()?;
    let arguments = json!({"title": args.title, "successCriteria": criteria});
    let answer = invocation.run(&engine, "stack_frame_push", arguments)?;
    began(output, &answer, &invocation.caller(&engine)?.session)
}
