use std::ops::ControlFlow;

use callstack_core::frame::Frame;
use callstack_core::secrets::mask;
use callstack_engine::{Engine, LogEntry, LogRequest};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::log_view::LogView;
use crate::output::Output;
use crate::page::{DIM, PLAIN, Page};
use crate::wording::counted;

/// Read what was said and done in a frame, folded or not
///
/// A terminal shows it page by page, with local times; a file or a pipe gets Markdown. The pager is
/// `$CALLSTACK_PAGER`, else `$PAGER`, else less. Keys, tokens and passwords of known forms are masked unless
/// --reveal is given. Once a frame has ended its log also lies in .callstack/logs, as a Markdown file.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "one a flag")]
pub(crate) struct LogArgs {
    /// Handle such as f3, or the beginning of an id
    frame: String,
    /// First message to show
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: u64,
    /// How many messages to show [default: all]
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Only messages that hold these words and "quoted strings"
    #[arg(long, short, value_name = "WORDS")]
    query: Option<String>,
    /// Older versions of messages that were changed, too
    #[arg(long)]
    versions: bool,
    /// The stored JSON of each message on a line of its own, of an imported session the records that it
    /// was read from; with --reveal byte for byte
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,
    /// Print everything at once, on a terminal too
    #[arg(long)]
    no_pager: bool,
}

pub(crate) fn run(
    args: &LogArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let frame = engine.resolve(&args.frame)?;
    let request = LogRequest {
        from: args.from.max(1),
        most: args.count.unwrap_or(usize::MAX),
        query: args.query.clone(),
        versions: args.versions,
        reveal: args.reveal,
    };
    if output.json() {
        return as_json(&engine, &frame, &request, output);
    }
    output.paged(!args.no_pager, |output| shown(args, &engine, &frame, &request, output))
}

fn as_json(
    engine: &Engine,
    frame: &Frame,
    request: &LogRequest,
    output: &mut Output,
) -> Result<(), CommandError> {
    let part = engine.read_log(frame, request)?;
    let message = |entry: &LogEntry| {
        let json = entry.to_json(request.reveal);
        serde_json::from_str(&json).unwrap_or_else(|_| Value::from(json))
    };
    output.value(&json!({
        "frame": frame.num.to_string(),
        "total": part.total,
        "next": part.next,
        "positions": part.entries.iter().map(|entry| entry.position).collect::<Vec<_>>(),
        "versions": part.entries.iter().map(|entry| entry.message.version).collect::<Vec<_>>(),
        "messages": part.entries.iter().map(message).collect::<Vec<_>>(),
    }))
}

fn shown(
    args: &LogArgs,
    engine: &Engine,
    frame: &Frame,
    request: &LogRequest,
    output: &mut Output,
) -> Result<(), CommandError> {
    let mut view = output.is_terminal().then(|| LogView::new(args.reveal, output.width()));
    let total = if args.raw { 0 } else { engine.log_length(frame)? };
    if !args.raw {
        let mut page = Page::default();
        match &view {
            Some(view) => view.head(frame, engine.is_left_open(frame)?, total, &mut page),
            None => head(frame, total, args.reveal, &mut page),
        }
        output.page(&page)?;
    }
    let mut is_empty = true;
    let (_, next) = engine.visit_log(frame, request, |entry| {
        is_empty = false;
        if args.raw {
            let raw = entry.to_raw(args.reveal);
            if !raw.is_empty() {
                output.stored(&raw)?;
            }
            return Ok::<_, CommandError>(ControlFlow::Continue(()));
        }
        let mut page = Page::default();
        match &mut view {
            Some(view) => view.draw(&entry, &mut page),
            None => {
                page.block("", &entry.to_markdown(args.reveal));
            }
        }
        output.page(&page)?;
        Ok(ControlFlow::Continue(()))
    })?;
    if args.raw {
        return Ok(());
    }
    let mut page = Page::default();
    if let Some(next) = next {
        page.put(DIM, &format!("there is more: go on with --from {next}")).end();
    } else if is_empty && total > 0 {
        page.put(DIM, "no such message").end();
    }
    output.page(&page)
}

fn head(frame: &Frame, total: u64, reveal: bool, page: &mut Page) {
    let label = frame.label();
    let label = if reveal { label } else { mask(&label).into_owned() };
    let about = match total {
        0 => format!("{label}: no messages are kept"),
        _ => format!("{label}: {}", counted(total, "message")),
    };
    page.put(PLAIN, &about).end();
}
