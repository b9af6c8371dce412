use callstack_core::cost::NEW;
use callstack_engine::tree::sign;
use callstack_engine::{Figures, FrameMetadata, RequestFigures};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, style};
use crate::wording::{change, counted, thousands};

/// Show the open frames, and what was saved
///
/// The tokens sent are those that the agent's program reports for the session's requests. Beside them stands an
/// estimate for the same session without callstack: with everything that was folded away, and without callstack's
/// own tools, guidance and calls. A bill counts tokens from the provider's cache at 0.1 and all others at 1.25.
/// Imported sessions are only counted: `callstack replay` measures them.
///
/// Keys, tokens and passwords of known forms are masked unless --reveal is given.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,
}

/// The data of `stack_status`, as far as they are shown.
#[derive(Deserialize)]
struct Status {
    session: String,
    stack: Vec<FrameMetadata>,
    counts: Map<String, Value>,
    requests: RequestFigures,
    imported: Option<Imported>,
}

#[derive(Deserialize)]
struct Imported {
    sessions: u64,
}

pub(crate) fn run(
    args: &StatusArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine_with_remarks(output)?;
    let is_narrowed = invocation.names_a_session();
    let arguments = json!({"own": is_narrowed, "figures": true});
    let data = invocation.run_revealing(args.reveal, &engine, "stack_status", arguments)?.data;
    let status: Status = serde_json::from_value(data.clone()).map_err(CommandError::of_shape)?;
    let (stack, requests) = (&status.stack, &status.requests);
    output.either(&data, |page| {
        page.put(DIM, &format!("session {}", status.session)).end();
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
        let whole = if is_narrowed { "in this session" } else { "in all" };
        page.put(DIM, &counts(whole, &status.counts)).end();
        if let Some(imported) = &status.imported {
            let sessions = counted(imported.sessions, "imported session");
            let way = "`callstack replay FILE…` tells what frames would have saved";
            page.put(DIM, &format!("{sessions}, not measured: {way}")).end();
        }
        if requests.session.requests > 0 {
            page.put(DIM, &line("this session", &requests.session)).end();
        }
        if requests.subagents > 0 {
            let who = format!("with {}", counted(requests.subagents, "subagent"));
            page.put(DIM, &line(&who, &requests.total)).end();
        }
    })
}

/// Returns a line such as "this session: 12 requests, 60,000 tokens sent, billed as 20,000 …; the same without …".
fn line(who: &str, figures: &Figures) -> String {
    let (billed, without) = (figures.billed, figures.estimated_without.billed);
    let line = format!(
        "{who}: {}, {} tokens sent, billed as {} (new ones count 1.25, cached ones 0.1); the \
         same without callstack, estimated: {} and {} (bill {})",
        counted(figures.requests, "request"),
        thousands(figures.sent),
        thousands(tokens(billed)),
        thousands(figures.estimated_without.sent),
        thousands(tokens(without)),
        change(hundredths(without), hundredths(billed))
    );
    let line = if hundredths(billed) == figures.sent * NEW as u64 && figures.sent > 0 {
        format!("{line}; the provider reports no cached ones")
    } else {
        line
    };
    if billed > without {
        format!(
            "{line}. Frames have cost {} tokens more than they saved",
            thousands(tokens(billed - without))
        )
    } else {
        line
    }
}

/// Returns a bill in hundredths of a token, in which it was counted.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bills are far below 2^52, and none is negative"
)]
fn hundredths(bill: f64) -> u64 {
    (bill * 100.0).round() as u64
}

/// Returns a bill in whole tokens.
fn tokens(bill: f64) -> u64 {
    hundredths(bill) / 100
}

fn counts(whole: &str, counts: &Map<String, Value>) -> String {
    let parts: Vec<String> = counts
        .iter()
        .map(|(status, count)| format!("{count} {}", status.replace('_', " ")))
        .collect();
    format!("{whole}: {}", if parts.is_empty() { "none".to_owned() } else { parts.join(", ") })
}
