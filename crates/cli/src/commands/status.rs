use std::collections::BTreeMap;

use callstack_core::cost::NEW;
use callstack_core::saving::Saving;
use callstack_engine::saving::Savings;
use callstack_engine::tree::{of_session, sign};
use callstack_engine::{Engine, FrameMetadata};
use serde_json::{Value, json};

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

pub(crate) fn run(
    args: &StatusArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let mut data = invocation.run_revealing(args.reveal, &engine, "stack_status", json!({}))?.data;
    let session = data["session"].as_str().unwrap_or_default().to_owned();
    let savings = engine.savings(&session)?;
    data["requests"] = requests(&savings);
    let is_narrowed = invocation.names_a_session();
    if is_narrowed {
        data["counts"] = json!(counted_in(&engine, &session)?);
    }
    let imported = if is_narrowed { 0 } else { engine.imported_sessions()? };
    if imported > 0 {
        data["imported"] = json!({ "sessions": imported, "measured": false });
    }
    let stack: Vec<FrameMetadata> = serde_json::from_value(data["stack"].clone())
        .map_err(|error| CommandError::of_shape(&error))?;
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
        let whole = if is_narrowed { "in this session" } else { "in all" };
        page.put(DIM, &counts(whole, &data["counts"])).end();
        if imported > 0 {
            let sessions = counted(imported, "imported session");
            let way = "`callstack replay FILE…` tells what frames would have saved";
            page.put(DIM, &format!("{sessions}, not measured: {way}")).end();
        }
        if savings.session.requests > 0 {
            page.put(DIM, &line("this session", &savings.session)).end();
        }
        if savings.below > 0 {
            let who = format!("with {}", counted(savings.below, "subagent"));
            page.put(DIM, &line(&who, &savings.total)).end();
        }
    })
}

/// Returns the requests for programs. Bills are in tokens of input.
fn requests(savings: &Savings) -> Value {
    let of = |saving: &Saving| {
        let bill = |hundredths: u64| hundredths as f64 / 100.0;
        json!({
            "requests": saving.requests,
            "sent": saving.sent,
            "billed": bill(saving.billed_hundredths),
            "estimatedWithout": {
                "sent": saving.sent_without,
                "billed": bill(saving.billed_without_hundredths),
            },
        })
    };
    json!({
        "session": of(&savings.session),
        "subagents": savings.below,
        "total": of(&savings.total),
    })
}

/// Returns a line such as "this session: 12 requests, 60,000 tokens sent, billed as 20,000 …; the same without …".
fn line(who: &str, saving: &Saving) -> String {
    let bill = |hundredths: u64| thousands(hundredths / 100);
    let (billed, without) = (saving.billed_hundredths, saving.billed_without_hundredths);
    let line = format!(
        "{who}: {}, {} tokens sent, billed as {} (new ones count 1.25, cached ones 0.1); the \
         same without callstack, estimated: {} and {} (bill {})",
        counted(saving.requests, "request"),
        thousands(saving.sent),
        bill(billed),
        thousands(saving.sent_without),
        bill(without),
        change(without, billed)
    );
    let line = if billed == saving.sent * NEW as u64 && saving.sent > 0 {
        format!("{line}; the provider reports no cached ones")
    } else {
        line
    };
    if billed > without {
        format!("{line}. Frames have cost {} tokens more than they saved", bill(billed - without))
    } else {
        line
    }
}

/// Returns the number of frames of each status in a session, including those below its own.
fn counted_in(engine: &Engine, session: &str) -> Result<BTreeMap<String, u64>, CommandError> {
    let mut counts = BTreeMap::new();
    for line in of_session(&engine.tree(None)?, session).0 {
        *counts.entry(line.status().to_owned()).or_default() += 1;
    }
    Ok(counts)
}

fn counts(whole: &str, counts: &Value) -> String {
    let parts: Vec<String> = counts
        .as_object()
        .into_iter()
        .flatten()
        .map(|(status, count)| format!("{count} {}", status.replace('_', " ")))
        .collect();
    format!("{whole}: {}", if parts.is_empty() { "none".to_owned() } else { parts.join(", ") })
}
