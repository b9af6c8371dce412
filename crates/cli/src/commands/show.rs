use std::collections::BTreeMap;

use callstack_engine::{FrameMetadata, NearFrames, SystemWorld, World as _};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::frame_view::FrameView;
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
    let arguments = json!({"frame": args.frame, "near": true});
    let answer =
        invocation.run_revealing(args.reveal, &engine, "stack_frame_details", arguments)?;
    let mut page = Page::default();
    draw(&answer.data, args.evidence, output.width(), &mut page)?;
    output.either(&answer.data, |out| out.append(&page))
}

/// The data of `stack_frame_details`, as far as they are shown.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(flatten)]
    frame: FrameMetadata,
    still_sent: Option<StillSent>,
    #[serde(default)]
    changed_artifacts: BTreeMap<String, String>,
    #[serde(default)]
    imported: bool,
    #[serde(default)]
    near: NearFrames,
}

#[derive(Deserialize)]
struct StillSent {
    told: String,
}

/// Draws a frame from the data of `stack_frame_details`, on a terminal with that many columns, if there is one.
pub(crate) fn draw(
    data: &Value,
    evidence: bool,
    width: Option<usize>,
    page: &mut Page,
) -> Result<(), CommandError> {
    let details: Details = serde_json::from_value(data.clone()).map_err(CommandError::of_shape)?;
    let view = FrameView {
        frame: &details.frame,
        near: &details.near,
        left_open: details.imported,
        changed_since: details.changed_artifacts.into_iter().collect(),
        still_sent: details.still_sent.as_ref().map_or("", |still_sent| &still_sent.told),
        evidence,
        now: SystemWorld.now(),
        width,
    };
    view.draw(page);
    Ok(())
}
