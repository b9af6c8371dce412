use std::path::PathBuf;

use callstack_engine::ImportSummary;
use serde_json::json;

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN, WARN};

/// Take over frames from files: of another store, or of the plugins that came before
///
/// Reads folders such as .opencode/stack and .opencode/flame, projects with these in them, and what
/// `callstack export` wrote. Frames that are here already are left, so that importing twice changes
/// nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Folders or files [default: what is in this project's .opencode]
    paths: Vec<PathBuf>,
}

/// Frames and files that a person is told of by name.
const NAMED: usize = 10;

pub(crate) fn run(
    args: &ImportArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine_or_new()?;
    let start = invocation.place.start();
    let paths: Vec<_> = args.paths.iter().map(|path| start.join(path)).collect();
    let summary = engine.import(&paths)?;
    output.either(&json!(summary), |page| {
        for source in &summary.sources {
            let frames = counted(source.frames, "frame");
            let from = format!("read {} ({frames}, {})", source.path.display(), source.format);
            page.put(DIM, &from).end();
        }
        page.put(PLAIN, &told(&summary)).end();
        for skipped in summary.skipped.iter().take(NAMED) {
            page.put(WARN, "!").put(PLAIN, &format!(" left out {}: {}", skipped.what, skipped.why));
            page.end();
        }
        if summary.skipped.len() > NAMED {
            let more = summary.skipped.len() - NAMED;
            page.put(DIM, &format!("  and {more} more; --json names all")).end();
        }
    })
}

fn told(summary: &ImportSummary) -> String {
    let counts = &summary.counts;
    let mut told = vec![format!("{} imported", counted(counts.imported, "frame"))];
    for (count, what) in [
        (counts.known, "here already"),
        (summary.skipped.len() as u64, "left out"),
        (counts.orphans, "made roots for want of their parent"),
        (counts.cycles, "made roots because they stood below themselves"),
        (counts.raised, "raised to the depth that is allowed"),
        (counts.blocked, "blocked because too many are in progress"),
    ] {
        if count > 0 {
            told.push(format!("{count} {what}"));
        }
    }
    told.join(", ")
}

fn counted(count: u64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}
