use serde_json::json;

use super::began;
use crate::error::Failure;
use crate::input;
use crate::invocation::Invocation;
use crate::output::Output;

/// Go to another frame: an open one above, or a planned or blocked one
///
/// The frames that are left on the way are set aside as blocked, and can be gone to again.
#[derive(Debug, clap::Args)]
pub(crate) struct GoArgs {
    /// Handle such as f3, or parent, next or previous
    to: String,
    /// What was done so far in the frames that are left; `-` reads it from standard input
    #[arg(short, long, value_name = "TEXT")]
    results: Option<String>,
}

pub(crate) fn run(
    args: &GoArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let results = args.results.as_deref().map(input::text).transpose()?;
    let engine = invocation.engine()?;
    let arguments = json!({"to": args.to, "results": results});
    let answer = invocation.run(&engine, "stack_navigate", arguments)?;
    began(output, &answer, &invocation.caller(&engine)?.session)
}
