//! The pane with the tree.

use std::fmt::Write as _;

use callstack_core::text::format_duration;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

use super::theme::{BOLD, DIM, PLAIN, SELECTED, Theme};
use super::writer::{Writer, fitted, short};
use crate::data::rows::Row;
use crate::model::app::{App, Pane, Target};
use crate::model::keys::Action;

/// The columns from which on times are shown.
const WITH_TIMES: usize = 44;
/// Columns of a number of tokens.
const TOKENS: usize = 5;
/// Columns of a time.
const TIME: usize = 8;
/// The fewest columns of a title.
const LEAST: usize = 8;

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App, theme: Theme) {
    app.targets.push((area, Target::Tree));
    let is_focus = app.pane == Pane::Tree && app.dialog.is_none();
    heading(buffer, area, app, theme);
    app.tree.height = usize::from(area.height);
    app.tree.scroll();
    if let Some(error) = &app.trouble {
        let hint = error.hint.as_ref().map(app.options.for_a_terminal);
        let mut writer = Writer::new(usize::from(area.width));
        writer.text(theme.bad(), "", "The tree can't be read.");
        writer.text(PLAIN, "", &error.message);
        writer.gap();
        writer.text(
            theme.hint(),
            "",
            hint.as_deref().unwrap_or("`callstack doctor` looks closer."),
        );
        for (line, y) in writer.finish().lines.iter().zip(area.y..area.bottom()) {
            buffer.set_line(area.x, y, line, area.width);
        }
        return;
    }
    if app.tree.visible() == 0 {
        let text = match (app.is_read, app.tree.is_empty()) {
            (false, _) => "Reading…",
            (true, true) => {
                "There are no frames yet. `p` pushes the first one; agents push theirs."
            }
            (true, false) => "No frame has these words. Esc ends the filter.",
        };
        let mut writer = Writer::new(usize::from(area.width));
        writer.text(DIM, "", text);
        for (line, y) in writer.finish().lines.iter().zip(area.y..area.bottom()) {
            buffer.set_line(area.x, y, line, area.width);
        }
        return;
    }
    let mut targets = Vec::new();
    for (line, (row, is_selected, is_folded)) in app.tree.on_screen().enumerate() {
        let y = area.y + u16::try_from(line).unwrap_or(0);
        let place = Rect { y, height: 1, ..area };
        let is_match = app.tree.is_match(row);
        let fold = Drawn { row, is_selected, is_folded, is_match, is_focus, now: app.now };
        let mark = fold.draw(buffer, place, theme);
        targets.push((place, Target::Row(line)));
        if row.has_children {
            targets.push((
                Rect { x: mark, width: 2.min(area.right() - mark), ..place },
                Target::Fold(line),
            ));
        }
    }
    app.targets.extend(targets);
    scrollbar(buffer, area, (app.tree.top, app.tree.visible()));
}

/// Puts the title on the border: the number of frames, or the filter.
fn heading(buffer: &mut Buffer, area: Rect, app: &mut App, theme: Theme) {
    let style = if app.pane == Pane::Tree { BOLD } else { PLAIN };
    let frames = match app.tree.len() {
        0 => "Frames".to_owned(),
        count => format!("Frames {count}"),
    };
    super::title(buffer, area, &frames, style);
    let filter = match (app.filters, app.tree.filter()) {
        (false, "") => "/ filter".to_owned(),
        (true, "") => "/ ▏".to_owned(),
        (true, filter) => format!("/ {filter}▏{}", app.tree.matches()),
        (false, filter) => format!("/ {filter} · {}", app.tree.matches()),
    };
    let room = usize::from(area.width).saturating_sub(frames.width() + 5);
    let filter = format!(" {} ", fitted(&filter, room.saturating_sub(2)));
    let columns = u16::try_from(filter.width()).unwrap_or(0);
    if columns <= area.width {
        let x = area.right() - columns;
        let style = if app.filters || !app.tree.filter().is_empty() { theme.hint() } else { DIM };
        buffer.set_string(x, area.y - 1, filter, style);
        app.targets.push((Rect::new(x, area.y - 1, columns, 1), Target::Do(Action::Filter)));
    }
}

/// Draws the place of the screen in a longer list, on the border to its right.
pub(crate) fn scrollbar(buffer: &mut Buffer, area: Rect, (top, of): (usize, usize)) {
    let height = usize::from(area.height);
    if of <= height || height == 0 {
        return;
    }
    let size = (height * height / of).max(1);
    let start = (height - size) * top / (of - height).max(1);
    for line in start..(start + size).min(height) {
        let y = area.y + u16::try_from(line).unwrap_or(0);
        buffer[(area.right(), y)].set_symbol("┃").set_style(PLAIN);
    }
}

#[expect(clippy::struct_excessive_bools, reason = "each is a mark of its own")]
struct Drawn<'r> {
    row: &'r Row,
    is_selected: bool,
    is_folded: bool,
    is_match: bool,
    is_focus: bool,
    now: i64,
}

impl Drawn<'_> {
    /// Draws the row, and returns the column of the mark that folds it.
    fn draw(&self, buffer: &mut Buffer, area: Rect, theme: Theme) -> u16 {
        let row = self.row;
        let width = usize::from(area.width);
        let right = self.right(width);
        let handle = row.num.to_string();
        // Deep in the tree the title is more than the depth.
        let fixed = 1 + 2 + 2 + handle.width() + 1 + right.width();
        let indent = (2 * row.depth).min(width.saturating_sub(fixed + LEAST));
        let mark = match (row.has_children, self.is_folded) {
            (false, _) => " ",
            (true, true) => "▸",
            (true, false) => "▼",
        };
        let title_room = width.saturating_sub(fixed + indent);
        let title = fitted(&row.title, title_room);
        let base = match (self.is_selected, self.is_focus) {
            (true, true) => SELECTED,
            (true, false) => BOLD,
            (false, _) => PLAIN,
        };
        let quiet = if self.is_match { base } else { base.patch(DIM) };
        let strong = if row.active { quiet.patch(BOLD) } else { quiet };
        buffer.set_style(area, base);
        let sign = if row.left_open { DIM } else { theme.status(row.status) };
        let pad = " ".repeat(title_room.saturating_sub(title.width()));
        let at = area.x + 1 + u16::try_from(indent).unwrap_or(0);
        let pieces = [
            (base, if self.is_selected { "›" } else { " " }.to_owned()),
            (base, " ".repeat(indent)),
            (base, format!("{mark} ")),
            (base.patch(sign), format!("{} ", row.sign)),
            (base.patch(DIM), format!("{handle} ")),
            (strong, title),
            (base, pad),
            (base.patch(DIM), right),
        ];
        let mut x = area.x;
        for (style, text) in pieces {
            let room = usize::from(area.right().saturating_sub(x));
            (x, _) = buffer.set_stringn(x, area.y, text, room, style);
        }
        at.min(area.right().saturating_sub(1))
    }

    /// The columns at the right: the open frame, its time, its tokens.
    fn right(&self, width: usize) -> String {
        let row = self.row;
        let mut right = String::new();
        if row.own_session {
            right.push_str(" ↗");
        }
        if row.active {
            right.push_str(" ←");
        }
        if width >= WITH_TIMES {
            let time = row
                .worked(self.now)
                .map(|ms| if ms < 1_000 { "<1s".to_owned() } else { format_duration(ms) });
            // Writing to a string can't fail.
            let _ = write!(right, " {:>TIME$}", time.unwrap_or_default());
        }
        let tokens = if row.tokens == 0 { String::new() } else { short(row.tokens) };
        let still = if row.still_sent { "*" } else { " " };
        let _ = write!(right, "{tokens:>TOKENS$}{still}");
        right
    }
}
