use callstack_engine::{EngineError, Reach, Restoring, RollbackPlan, Why};
use serde_json::json;

use crate::args::Agreement;
use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN, Page, WARN};
use crate::wording::counted;

/// Undo what a frame did to the project's files
///
/// Restores the files that the tools of the frame, and of the frames below it, were seen writing, to what
/// they were when it began; shows them first. A file that has changed since the frame ended is left as it
/// is; where its end was not recorded, only what its tools were seen writing is restored. What somebody else
/// changed in a file that the frame wrote later is not told from what the frame did, and goes with it;
/// `--undo` brings it back. In a git work tree only; your index, branches and commits are not touched.
#[derive(Debug, clap::Args)]
pub(crate) struct RollbackArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
    /// Restore also files that no tool was seen writing but that changed while the frame was worked on: by
    /// its commands, or by somebody else
    #[arg(long, conflicts_with = "undo")]
    all: bool,
    /// Take the frame's last rollback back
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    agreement: Agreement,
}

pub(crate) fn run(
    args: &RollbackArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    let reach = if args.all { Reach::All } else { Reach::Seen };
    let plan = if args.undo {
        engine.rollback_undo_plan(&args.frame)?
    } else {
        engine.rollback_plan(&args.frame, reach)?
    };
    let nothing = plan.restored.is_empty();
    if args.agreement.dry_run || nothing {
        return output.either(&json!(plan), |page| {
            let heading = if nothing { "nothing to restore" } else { "would restore" };
            page.put(PLAIN, heading).end();
            tell(page, &plan);
            if !args.undo {
                warn(page, &plan);
            }
        });
    }
    if !args.agreement.yes {
        let count = files(plan.restored.len());
        let unasked = EngineError::invalid(
            format!("this would restore {count}, and nobody can be asked here"),
            "Give --yes to do it, or --dry-run to see which.",
        );
        if !output.json() {
            let mut page = Page::default();
            tell(&mut page, &plan);
            if !args.undo {
                warn(&mut page, &plan);
            }
            output.page(&page)?;
        }
        let question = format!("Restore {count} as {} found them?", plan.frame);
        if !output.confirm(&question, unasked)? {
            return output.either(&json!(null), |page| {
                page.put(PLAIN, "nothing was restored").end();
            });
        }
    }
    let done = engine.roll_back(&plan)?;
    output.either(&json!(done), |page| {
        page.put(PLAIN, &format!("restored {}", files(done.restored.len()))).end();
        if args.agreement.yes || done.restored.len() != plan.restored.len() {
            tell(page, &done);
        }
        let back = format!("callstack rollback {} --undo", plan.frame);
        page.put(DIM, &format!("to take it back: {back}")).end();
    })
}

fn tell(page: &mut Page, plan: &RollbackPlan) {
    for file in &plan.restored {
        let how = match file.how {
            Restoring::Reverted => "as it was",
            Restoring::Removed => "removed, it was not there",
            Restoring::BroughtBack => "brought back",
        };
        page.put(PLAIN, &format!("  {}", file.path)).put(DIM, &format!("  {how}")).end();
    }
    for file in &plan.left {
        let why = match file.why {
            Why::ChangedSince => "left: it has changed since",
            Why::NotRecorded => {
                "left: what it held is not recorded (git ignores it, it lies outside, or is too large)"
            }
            Why::EndUnknown => {
                "left: no tool of the frame was seen writing this, and where the frame ended is not \
                 recorded, so it may be somebody's later work"
            }
            Why::WrittenMeanwhile => "left: somebody wrote to it meanwhile",
            Why::NotText => "left: its name is no text, and can't be shown as it is",
            Why::NotWritable => "left: it can't be written, or something is in its way",
            Why::NotSeen => "left: no tool of the frame was seen writing this (--all restores it)",
        };
        page.put(WARN, "! ").put(PLAIN, &file.path).put(DIM, &format!("  {why}"));
        if let Some(kept) = &file.kept {
            page.put(DIM, &format!("; what else was written to it is in {kept}"));
        }
        page.end();
    }
}

/// States are recorded where frames begin and end: what happened to a file between is not known apart.
fn warn(page: &mut Page, plan: &RollbackPlan) {
    if !plan.restored.is_empty() {
        let note =
            format!("what anybody else changed in them since {} began goes, too", plan.frame);
        page.put(WARN, "! ").put(DIM, &note).end();
    }
}

fn files(count: usize) -> String {
    counted(count as u64, "file")
}
