use callstack_core::secrets;
use callstack_engine::FrameMetadata;
use serde_json::{Value, json};

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
    let mut data = invocation.run(&engine, "stack_frame_details", arguments)?.data;
    if !args.reveal {
        mask(&mut data)?;
    }
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

/// Masks the secrets in a frame as exports do; what else is told beside it stays.
pub(super) fn mask(data: &mut Value) -> Result<(), Failure> {
    let frame: FrameMetadata =
        serde_json::from_value(data.clone()).map_err(|error| Failure::of_shape(&error))?;
    let Some(masked) = frame.masked() else { return Ok(()) };
    if let (Value::Object(told), Value::Object(masked)) = (&mut *data, json!(masked)) {
        told.extend(masked);
    }
    if let Some(changed) = data.get_mut("changedArtifacts").and_then(Value::as_object_mut) {
        let named = std::mem::take(changed).into_iter();
        *changed = named.map(|(path, since)| (secrets::mask(&path).into_owned(), since)).collect();
    }
    Ok(())
}
