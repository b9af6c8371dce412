use callstack_core::frame::Status;
use callstack_core::secrets::mask;
use callstack_core::text::format_duration;
use callstack_engine::tree::{TreeLine, sign};
use callstack_engine::{StackState, SystemWorld, World as _};
use serde_json::json;

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page, ago, columns, fitted, style};

/// Show all frames as a tree
///
/// Signs: ○ planned, ▶ in progress, ✓ completed, ✗ failed, ‖ blocked, ⊘ invalidated. `still sent` stands
/// behind a finished frame whose steps its model still reads, since folding so little is not worth it.
/// With --json the whole state is printed: every frame by its id, the roots, and the frame that was
/// active last. Keys, tokens and passwords of known forms are masked unless --reveal is given.
#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {
    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,
}

/// Columns that a title keeps on a narrow terminal, at the price of what stands behind it.
const TITLE: usize = 12;

pub(crate) fn run(
    args: &TreeArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    if output.json() {
        let answer = invocation.run(&engine, "stack_tree", json!({}))?;
        if args.reveal {
            return output.value(&answer.data);
        }
        let state: StackState =
            serde_json::from_value(answer.data).map_err(|error| Failure::of_shape(&error))?;
        return output.value(&json!(state.masked()));
    }
    let mut lines = engine.tree(Some(&invocation.caller(&engine)?.session))?;
    if !args.reveal {
        for title in lines.iter_mut().map(|line| &mut line.frame.identity.title) {
            *title = mask(title).into_owned();
        }
    }
    let mut page = Page::default();
    draw(&mut page, &lines, output.width());
    if lines.is_empty() {
        page.put(PLAIN, "there are no frames yet").end();
    }
    output.page(&page)
}

/// Draws a tree. No line is wider than `width`, so that no title breaks the drawing.
pub(crate) fn draw(page: &mut Page, lines: &[TreeLine], width: Option<usize>) {
    let now = SystemWorld.now();
    for line in lines {
        draw_line(page, line, now, width);
    }
}

fn draw_line(page: &mut Page, line: &TreeLine, now: i64, width: Option<usize>) {
    let frame = &line.frame;
    let handle = format!(" {} ", frame.num);
    let time = match (frame.ended_at, frame.status) {
        (Some(ended), _) => format!("  {}", ago(now.saturating_sub(ended))),
        (None, Status::Planned) => String::new(),
        (None, _) => format!("  for {}", format_duration(now.saturating_sub(frame.created_at))),
    };
    let whole = if line.still_sent { "  still sent" } else { "" };
    let (open, mark) = if line.active { ("  ← open", " ←") } else { ("", "") };
    let title = &frame.identity.title;
    let before = columns(&line.branches) + 1 + columns(&handle);
    let all = format!("{time}{whole}");
    let mut behind =
        [(all.as_str(), open), (whole, open), ("", open), ("", mark), ("", "")].into_iter();
    let fits = |(time, open): &(&str, &str)| {
        let wanted = columns(title).min(TITLE);
        width.is_none_or(|width| before + wanted + columns(time) + columns(open) <= width)
    };
    // Where nothing fits, the mark matters more than the title.
    let (time, open) = behind.find(fits).unwrap_or(("", mark));
    let room = width.map(|width| width.saturating_sub(before + columns(time) + columns(open)));
    let title = room.map_or_else(|| title.clone(), |room| fitted(title, room.max(1)));
    page.put(DIM, &line.branches).put(style(frame.status), sign(frame.status));
    page.put(DIM, &handle).put(if line.active { BOLD } else { PLAIN }, &title);
    page.put(DIM, time).put(BOLD, open).end();
}
