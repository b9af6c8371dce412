use callstack_core::frame::FrameNum;
use callstack_engine::{EngineError, PurgeOutcome, PurgePlan, Said};
use serde_json::{Value, json};

use crate::args::Agreement;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN, Page, WARN};
use crate::wording::counted;

/// Remove the messages of a frame or a session for good
///
/// Every version of the messages is deleted from the database, search and logs; for a frame also those of the
/// frames below it. They are not stored again if the agent's program shows them again. What callstack derived from
/// them goes as well: titles that quote the user, and results that were extracted. Titles, results, decisions and
/// pins that an agent or a person gave stay, and so do the names of changed files and whatever the agent's program
/// keeps itself.
#[derive(Debug, clap::Args)]
pub(crate) struct PurgeArgs {
    /// A frame (handle such as f3, or the beginning of an id) or a session (its id or the beginning of it)
    #[arg(value_name = "FRAME|SESSION")]
    what: String,
    #[command(flatten)]
    agreement: Agreement,
}

pub(crate) fn run(
    args: &PurgeArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let purge = |dry_run: bool, at_most: Option<u64>| {
        let arguments =
            json!({"what": args.what, "dryRun": dry_run, "atMost": at_most, "by": who()});
        Ok::<_, CommandError>(invocation.run(&engine, "stack_purge", arguments)?.data)
    };
    let plan: PurgePlan =
        serde_json::from_value(purge(true, None)?).map_err(CommandError::of_shape)?;
    let about = contents(&plan);
    if args.agreement.dry_run {
        return output.either(&json!(plan), |page| {
            page.put(PLAIN, &format!("would remove {about}")).end();
            for log in &plan.logs {
                page.put(DIM, &format!("  {log}")).end();
            }
            print_said(&plan, page);
            print_shared(&plan, page);
            print_unplaced(&plan, page);
        });
    }
    let unasked = || {
        EngineError::invalid(
            format!("this would remove {about} for good, and nobody can be asked here"),
            "Give --yes to do it, or --dry-run to see what would go.",
        )
    };
    if !args.agreement.yes && !output.confirm(&format!("Remove {about} for good?"), unasked())? {
        return output.either(&Value::Null, |page| {
            page.put(PLAIN, "nothing was removed").end();
        });
    }
    // What was said since is not what somebody agreed to.
    let agreed = (!args.agreement.yes).then_some(plan.messages);
    let outcome: PurgeOutcome =
        serde_json::from_value(purge(false, agreed)?).map_err(CommandError::of_shape)?;
    output.either(&json!(outcome), |page| {
        page.put(PLAIN, &format!("removed {about}")).end();
        print_said(&outcome.plan, page);
        print_shared(&outcome.plan, page);
        print_unplaced(&outcome.plan, page);
        if !outcome.erased {
            let note = "another process was reading: the bytes leave the file once it writes again";
            page.put(WARN, "!").put(PLAIN, &format!(" {note}")).end();
        }
        if outcome.unreadable > 0 {
            let events = if outcome.unreadable == 1 { "event" } else { "events" };
            let note = format!(
                "{} {events} can't be read: left as before, with what they may hold of this",
                outcome.unreadable
            );
            page.put(WARN, "!").put(PLAIN, &format!(" {note}")).end();
        }
    })
}

/// Prints which data of the frames goes, and which stays.
fn print_said(plan: &PurgePlan, page: &mut Page) {
    let parts = |said: &Said, what: [&str; 4]| {
        let parts = what.into_iter().zip([&said.titles, &said.results, &said.notes, &said.files]);
        let parts = parts.filter(|(_, frames)| !frames.is_empty());
        let parts: Vec<_> =
            parts.map(|(what, frames)| format!("{what} of {}", list(frames))).collect();
        parts.join(", ")
    };
    if !plan.removed.is_empty() {
        let taken = parts(&plan.removed, ["titles and criteria", "results", "", ""]);
        page.put(DIM, &format!("  with them, as taken from messages: {taken}")).end();
    }
    if !plan.kept.is_empty() {
        let kinds = ["titles and criteria", "results", "decisions and pins", "names of files"];
        let given = parts(&plan.kept, kinds);
        page.put(DIM, &format!("  stays: {given}")).end();
    }
}

fn list(frames: &[FrameNum]) -> String {
    let frames: Vec<String> = frames.iter().map(ToString::to_string).collect();
    frames.join(", ")
}

/// Prints which data goes although it does not belong to the frames alone.
fn print_shared(plan: &PurgePlan, page: &mut Page) {
    if plan.shared.is_empty() {
        return;
    }
    let which = list(&plan.shared);
    let note = format!(
        "the whole step that opened {which} is removed, since some of its calls belong to the frame"
    );
    page.put(WARN, "!").put(PLAIN, &format!(" {note}")).end();
}

fn print_unplaced(plan: &PurgePlan, page: &mut Page) {
    if plan.unplaced.is_empty() {
        return;
    }
    let note = format!(
        "what was said in {} stays: a message at its beginning or end was never stored, so it can't be told \
         from the rest; it goes with its session",
        list(&plan.unplaced)
    );
    page.put(WARN, "!").put(PLAIN, &format!(" {note}")).end();
}

fn contents(plan: &PurgePlan) -> String {
    format!(
        "{} ({}) of {} and {}",
        counted(plan.messages, "message"),
        counted(plan.bytes, "byte"),
        plan.what,
        counted(plan.logs.len() as u64, "log file")
    )
}

/// Returns the name of the person at the terminal, as far as the environment says it.
fn who() -> String {
    let names = ["USER", "LOGNAME", "USERNAME"];
    let name = names.into_iter().find_map(|name| std::env::var(name).ok());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "a person at a terminal".to_owned())
}
