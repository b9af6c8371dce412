use serde_json::json;

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::PLAIN;

/// Read again what was said and done in a frame, also after it was folded away
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
    /// First message to show
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: usize,
    /// How many messages to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    count: usize,
}

pub(crate) fn run(
    args: &LogArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    let arguments = json!({"frame": args.frame, "from": args.from, "count": args.count});
    let answer = invocation.run(&engine, "stack_log", arguments)?;
    output.either(&answer.data, |page| {
        if answer.data["total"] == 0 {
            page.put(PLAIN, &format!("{}: no messages are kept", answer.title)).end();
        } else {
            page.block("", &answer.text);
        }
    })
}
