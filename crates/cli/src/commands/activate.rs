use serde_json::json;

use super::began;
use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;

/// Start work in a planned frame, or take up a blocked one
///
/// It is worked on in the session that works now: only an agent's program can run another one.
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
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    let arguments = match &args.place {
        Some(place) => json!({"frame": args.frame, "in": place}),
        None => json!({"frame": args.frame}),
    };
    let answer = invocation.run(&engine, "stack_frame_activate", arguments)?;
    if let Some(why) = answer.data["inPlace"].as_str() {
        output.remark(&format!("It is worked on in this session: {why}"));
    }
    began(output, &answer, &invocation.caller(&engine)?.session)
}
