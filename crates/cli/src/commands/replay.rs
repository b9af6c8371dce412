use std::path::PathBuf;

use callstack_replay::{LARGE, OfLinear, Report, SessionReport, Strategy, StrategyReport, rounded};
use serde_json::json;

use super::import::UsualArgs;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::operations;
use crate::operations::replay::{Measure, ReplayOutput, ReplayParams};
use crate::operations::traces::format::OtherFormat;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page, fitted};
use crate::printed::Printed;
use crate::recorded_view;
use crate::replay_verdict::draw as verdict;
use crate::wording::{counted, thousands};

/// Measure on recorded sessions what frames would save and lose
///
/// Reads session files of Claude Code, Codex, pi, OpenCode (as `opencode export` writes them), SWE-agent and
/// mini-swe-agent, or folders of them. Without files, it reads the sessions of this project from the places where
/// Claude Code, Codex, pi and OpenCode keep them. No model is asked, and nothing is sent anywhere.
///
/// For each call of the model it computes what five ways of working would have sent: `linear` sends everything,
/// as recorded; `compaction` replaces it by a summary at the model's limit; `masking` replaces each older tool
/// output by a line; `window` sends only the newest messages; `frames` folds finished work.
///
/// Requests are counted whole, with system prompt and tools; --verbose also shows them without. `largest` is the
/// largest request of a session and `input` all of them together, in tokens. `billed` counts the beginning that a
/// request shares with the one before at 0.1 and the rest at 1.25; after a pause of five minutes all of it counts
/// 1.25. `kept` is a share of the names, paths, numbers and quoted strings that the agent wrote next and had read
/// before: how many were still in what was sent. `verbatim` is a share of the edits: how many still had their old
/// text in what was sent. `with reads` adds the cost of reading a file again for each edit whose text was gone.
/// The last columns show the shares as if the recording had no pauses.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Session files, or folders of them [default: the sessions of this project in the usual places]
    #[arg(value_name = "FILE", conflicts_with_all = ["all", "dry_run"])]
    files: Vec<PathBuf>,
    #[command(flatten)]
    usual: UsualArgs,
    /// Show each session by itself, and the figures of the conversation alone
    #[arg(long, short)]
    verbose: bool,
    /// Write a page with tree, flame chart and curves, in one file that needs no other
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Write the sessions in the format of another tool: to the file that --output names, or else, in the place of the
    /// figures, to standard output
    #[arg(long, value_enum, value_name = "FORMAT")]
    export: Option<OtherFormat>,
    /// The file that --export writes to
    #[arg(short, long, value_name = "FILE", requires = "export")]
    output: Option<PathBuf>,
    /// Write everything that would have been sent into a folder: a file a session, a line of JSON a call
    /// and way. Takes a hundred times as much room as the recordings do. Keys, tokens and passwords of known
    /// forms are masked
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// Write secrets into that folder instead of masking them
    #[arg(long, requires = "dump")]
    reveal: bool,
}

pub(crate) fn run(
    args: &ReplayArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    // What is printed is written as a whole before.
    let printed = match (args.export, &args.output) {
        (Some(_), None) => Some(Printed::new()?),
        _ => None,
    };
    let params = |yes| ReplayParams {
        files: args.files.clone(),
        all: args.usual.all,
        yes,
        dry_run: args.usual.agreement.dry_run,
        html: args.html.clone(),
        export: args.export,
        output: printed.as_ref().map(Printed::file).or_else(|| args.output.clone()),
        dump: args.dump.clone(),
        reveal: args.reveal,
    };
    let machine = invocation.machine(output);
    let mut answer = Some(operations::on_machine::<Measure>(&machine, params(false))?);
    if let Some(ReplayOutput::ToAgree(found)) = &answer {
        let agreed = args.usual.agree("replay", &found.to_agree, output)?;
        answer = agreed
            .then(|| operations::on_machine::<Measure>(&machine, params(true)))
            .transpose()?;
    }
    let was_measured = matches!(answer, Some(ReplayOutput::Measured(_)));
    if let Some(printed) = printed.filter(|_| was_measured) {
        return match printed.print(output) {
            // A reader that went away is no error.
            Err(CommandError::BrokenPipe) => Ok(()),
            printed => printed,
        };
    }
    let width = output.width();
    output.either(&json!(answer), |page| match &answer {
        None | Some(ReplayOutput::ToAgree(_)) => drop(page.put(PLAIN, "nothing was read").end()),
        Some(ReplayOutput::Found(found)) => recorded_view::draw(found, true, page),
        Some(ReplayOutput::Measured(report)) if args.verbose => show(page, report, width),
        Some(ReplayOutput::Measured(report)) => verdict(page, report),
    })?;
    if output.json() || !was_measured {
        return Ok(());
    }
    let start = invocation.place.start();
    if let Some(file) = &args.html {
        output.remark(&format!("The page is {}", start.join(file).display()));
    }
    if let Some(file) = &args.output {
        output.remark(&format!("The export is {}", start.join(file).display()));
    }
    Ok(())
}

fn show(page: &mut Page, report: &Report, width: Option<usize>) {
    for session in &report.sessions {
        heading(page, session, width);
        table(page, &session.ways);
        let beside = format!(
            "  whole requests, with {} tokens of system prompt and tools{}, and at most {} of callstack's",
            thousands(session.tokens.beside),
            if session.tokens.reports == 0 { " (assumed)" } else { "" },
            thousands(Strategy::Frames.beside())
        );
        page.put(DIM, &beside).end();
        whole(page, &session.ways);
        page.end();
    }
    if report.sessions.len() > 1 {
        page.put(BOLD, &format!("All {} sessions together", report.sessions.len())).end();
        table(page, &report.sum);
        page.put(DIM, "  whole requests").end();
        whole(page, &report.sum);
        page.end();
    }
    let mean = &report.mean;
    if mean.sessions > 0 {
        let (count, from) = (mean.sessions, mean.from_calls);
        let what = format!("In the mean of {count} sessions with at least {from} calls, of linear");
        page.put(BOLD, if count == 1 { "Of linear" } else { &what }).end();
        page.put(DIM, "              largest   input  billed  with reads    kept  verbatim").end();
        for of in &mean.ways {
            let name = format!("  {:<10}", of.way.name());
            let (kept, verbatim) = (of.retention * 100.0, of.verbatim_share * 100.0);
            let shares = format!(" {kept:>5.1} %   {verbatim:>5.1} %");
            page.put(PLAIN, &(name + &of_linear(&of.of_linear) + &shares)).end();
        }
        page.put(DIM, "  whole requests").end();
        for of in &mean.ways {
            let name = format!("  {:<10}", of.way.name());
            page.put(PLAIN, &(name + &of_linear(&of.whole))).end();
        }
        page.put(DIM, "  whole requests, without the pauses of the recordings").end();
        for of in &mean.ways {
            let name = format!("  {:<10}", of.way.name());
            let verbatim = of.without_pauses.verbatim_share * 100.0;
            let line = name + &of_linear(&of.without_pauses.whole);
            page.put(PLAIN, &format!("{line}           {verbatim:>5.1} %")).end();
        }
    }
}

fn of_linear(of: &OfLinear) -> String {
    format!(
        " {:>8.3} {:>7.3} {:>7.3} {:>11.3}",
        of.largest, of.input, of.billed, of.billed_with_reads
    )
}

fn heading(page: &mut Page, session: &SessionReport, width: Option<usize>) {
    let title = session.title.as_deref().unwrap_or_default();
    let line = format!("{} {title}", session.session);
    page.put(BOLD, &fitted(line.trim(), width.unwrap_or(100))).end();
    let mut parts = vec![
        session.format.clone(),
        counted(session.calls, "call"),
        counted(session.frames as u64, "frame"),
    ];
    if session.compactions > 0 {
        parts.push(counted(session.compactions as u64, "recorded compaction"));
    }
    if session.parent.is_some() {
        parts.push("started by another session".to_owned());
    }
    let skipped: usize = session.skipped.values().sum();
    if skipped + session.unreadable > 0 {
        parts.push(counted((skipped + session.unreadable) as u64, "record") + " passed over");
    }
    page.put(DIM, &format!("  {}", parts.join(", "))).end();
    let fit = &session.tokens;
    let line = if fit.reports == 0 {
        "  tokens as estimated: the recording reports none".to_owned()
    } else {
        format!(
            "  {:.2} tokens for an estimated one, by {}; half of them are within {:.1} %",
            fit.factor,
            counted(fit.reports as u64, "report"),
            fit.off * 100.0
        )
    };
    page.put(DIM, &line).end();
    let step = &session.largest_step;
    if step.of_largest >= LARGE {
        let line = format!(
            "  {} tokens were shown in one step, {:.0} % of the largest request ({:.0} % with system prompt and \
             tools): it can't become smaller than that",
            thousands(step.tokens),
            step.of_largest * 100.0,
            step.whole * 100.0
        );
        page.put(DIM, &line).end();
    }
}

fn table(page: &mut Page, ways: &[StrategyReport]) {
    let head = "                 mean    median   largest of lin.         input         billed of lin.    kept";
    page.put(DIM, head).end();
    for of in ways {
        let sizes = &of.conversation;
        let median = sizes.median.map(thousands).unwrap_or_default();
        let line = format!(
            "  {:<10} {:>8} {median:>9} {:>9} {:>7.3} {:>13} {:>14} {:>7.3} {:>5.1} %",
            of.way.name(),
            thousands(rounded(sizes.mean)),
            thousands(sizes.largest),
            sizes.of_linear.largest,
            thousands(sizes.input),
            thousands(rounded(sizes.billed)),
            sizes.of_linear.billed,
            of.retention * 100.0
        );
        page.put(if of.way == Strategy::Frames { BOLD } else { PLAIN }, &line).end();
    }
}

fn whole(page: &mut Page, ways: &[StrategyReport]) {
    let head = "              largest of lin.        billed of lin.    with reads of lin. reads    verbatim  \
                no pauses: largest  with reads";
    page.put(DIM, head).end();
    for of in ways {
        let sizes = &of.whole;
        let verbatim = format!("{}/{}", of.verbatim, of.edits);
        let unpaused = of
            .without_pauses
            .map(|it| format!(" {:>18.3} {:>11.3}", it.whole.largest, it.whole.billed_with_reads));
        let line = format!(
            "  {:<10} {:>8} {:>7.3} {:>13} {:>7.3} {:>13} {:>7.3} {:>5} {verbatim:>11}{}",
            of.way.name(),
            thousands(sizes.largest),
            sizes.of_linear.largest,
            thousands(rounded(sizes.billed)),
            sizes.of_linear.billed,
            thousands(rounded(sizes.billed_with_reads)),
            sizes.of_linear.billed_with_reads,
            of.reads,
            unpaused.unwrap_or_default(),
        );
        page.put(if of.way == Strategy::Frames { BOLD } else { PLAIN }, line.trim_end()).end();
    }
}
