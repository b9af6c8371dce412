use serde_json::json;

use super::began;
use crate::args::NewStore;
use crate::error::CommandError;
use crate::input;
use crate::invocation::Invocation;
use crate::output::Output;

/// Open a new frame below the open one
///
/// An agent that works in the session goes on in the new frame.
#[derive(Debug, clap::Args)]
pub(crate) struct PushArgs {
    /// Short name, two to five words
    title: String,
    /// What "done" means; `-` reads it from standard input
    #[arg(short, long, value_name = "TEXT")]
    criteria: Option<String>,
    #[command(flatten)]
    new: NewStore,
}

pub(crate) fn run(
    args: &PushArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let criteria = args.criteria.as_deref().map(input::text).transpose()?.unwrap_or_default();
    let engine = invocation.engine_or_new(args.new, output)?;
    let arguments = json!({"title": args.title, "successCriteria": criteria});
    let answer = invocation.run(&engine, "stack_frame_push", arguments)?;
    began(output, &answer, &invocation.caller(&engine)?.session)
}
