use callstack_engine::Kind;
use serde_json::json;

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::operations::doctor::{Doctor, DoctorParams, Verdict};
use crate::output::Output;
use crate::page::{BAD, DIM, GOOD, HINT, PLAIN, WARN};

/// Check the store and the plugin, and say what to do
///
/// It changes nothing unless --rebuild is given.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Build the store's tables again from its log of events
    #[arg(long)]
    rebuild: bool,
}

pub(crate) fn run(
    args: &DoctorArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let params = DoctorParams { rebuild: args.rebuild };
    let report = invocation.on_machine::<Doctor>(output, params)?;
    output.either(&json!(report), |page| {
        for finding in &report.findings {
            let (style, sign) = match finding.verdict {
                Verdict::Good => (GOOD, "✓"),
                Verdict::Remark => (WARN, "!"),
                Verdict::Bad => (BAD, "✗"),
            };
            page.put(style, sign).put(PLAIN, " ").put(PLAIN, &finding.text).end();
            if let Some(hint) = &finding.hint {
                page.put(PLAIN, "  ").put(HINT, "hint:").put(DIM, " ").put(PLAIN, hint).end();
            }
        }
    })?;
    match report.problems.first().and_then(|problem| Kind::from_name(&problem.kind)) {
        Some(kind) => Err(CommandError::Reported(kind)),
        None => Ok(()),
    }
}
