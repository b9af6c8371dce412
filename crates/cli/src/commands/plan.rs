use callstack_engine::EngineError;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{PLAIN, style};
use callstack_core::frame::Status;

/// Plan one or more frames for later, in working order
#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// Short names, two to five words each
    #[arg(required = true, value_name = "TITLE")]
    titles: Vec<String>,
    /// What "done" means; may be given once for each title, in their order
    #[arg(short, long, value_name = "TEXT")]
    criteria: Vec<String>,
    /// The frame to plan below, by handle or the beginning of its id [default: the open frame]
    #[arg(long, value_name = "FRAME")]
    parent: Option<String>,
}

pub(crate) fn run(
    args: &PlanArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    if args.criteria.len() > args.titles.len() {
        let (criteria, titles) = (args.criteria.len(), args.titles.len());
        return Err(EngineError::invalid(
            format!("there are more criteria ({criteria}) than titles ({titles})"),
            "Give --criteria at most once for each title.",
        )
        .into());
    }
    let engine = invocation.engine_or_new()?;
    let criteria = args.criteria.iter().map(String::as_str).chain(std::iter::repeat(""));
    let children: Vec<Value> = args
        .titles
        .iter()
        .zip(criteria)
        .map(|(title, criteria)| json!({"title": title, "successCriteria": criteria}))
        .collect();
    let arguments = json!({"children": children, "parent": args.parent});
    let answer = invocation.run(&engine, "stack_frame_plan", arguments)?;
    output.either(&answer.data, |page| {
        for planned in answer.data.as_array().into_iter().flatten() {
            let handle = planned["handle"].as_str().unwrap_or_default();
            let title = planned["title"].as_str().unwrap_or_default();
            page.put(style(Status::Planned), callstack_engine::tree::sign(Status::Planned));
            page.put(PLAIN, &format!(" {handle} {title}")).end();
        }
    })
}
