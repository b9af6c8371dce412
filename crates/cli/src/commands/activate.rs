use serde_json::json;

use super::began;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;

/// Start work in a planned frame, or take up a blocked one
///
/// The session that works now goes on in it. Only an agent's program can start another session for a frame.
#[derive(Debug, clap::Args)]
pub(crate) struct ActivateArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
    /// Which session is to work on it
    #[arg(long = "in", value_name = "WHERE", value_parser = ["session", "here"])]
    place: Option<String>,
}

pub(crate) fn run(
    args: &ActivateArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine_with_remarks(output)?;
    let arguments = match &args.place {
        Some(place) => json!({"frame": args.frame, "in": place}),
        None => json!({"frame": args.frame}),
    };
    let answer = invocation.run(&engine, "stack_frame_activate", arguments)?;
    if let Some(why) = answer.data["inPlace"].as_str() {
        output.remark(&format!("This session works on it: {why}"));
    }
    began(output, &answer, &invocation.caller(&engine)?.session)
}
