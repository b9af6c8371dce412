use serde_json::json;

use super::noted;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;

/// Record a file that a frame produced
#[derive(Debug, clap::Args)]
pub(crate) struct ArtifactArgs {
    /// The file, or the name of another resource
    path: String,
    /// Handle such as f3, or the beginning of an id [default: the open frame]
    #[arg(long)]
    frame: Option<String>,
}

pub(crate) fn run(
    args: &ArtifactArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    // The engine's paths are relative to the project's root, those of people to the folder that they are in.
    let here = invocation.place.start().join(&args.path);
    let artifact =
        here.to_str().filter(|_| here.exists()).map_or_else(|| args.path.clone(), str::to_owned);
    let arguments = json!({"artifact": artifact, "frame": args.frame});
    let answer = invocation.run(&engine, "stack_add_artifact", arguments)?;
    noted(output, &answer, "file noted in")
}
