use serde_json::json;

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::PLAIN;

/// Group the older finished children of a frame below one new frame
///
/// The agent then reads about the new frame instead of each child. The children keep their results and logs.
/// This happens by itself once a frame has more than `STACK_CONSOLIDATE_ABOVE` finished children.
#[derive(Debug, clap::Args)]
pub(crate) struct ConsolidateArgs {
    /// The frame whose children are grouped [default: the open frame]
    frame: Option<String>,
    /// How many of the newest children to leave as they are
    #[arg(long, value_name = "N", default_value_t = 10)]
    keep: u64,
}

pub(crate) fn run(
    args: &ConsolidateArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let arguments = json!({"frame": args.frame, "keep": args.keep});
    let answer = invocation.run(&engine, "stack_frame_consolidate", arguments)?;
    output.either(&answer.data, |page| {
        page.put(PLAIN, &answer.text).end();
    })
}
