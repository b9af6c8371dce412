use callstack_core::frame::Status;
use callstack_core::text::format_duration;
use callstack_engine::tree::{TreeLine, sign};
use callstack_engine::{SystemWorld, World as _};
use serde_json::json;

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page, ago, columns, fitted, style};

/// Show all frames as a tree
///
/// Signs: ○ planned, ▶ in progress, ✓ completed, ✗ failed, ‖ blocked, ⊘ invalidated. With --json the
/// whole state is printed: every frame by its id, the roots, and the frame that was active last.
#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {}

/// Columns that a title keeps on a narrow terminal, at the price of what stands behind it.
const TITLE: usize = 12;
const ACTIVE: &str = "  ← open";

pub(crate) fn run(
    _: &TreeArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    if output.json() {
        let answer = invocation.run(&engine, "stack_tree", json!({}))?;
        return output.value(&answer.data);
    }
    let lines = engine.tree(Some(&invocation.caller(&engine)?.session))?;
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
    let active = if line.active { ACTIVE } else { "" };
    let time = match (frame.ended_at, frame.status) {
        (Some(ended), _) => format!("  {}", ago(now.saturating_sub(ended))),
        (None, Status::Planned) => String::new(),
        (None, _) => format!("  for {}", format_duration(now.saturating_sub(frame.created_at))),
    };
    let mut time = time.as_str();
    let title = &frame.identity.title;
    let title = match width {
        None => crate::page::line(title),
        Some(width) => {
            let before = columns(&line.branches) + 1 + columns(&handle);
            let room = width.saturating_sub(before + columns(active));
            let wanted = columns(title).min(TITLE);
            if room < wanted + columns(time) {
                time = "";
            }
            fitted(title, room.saturating_sub(columns(time)).max(1))
        }
    };
    page.put(DIM, &line.branches).put(style(frame.status), sign(frame.status));
    page.put(DIM, &handle).put(if line.active { BOLD } else { PLAIN }, &title);
    page.put(DIM, time).put(BOLD, active).end();
}
