use serde_json::json;

use crate::error::CommandError;
use crate::input;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::PLAIN;

/// Pin a constraint: every frame below sees it word for word
#[derive(Debug, clap::Args)]
pub(crate) struct PinArgs {
    /// The constraint; `-` reads it from standard input
    text: String,
    /// The frame that it applies to, with all frames below it [default: the open frame]
    #[arg(long)]
    frame: Option<String>,
}

pub(crate) fn run(
    args: &PinArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let text = input::text(&args.text)?;
    let engine = invocation.engine()?;
    let arguments = json!({"text": text, "frame": args.frame});
    let answer = invocation.run(&engine, "stack_pin", arguments)?;
    output.either(&answer.data, |page| {
        page.put(PLAIN, &answer.text).end();
    })
}
