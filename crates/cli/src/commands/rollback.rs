use callstack_engine::{EngineError, Restoring, RollbackPlan, Why};
use serde_json::json;

use crate::args::Agreement;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN, Page, WARN};
use crate::wording::counted;

/// Undo what a frame did to the project's files
///
/// Each file that the tools of the frame, or of the frames below it, were seen writing goes back to what it was
/// when the frame began. You see the files first and are asked. A file that has changed since the frame ended is
/// left alone.
///
/// If somebody else changed one of these files while the frame was open, that change is undone too, since the two
/// can't be told apart; `--undo` brings everything back. This works in git work trees only, and never touches your
/// index, branches or commits.
#[derive(Debug, clap::Args)]
pub(crate) struct RollbackArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
    /// Also restore files that changed while the frame was open although no tool was seen writing them: its
    /// commands may have changed them, or somebody else
    #[arg(long, conflicts_with = "undo")]
    all: bool,
    /// Undo the frame's last rollback; a second time, the one before it
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    agreement: Agreement,
}

pub(crate) fn run(
    args: &RollbackArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let rollback = |dry_run: bool, files: Option<Vec<&str>>| {
        let arguments = json!({"frame": args.frame, "all": args.all, "undo": args.undo,
            "dryRun": dry_run, "files": files});
        let answer = invocation.run(&engine, "stack_frame_rollback", arguments)?;
        serde_json::from_value::<RollbackPlan>(answer.data).map_err(CommandError::of_shape)
    };
    let plan = rollback(true, None)?;
    let nothing = plan.restored.is_empty();
    if args.agreement.dry_run || nothing {
        return output.either(&json!(plan), |page| {
            let heading = if nothing { "nothing to restore" } else { "would restore" };
            page.put(PLAIN, heading).end();
            print_files(page, &plan);
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
            print_files(&mut page, &plan);
            if !args.undo {
                warn(&mut page, &plan);
            }
            output.page(&page)?;
        }
        let question = if args.undo {
            format!("Take back what the last rollback of {} did to {count}?", plan.frame)
        } else {
            format!("Restore {count} as {} found them?", plan.frame)
        };
        if !output.confirm(&question, unasked)? {
            return output.either(&json!(null), |page| {
                page.put(PLAIN, "nothing was restored").end();
            });
        }
    }
    // Files that were not shown are not agreed to.
    let shown = plan.restored.iter().map(|file| file.path.as_str()).collect();
    let done = rollback(false, Some(shown))?;
    output.either(&json!(done), |page| {
        let (did, undo, what) = if args.undo {
            ("changed back", "", "to roll back once more")
        } else {
            ("restored", " --undo", "to take it back")
        };
        page.put(PLAIN, &format!("{did} {}", files(done.restored.len()))).end();
        if args.agreement.yes || done.restored.len() != plan.restored.len() {
            print_files(page, &done);
        }
        page.put(DIM, &format!("{what}: callstack rollback {}{undo}", plan.frame)).end();
    })
}

fn print_files(page: &mut Page, plan: &RollbackPlan) {
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
            Why::BeginUnknown => {
                "left: no tool of the frame was seen writing this, and how the frame found it is not recorded, \
                 so it may be earlier work"
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

/// Warns of changes that can't be told apart: states of files are recorded only when frames begin and end.
fn warn(page: &mut Page, plan: &RollbackPlan) {
    if !plan.restored.is_empty() && plan.from_before {
        let note = format!(
            "how {} found the files is not recorded: they go back to the nearest state before it, so what was \
             changed in them since then goes, too",
            plan.frame
        );
        page.put(WARN, "! ").put(DIM, &note).end();
    } else if !plan.restored.is_empty() {
        let note =
            format!("what anybody else changed in them since {} began goes, too", plan.frame);
        page.put(WARN, "! ").put(DIM, &note).end();
    }
}

fn files(count: usize) -> String {
    counted(count as u64, "file")
}
