//! The pane with the details of the selected frame.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr as _;

use super::tabs;
use super::theme::{BOLD, DIM, PLAIN, SELECTED, Theme};
use super::tree::scrollbar;
use crate::model::app::{App, Pane, Target};
use crate::model::details::Tab;
use crate::model::keys::Action;

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App, theme: Theme) {
    app.targets.push((area, Target::Details));
    let is_focus = app.pane == Pane::Details && app.dialog.is_none();
    let Some(row) = app.tree.selected() else { return };
    let style = if is_focus { BOLD } else { PLAIN };
    super::title(buffer, area, &format!("{} {}", row.num, row.title), style);
    tab_names(buffer, area, app, theme);
    let inner = Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(1),
        height: area.height.saturating_sub(1),
    };
    let (now, for_a_terminal) = (app.now, app.options.for_a_terminal);
    let details = &mut app.details;
    details.height = usize::from(inner.height);
    let width = usize::from(inner.width);
    details.body(width, |details, width| tabs::body(details, width, now, for_a_terminal, theme));
    let scroll = details.scroll;
    let body = details
        .body(width, |details, width| tabs::body(details, width, now, for_a_terminal, theme));
    let lines = body.lines.iter().skip(scroll);
    for (line, y) in lines.zip(inner.y..inner.bottom()) {
        buffer.set_line(inner.x, y, line, inner.width);
    }
    scrollbar(buffer, inner, (scroll, body.lines.len()));
}

fn tab_names(buffer: &mut Buffer, area: Rect, app: &mut App, theme: Theme) {
    let mut x = area.x;
    for (place, tab) in Tab::ALL.into_iter().enumerate() {
        let is_shown = tab == app.details.tab;
        let text = format!(" {} {} ", place + 1, tab.name());
        let columns = u16::try_from(text.width()).unwrap_or(0);
        if x + columns > area.right() {
            break;
        }
        let style = match (is_shown, app.pane) {
            (true, Pane::Details) => SELECTED,
            (true, Pane::Tree) => BOLD.patch(theme.hint()),
            (false, _) => DIM,
        };
        let text = if is_shown { format!("[{}]", text.trim()) } else { text };
        buffer.set_string(x, area.y, text, style);
        app.targets.push((Rect::new(x, area.y, columns, 1), Target::Do(Action::Tab(place))));
        x += columns;
    }
}
