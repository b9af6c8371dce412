use serde_json::json;

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::PLAIN;

/// Have one frame stand for the older finished children of a frame
///
/// They stay below it, with their results and their logs. With more than `STACK_CONSOLIDATE_ABOVE`
/// finished children this happens by itself.
#[derive(Debug, clap::Args)]
pub(crate) struct ConsolidateArgs {
    /// The frame whose children are meant [default: the open frame]
    frame: Option<String>,
    /// How many of the newest stay as they are
    #[arg(long, value_name = "N", default_value_t = 10)]
    keep: u64,
}

pub(crate) fn run(
    args: &ConsolidateArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    let arguments = json!({"frame": args.frame, "keep": args.keep});
    let answer = invocation.run(&engine, "stack_frame_consolidate", arguments)?;
    output.either(&answer.data, |page| {
        page.put(PLAIN, &answer.text).end();
    })
}
