use callstack_engine::FrameMetadata;
use serde_json::json;

use crate::error::Failure;
use crate::frame_view::{FrameView, neighbours};
use crate::invocation::Invocation;
use crate::output::Output;

/// Show a frame: results, files, checks, decisions, pins
///
/// Keys, tokens and passwords of known forms are masked unless --reveal is given. Evidence, and whatever else was
/// taken from messages, never contains them; `callstack log --reveal` shows the messages as they came.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
    /// Also show the recorded evidence of the work and the frame's ids
    #[arg(long, short)]
    evidence: bool,
    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,
}

pub(crate) fn run(
    args: &ShowArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    let arguments = json!({"frame": args.frame});
    let answer =
        invocation.run_revealing(args.reveal, &engine, "stack_frame_details", arguments)?;
    let data = answer.data;
    let frame: FrameMetadata =
        serde_json::from_value(data.clone()).map_err(|error| Failure::of_shape(&error))?;
    let changed_since = data["changedArtifacts"].as_object().into_iter().flatten();
    let changed_since = changed_since
        .map(|(path, since)| (path.clone(), since.as_str().unwrap_or_default().to_owned()));
    let lines = engine.tree(None)?;
    let left_open = lines.iter().filter(|line| line.left_open).map(|line| line.frame.num).collect();
    let frames: Vec<_> = lines.into_iter().map(|line| line.frame).collect();
    let (parent, children) = match frame.handle.parse() {
        Ok(num) => neighbours(&frames, num),
        Err(_) => (None, Vec::new()),
    };
    let view = FrameView {
        frame: &frame,
        parent,
        children,
        left_open,
        changed_since: changed_since.collect(),
        still_sent: data["stillSent"]["told"].as_str().unwrap_or_default(),
        evidence: args.evidence,
        reveal: args.reveal,
        now: engine.world().now(),
        width: output.width(),
    };
    output.either(&data, |page| view.draw(page))
}
