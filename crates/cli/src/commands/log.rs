use std::collections::BTreeSet;

use callstack_engine::{Engine, WholeLog};
use serde_json::json;

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
    let form = match (output.json() || output.is_terminal(), args.raw) {
        (_, true) => "stored",
        (true, false) => "json",
        (false, false) => "markdown",
    };
    let parts = Parts { args, invocation, engine: &engine, form };
    if output.json() {
        return as_json(&parts, output);
    }
    output.paged(!args.no_pager, |output| shown(&parts, output))
}

/// The parts of the log that is asked for, each an answer of the operation.
struct Parts<'a> {
    args: &'a LogArgs,
    invocation: &'a Invocation<'a>,
    engine: &'a Engine,
    form: &'static str,
}

impl Parts<'_> {
    /// Passes each part to `see`, and returns the position of the first message after them all, if there is one.
    fn each(
        &self,
        mut see: impl FnMut(WholeLog) -> Result<(), CommandError>,
    ) -> Result<Option<u64>, CommandError> {
        let (mut from, mut left) = (self.args.from.max(1), self.args.count);
        loop {
            let arguments = json!({
                "frame": self.args.frame,
                "from": from,
                "count": left,
                "query": self.args.query,
                "versions": self.args.versions,
                "whole": true,
                "form": self.form,
            });
            let (reveal, engine) = (self.args.reveal, self.engine);
            let answer = self.invocation.run_revealing(reveal, engine, "stack_log", arguments)?;
            let part: WholeLog =
                serde_json::from_value(answer.data).map_err(CommandError::of_shape)?;
            let positions: BTreeSet<_> = part.entries.iter().map(|entry| entry.position).collect();
            left = left.map(|left| left.saturating_sub(positions.len()));
            let next = part.next;
            see(part)?;
            match next {
                Some(next) if left != Some(0) => from = next,
                next => return Ok(next),
            }
        }
    }
}

fn as_json(parts: &Parts<'_>, output: &mut Output) -> Result<(), CommandError> {
    let (mut frame, mut total, mut entries) = (String::new(), 0, Vec::new());
    let next = parts.each(|part| {
        (frame, total) = (part.frame.to_string(), part.total);
        entries.extend(part.entries);
        Ok(())
    })?;
    output.value(&json!({
        "frame": frame,
        "total": total,
        "next": next,
        "positions": entries.iter().map(|entry| entry.position).collect::<Vec<_>>(),
        "versions": entries.iter().map(|entry| entry.version).collect::<Vec<_>>(),
        "messages": entries.into_iter().map(|entry| entry.message).collect::<Vec<_>>(),
    }))
}

fn shown(parts: &Parts<'_>, output: &mut Output) -> Result<(), CommandError> {
    let mut view = output.is_terminal().then(|| LogView::new(output.width()));
    let (mut is_first, mut is_empty, mut total) = (true, true, 0);
    let next = parts.each(|part| {
        (is_empty, total) = (is_empty && part.entries.is_empty(), part.total);
        for line in part.entries.iter().filter_map(|entry| entry.stored_lines.as_deref()) {
            if !line.is_empty() {
                output.stored(line)?;
            }
        }
        if parts.args.raw {
            return Ok(());
        }
        let mut page = Page::default();
        if std::mem::take(&mut is_first) {
            match &view {
                Some(_) => LogView::head(&part, &mut page),
                None => head(&part, &mut page),
            }
            output.page(&page)?;
        }
        for entry in &part.entries {
            let mut page = Page::default();
            match (&mut view, &entry.markdown) {
                (Some(view), _) => view.draw(entry, &mut page),
                (None, text) => {
                    page.block("", text.as_deref().unwrap_or_default());
                }
            }
            output.page(&page)?;
        }
        Ok(())
    })?;
    if parts.args.raw {
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

fn head(log: &WholeLog, page: &mut Page) {
    let label = &log.label;
    let about = match log.total {
        0 => format!("{label}: no messages are kept"),
        total => format!("{label}: {}", counted(total, "message")),
    };
    page.put(PLAIN, &about).end();
}
