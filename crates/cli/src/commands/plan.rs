use callstack_core::frame::Status;
use callstack_engine::EngineError;
use callstack_engine::operation::Answer;
use serde_json::{Value, json};

use crate::args::NewStore;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{PLAIN, style};

/// Plan frames for later, or change and remove planned ones
#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// Short names, two to five words each, in the order of work
    #[arg(required_unless_present_any = ["edit", "remove"], value_name = "TITLE")]
    titles: Vec<String>,
    /// What "done" means; give it at most once for each title, in the same order
    #[arg(short, long, value_name = "TEXT")]
    criteria: Vec<String>,
    /// The frame to plan below, by handle or the beginning of its id [default: the open frame]
    #[arg(long, value_name = "FRAME")]
    parent: Option<String>,
    /// Change a planned frame instead: its title, its criteria or its place
    #[arg(long, value_name = "FRAME", conflicts_with_all = ["parent", "remove"])]
    edit: Option<String>,
    /// With --edit: move it before this planned frame, which has the same parent
    #[arg(long, value_name = "FRAME", requires = "edit")]
    before: Option<String>,
    /// Remove a planned frame instead, with everything that is planned below it
    #[arg(long, value_name = "FRAME", conflicts_with_all = ["titles", "criteria", "parent"])]
    remove: Option<String>,
    #[command(flatten)]
    new: NewStore,
}

pub(crate) fn run(
    args: &PlanArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    if let Some(frame) = &args.remove {
        return change(invocation, output, "stack_frame_unplan", &json!({"frame": frame}));
    }
    if let Some(frame) = &args.edit {
        if args.titles.len() > 1 || args.criteria.len() > 1 {
            return Err(EngineError::invalid(
                "a frame has one title and one --criteria",
                "Change one frame at a time.",
            )
            .into());
        }
        let arguments = json!({"frame": frame, "title": args.titles.first(),
            "successCriteria": args.criteria.first(), "before": args.before});
        return change(invocation, output, "stack_frame_replan", &arguments);
    }
    if args.criteria.len() > args.titles.len() {
        let (criteria, titles) = (args.criteria.len(), args.titles.len());
        return Err(EngineError::invalid(
            format!("there are more criteria ({criteria}) than titles ({titles})"),
            "Give --criteria at most once for each title.",
        )
        .into());
    }
    let engine = invocation.engine_or_new(args.new, output)?;
    let criteria = args.criteria.iter().map(String::as_str).chain(std::iter::repeat(""));
    let children: Vec<Value> = args
        .titles
        .iter()
        .zip(criteria)
        .map(|(title, criteria)| json!({"title": title, "successCriteria": criteria}))
        .collect();
    let arguments = json!({"children": children, "parent": args.parent});
    let answer = invocation.run(&engine, "stack_frame_plan", arguments)?;
    print_planned(output, &answer)
}

/// Prints the frames that were planned.
pub(crate) fn print_planned(output: &mut Output, answer: &Answer) -> Result<(), CommandError> {
    output.either(&answer.data, |page| {
        for planned in answer.data.as_array().into_iter().flatten() {
            let handle = planned["handle"].as_str().unwrap_or_default();
            let title = planned["title"].as_str().unwrap_or_default();
            page.put(style(Status::Planned), callstack_engine::tree::sign(Status::Planned));
            page.put(PLAIN, &format!(" {handle} {title}")).end();
        }
    })
}

fn change(
    invocation: &Invocation<'_>,
    output: &mut Output,
    operation: &str,
    arguments: &Value,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let answer = invocation.run(&engine, operation, arguments.clone())?;
    output.either(&answer.data, |page| {
        page.put(PLAIN, &answer.text).end();
    })
}
