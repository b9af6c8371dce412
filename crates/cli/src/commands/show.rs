use callstack_core::frame::Status;
use callstack_core::secrets;
use callstack_core::text::format_duration;
use callstack_engine::FrameMetadata;
use callstack_engine::tree::sign;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page, ago, style};

/// Show everything about a frame: criteria, results, files, decisions, evidence, pins
///
/// Keys, tokens and passwords of known forms are masked unless --reveal is given. Evidence, and what else
/// was taken from messages, never has them: `callstack log --reveal` shows these as they came.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
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
    let now = engine.world().now();
    let changed = |path: &String| {
        let since = data["changedArtifacts"][path].as_str();
        since.map_or_else(|| path.clone(), |since| format!("{path} ({since})"))
    };
    let files: Vec<_> = frame.artifacts.iter().map(changed).collect();
    let still_sent = data["stillSent"]["told"].as_str().unwrap_or_default();
    output.either(&data, |page| draw(page, &frame, &files, still_sent, now))
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

fn draw(page: &mut Page, frame: &FrameMetadata, files: &[String], still_sent: &str, now: i64) {
    page.put(style(frame.status), sign(frame.status)).put(PLAIN, &format!(" {} ", frame.handle));
    page.put(BOLD, &frame.title).put(PLAIN, " ");
    page.put(style(frame.status), &format!("[{}]", frame.status.as_str().replace('_', " "))).end();
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            page.put(DIM, name).put(PLAIN, ": ").put(PLAIN, value).end();
        }
    };
    row("id", &frame.session_id);
    row("parent", frame.parent_session_id.as_deref().unwrap_or_default());
    row("session", frame.worked_in.as_deref().unwrap_or_default());
    let worked = format_duration(frame.ended_at.unwrap_or(now).saturating_sub(frame.created_at));
    match frame.ended_at {
        Some(ended) => {
            row("took", &worked);
            row("ended", &ago(now.saturating_sub(ended)));
        }
        None if frame.status == Status::Planned => {
            row("planned", &ago(now.saturating_sub(frame.created_at)));
        }
        None => row("begun", &ago(now.saturating_sub(frame.created_at))),
    }
    row("still sent", still_sent);
    row("planned below", &frame.planned_children.join(", "));
    let mut section = |name: &str, text: &str| {
        if !text.is_empty() {
            page.end().put(DIM, name).put(PLAIN, ":").end().block("  ", text);
        }
    };
    section("success criteria", &frame.success_criteria);
    let results = match frame.results_source {
        Some(source) => format!("results, {}", source.told()),
        None => "results".to_owned(),
    };
    section(&results, frame.results.as_deref().unwrap_or_default());
    section("invalidated because", frame.invalidation_reason.as_deref().unwrap_or_default());
    section("files", &files.join("\n"));
    let decisions: Vec<_> = frame.decisions.iter().map(|text| format!("- {text}")).collect();
    section("decisions", &decisions.join("\n"));
    section("evidence", &frame.evidence.lines_beside(&frame.artifacts).join("\n"));
    let pins: Vec<_> = frame.pins.iter().map(|(num, text)| format!("{num} {text}")).collect();
    section("pins", &pins.join("\n"));
}
