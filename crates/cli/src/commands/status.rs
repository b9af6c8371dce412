use callstack_engine::FrameMetadata;
use callstack_engine::tree::sign;
use serde_json::{Value, json};

use super::show;
use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, style};

/// Show the open frames, from the root to the one that is worked in
///
/// Keys, tokens and passwords of known forms are masked unless --reveal is given.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,
}

pub(crate) fn run(
    args: &StatusArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    let mut data = invocation.run(&engine, "stack_status", json!({}))?.data;
    if !args.reveal {
        data.get_mut("stack")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .try_for_each(show::mask)?;
    }
    let stack: Vec<FrameMetadata> =
        serde_json::from_value(data["stack"].clone()).map_err(|error| Failure::of_shape(&error))?;
    output.either(&data, |page| {
        let session = data["session"].as_str().unwrap_or_default();
        page.put(DIM, &format!("session {session}")).end();
        for (depth, frame) in stack.iter().enumerate() {
            let last = depth + 1 == stack.len();
            page.put(PLAIN, &"  ".repeat(depth)).put(style(frame.status), sign(frame.status));
            page.put(PLAIN, &format!(" {} ", frame.handle));
            page.put(if last { BOLD } else { PLAIN }, &frame.title).end();
            if last {
                page.block(&"  ".repeat(depth + 2), &frame.success_criteria);
            }
        }
        if stack.is_empty() {
            page.put(PLAIN, "no frame is open").end();
        }
        page.put(DIM, &counts(&data["counts"])).end();
    })
}

fn counts(counts: &Value) -> String {
    let told: Vec<String> = counts
        .as_object()
        .into_iter()
        .flatten()
        .map(|(status, count)| format!("{count} {}", status.replace('_', " ")))
        .collect();
    format!("in all: {}", if told.is_empty() { "none".to_owned() } else { told.join(", ") })
}
