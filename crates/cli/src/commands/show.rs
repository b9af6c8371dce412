use callstack_engine::{Engine, FrameMetadata};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::frame_view::{FrameView, neighbours};
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::Page;

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
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let arguments = json!({"frame": args.frame});
    let answer =
        invocation.run_revealing(args.reveal, &engine, "stack_frame_details", arguments)?;
    let look = Look { evidence: args.evidence, reveal: args.reveal, width: output.width() };
    let mut page = Page::default();
    draw(&engine, &answer.data, &look, &mut page)?;
    output.either(&answer.data, |out| out.append(&page))
}

/// How a frame is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// Whether with the recorded evidence.
    pub(crate) evidence: bool,
    /// Whether with secrets as they are.
    pub(crate) reveal: bool,
    /// Columns of the terminal, if there is one.
    pub(crate) width: Option<usize>,
}

/// Draws a frame from the data of `stack_frame_details`.
pub(crate) fn draw(
    engine: &Engine,
    data: &Value,
    look: &Look,
    page: &mut Page,
) -> Result<(), CommandError> {
    let frame: FrameMetadata =
        serde_json::from_value(data.clone()).map_err(|error| CommandError::of_shape(&error))?;
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
        evidence: look.evidence,
        reveal: look.reveal,
        now: engine.world().now(),
        width: look.width,
    };
    view.draw(page);
    Ok(())
}
