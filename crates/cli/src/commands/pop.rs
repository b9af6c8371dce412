use callstack_core::results::ResultsSource;
use clap::ValueEnum;
use serde_json::json;

use crate::error::Failure;
use crate::input;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN};

/// End the open frame, or the one that is named, with its results
///
/// What was done in it leaves the agent's context; the results stand in its place.
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
) -> Result<(), Failure> {
    let results = args.results.as_deref().map(input::text).transpose()?;
    let engine = invocation.engine()?;
    let status = match args.status {
        Ending::Completed => "completed",
        Ending::Failed => "failed",
        Ending::Blocked => "blocked",
    };
    let arguments = json!({"frame": args.frame, "results": results, "status": status});
    let answer = invocation.run(&engine, "stack_frame_pop", arguments)?;
    let open = match engine.active(&invocation.caller(&engine)?.session)? {
        Some(num) => Some(engine.frame(num)?.label()),
        None => None,
    };
    output.either(&answer.data, |page| {
        page.put(PLAIN, &answer.title).end();
        let source = answer.data["resultsSource"].as_str().map(str::parse::<ResultsSource>);
        if let Some(Ok(source)) = source
            && source != ResultsSource::User
        {
            page.put(DIM, &format!("results: {}", source.told())).end();
        }
        if let Some(why) = answer.data["summarizerFailure"].as_str() {
            page.put(DIM, &format!("the model that was to write them did not: {why}")).end();
        }
        match &open {
            Some(open) => page.put(DIM, &format!("open now: {open}")).end(),
            None => page.put(DIM, "no frame is open now").end(),
        };
    })
}
