use serde_json::{Value, json};

use super::began;
use crate::error::CommandError;
use crate::input;
use crate::invocation::Invocation;
use crate::output::Output;

/// Go to an open frame above, or to a planned or blocked one
///
/// Frames that you leave on the way become blocked; you can go back to them later.
#[derive(Debug, clap::Args)]
pub(crate) struct GoArgs {
    /// Handle such as f3, or parent, next or previous
    to: String,
    /// What was done so far in the frames that you leave; `-` reads it from standard input
    #[arg(short, long, value_name = "TEXT")]
    results: Option<String>,
}

pub(crate) fn run(
    args: &GoArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let results = args.results.as_deref().map(input::text).transpose()?;
    let engine = invocation.engine_with_remarks(output)?;
    let arguments = json!({"to": args.to, "results": results});
    let session = invocation.caller(&engine)?.session;
    let answer = invocation.run(&engine, "stack_navigate", arguments)?;
    began(output, &answer, &session)?;
    let aside = answer.data["aside"].as_array().into_iter().flatten();
    let aside: Vec<_> = aside.filter_map(Value::as_str).collect();
    if !aside.is_empty() {
        let (aside, is) = (aside.join(", "), if aside.len() == 1 { "is" } else { "are" });
        output.remark(&format!(
            "{aside} {is} blocked now; `callstack go` or `activate` takes one up again"
        ));
    }
    Ok(())
}
