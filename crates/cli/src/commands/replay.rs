use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind};
use callstack_hosts::recording::Recording;
use callstack_replay::{Policy, Progress, Replay, Report, SessionReport, Way, WayReport, dump};
use serde_json::json;

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page, fitted};
use crate::wording::counted;

use super::import::sessions::{self, Pace};

/// Measure on recorded sessions what frames would have saved, and what they would have lost
///
/// Reads session files of Claude Code, OpenCode (what `opencode export` writes), Codex, pi, SWE-agent and
/// mini-swe-agent, or folders of them, and computes for each call of the model what would have been sent:
/// everything as recorded (linear), with a summary at the model's limit (compaction), with a line for each
/// older tool output (masking), the newest messages only (window), and with finished work folded (frames).
/// No model is asked and nothing is sent anywhere. Tokens are those of the conversation, without system prompt and
/// tools. `billed` counts what a request begins with in common with the one before at 0.1, the rest at 1.25,
/// and all of it at 1.25 after a pause of five minutes. `kept` is how many of the names, paths, numbers and
/// quoted strings that the agent wrote next, and had before it as recorded, were still in what was sent.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Session files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write a page with tree, flame chart and curves, in one file that needs no other
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
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
) -> Result<(), Failure> {
    let start = invocation.place.start();
    let mut report = Report::default();
    let mut pages = Vec::new();
    if let Some(folder) = &args.dump {
        let folder = start.join(folder);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::of_file("create", &folder, &error))?;
    }
    let paths: Vec<PathBuf> = args.files.iter().map(|file| start.join(file)).collect();
    let mut due = Pace::new();
    let refused = sessions::read(&paths, output, &mut |mut part, output| {
        let all = part.recordings.len();
        for at in 0..all {
            let recording = &mut part.recordings[at];
            if recording.model_calls() == 0 {
                continue;
            }
            // They are what was read, once more, and nobody asks for them here.
            recording.messages.iter_mut().for_each(|message| message.records = Vec::new());
            let recording = &part.recordings[at];
            let mut told = |Progress { call, calls }| {
                if due.is_due() {
                    let line = format!("replaying {} of {all}: call {call} of {calls}", at + 1);
                    output.progress(&line);
                }
            };
            let replay = Replay::in_ways(recording, &Policy::default(), &Way::ALL, &mut told);
            if let Some(folder) = &args.dump {
                let file = dump_file(&start.join(folder), recording, report.sessions.len());
                for_its_owner(&file)
                    .and_then(|to| dump(&replay, args.reveal, &mut BufWriter::new(to)))
                    .map_err(|error| Failure::of_file("write", &file, &error))?;
            }
            let file = args.files[part.path_of(recording)].display().to_string();
            report.add(file, recording, &replay);
            if args.html.is_some() {
                pages.push(replay.outline());
            }
        }
        output.progress("");
        Ok(())
    })?;
    for error in refused {
        output.remark(&error);
    }
    if report.sessions.is_empty() {
        return Err(EngineError {
            kind: Kind::Invalid,
            message: "no call of a model is recorded in these sessions".to_owned(),
            hint: Some("Name a session in which an agent has answered.".to_owned()),
        }
        .into());
    }
    let report = report.finish();
    if let Some(file) = &args.html {
        let file = start.join(file);
        let page = callstack_replay::html(&report, &pages);
        for_its_owner(&file)
            .and_then(|mut to| to.write_all(page.as_bytes()))
            .map_err(|error| Failure::of_file("write", &file, &error))?;
    }
    let width = output.width();
    output.either(&json!(report), |page| show(page, &report, width))
}

/// Letters of a session's id in a file's name.
const NAME: usize = 60;

fn dump_file(folder: &Path, recording: &Recording, number: usize) -> PathBuf {
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    let name: String = recording
        .session
        .chars()
        .map(|char| if plain(char) { char } else { '-' })
        .take(NAME)
        .collect();
    folder.join(format!("{:02}-{name}.jsonl", number + 1))
}

/// An empty file that nobody else may read, where the system knows of owners: what was said is in it.
fn for_its_owner(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    if file.metadata()?.is_file() {
        // One that was there may be for everybody, or belong to somebody else, who then decides.
        drop(file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)));
    }
    Ok(file)
}

fn show(page: &mut Page, report: &Report, width: Option<usize>) {
    for session in &report.sessions {
        heading(page, session, width);
        table(page, &session.ways);
        page.end();
    }
    if report.sessions.len() > 1 {
        page.put(BOLD, &format!("All {} sessions together", report.sessions.len())).end();
        table(page, &report.sum);
        page.end();
    }
    let mean = &report.mean;
    if mean.sessions > 0 {
        let (count, from) = (mean.sessions, mean.from_calls);
        let what = format!("In the mean of {count} sessions with at least {from} calls, of linear");
        page.put(BOLD, if count == 1 { "Of linear" } else { &what }).end();
        page.put(DIM, "              largest   input  billed     kept").end();
        for of in &mean.ways {
            let line = format!(
                "  {:<10} {:>8.3} {:>7.3} {:>7.3} {:>6.1} %",
                of.way.name(),
                of.of_linear.largest,
                of.of_linear.input,
                of.of_linear.billed,
                of.retention * 100.0
            );
            page.put(PLAIN, &line).end();
        }
    }
}

fn heading(page: &mut Page, session: &SessionReport, width: Option<usize>) {
    let title = session.title.as_deref().unwrap_or_default();
    let line = format!("{} {title}", session.session);
    page.put(BOLD, &fitted(line.trim(), width.unwrap_or(100))).end();
    let mut told = vec![
        session.format.to_owned(),
        counted(session.calls, "call"),
        counted(session.frames as u64, "frame"),
    ];
    if session.compactions > 0 {
        told.push(counted(session.compactions as u64, "recorded compaction"));
    }
    if session.parent.is_some() {
        told.push("started by another session".to_owned());
    }
    let skipped: usize = session.skipped.values().sum();
    if skipped + session.unreadable > 0 {
        told.push(counted((skipped + session.unreadable) as u64, "record") + " passed over");
    }
    page.put(DIM, &format!("  {}", told.join(", "))).end();
    let fit = &session.tokens;
    let line = if fit.reports == 0 {
        "  tokens as estimated: the recording reports none".to_owned()
    } else {
        format!(
            "  {:.2} tokens for an estimated one, {} beside the conversation, by {}; half of them are \
             within {:.1} %",
            fit.factor,
            thousands(fit.overhead),
            counted(fit.reports as u64, "report"),
            fit.off * 100.0
        )
    };
    page.put(DIM, &line).end();
}

fn table(page: &mut Page, ways: &[WayReport]) {
    let head = "                 mean    median   largest of lin.         input         billed of lin.    kept";
    page.put(DIM, head).end();
    for of in ways {
        let median = of.median.map(thousands).unwrap_or_default();
        let line = format!(
            "  {:<10} {:>8} {median:>9} {:>9} {:>7.3} {:>13} {:>14} {:>7.3} {:>5.1} %",
            of.way.name(),
            thousands(rounded(of.mean)),
            thousands(of.largest),
            of.of_linear.largest,
            thousands(of.input),
            thousands(rounded(of.billed)),
            of.of_linear.billed,
            of.retention * 100.0
        );
        page.put(if of.way == Way::Frames { BOLD } else { PLAIN }, &line).end();
    }
}

fn rounded(number: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens, at least 0"
    )]
    let rounded = number.round() as u64;
    rounded
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut told = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}
