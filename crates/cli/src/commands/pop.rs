use callstack_core::results::ResultsSource;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::input;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN, WARN};

/// End the open frame, or the one that you name, with its results
///
/// Its work leaves the agent's context, and the results take its place.
#[derive(Debug, clap::Args)]
pub(crate) struct PopArgs {
    /// Handle such as f3, or the beginning of an id [default: the open frame]
    frame: Option<String>,
    /// What was done, and all that later work needs to know; `-` reads it from standard input [default:
    /// what the model of `callstack config summarizer` writes, else what can be extracted]
    #[arg(short, long, value_name = "TEXT")]
    results: Option<String>,
    /// How it ended
    #[arg(long, value_enum, default_value_t = Ending::Completed)]
    status: Ending,
    /// The same as `--status failed`
    #[arg(long, hide = true, conflicts_with_all = ["status", "blocked"])]
    failed: bool,
    /// The same as `--status blocked`
    #[arg(long, hide = true, conflicts_with = "status")]
    blocked: bool,
}

/// How a frame may end by a pop.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Ending {
    /// Its criteria are met
    Completed,
    /// They can't be met
    Failed,
    /// It waits for something, and can be activated again
    Blocked,
}

pub(crate) fn run(
    args: &PopArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let results = args.results.as_deref().map(input::text).transpose()?;
    let engine = invocation.engine_with_remarks(output)?;
    let ending = match (args.failed, args.blocked) {
        (true, _) => Ending::Failed,
        (_, true) => Ending::Blocked,
        _ => args.status,
    };
    let status = match ending {
        Ending::Completed => "completed",
        Ending::Failed => "failed",
        Ending::Blocked => "blocked",
    };
    let arguments = json!({"frame": args.frame, "results": results, "status": status});
    let answer = invocation.run(&engine, "stack_frame_pop", arguments)?;
    let left = answer.data["unfinished"].as_array().into_iter().flatten();
    let left: Vec<_> = left.filter_map(Value::as_str).collect();
    output.either(&answer.data, |page| {
        page.put(PLAIN, &answer.title).end();
        if let (Some(closed), false) = (answer.closed, left.is_empty()) {
            let text = format!(" left unfinished below it: {}; ", left.join(", "));
            let how = format!("`callstack reopen {closed}` brings it back for them");
            page.put(WARN, "!").put(PLAIN, &text).put(PLAIN, &how).end();
        }
        let source = answer.data["resultsSource"].as_str().map(str::parse::<ResultsSource>);
        if let Some(Ok(source)) = source
            && source != ResultsSource::User
        {
            page.put(DIM, &format!("results: {}", source.for_people())).end();
        }
        if let Some(why) = answer.data["summarizerFailure"].as_str() {
            page.put(DIM, &format!("the model that was to write them did not: {why}")).end();
        }
        match answer.data["open"].as_str() {
            Some(open) => page.put(DIM, &format!("open now: {open}")).end(),
            None => page.put(DIM, "no frame is open now").end(),
        };
    })
}
