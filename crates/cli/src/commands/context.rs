use serde_json::json;

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;

/// Print the XML context that an agent is given for a frame
#[derive(Debug, clap::Args)]
pub(crate) struct ContextArgs {
    /// Handle such as f3, or the beginning of an id [default: the open frame]
    frame: Option<String>,
}

pub(crate) fn run(
    args: &ContextArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let arguments = json!({"frame": args.frame});
    let answer = invocation.run(&engine, "stack_context_preview", arguments)?;
    output.either(&answer.data, |page| {
        page.block("", &answer.text);
    })
}
