//! The bar of what fills the next request.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr as _;

use super::theme::{BOLD, DIM, PLAIN, Theme};
use super::writer::{fitted, short};
use crate::data::answers::Window;
use crate::model::app::{App, Target};
use crate::model::details::Remote;
use crate::model::keys::Action;

/// The characters of parts, so that they differ without colours.
const FILLS: [&str; 4] = ["█", "▒", "▓", "░"];

pub(crate) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App, theme: Theme) {
    super::title(buffer, area, &heading(app), PLAIN);
    let whole = Rect { y: area.y - 1, height: area.height + 1, ..area };
    app.targets.push((whole, Target::Do(Action::Window)));
    let room = usize::from(area.width);
    let window = match &app.window {
        Remote::Known(window) if window.tokens == 0 => {
            buffer.set_stringn(
                area.x + 1,
                area.y,
                "No agent works in this session.",
                room - 1,
                DIM,
            );
            return;
        }
        Remote::Known(window) => window,
        Remote::Failed(error) => {
            buffer.set_stringn(area.x + 1, area.y, fitted(&error.message, room - 1), room, DIM);
            return;
        }
        Remote::Unasked | Remote::Asked => return,
    };
    let mut x = area.x + 1;
    let end = area.right();
    for (place, part) in window.parts.iter().filter(|part| part.tokens > 0).enumerate() {
        let fill = FILLS.get(place % FILLS.len()).copied().unwrap_or_default();
        let words = format!("{fill} {} {}  ", part_name(&part.kind), short(part.tokens));
        if usize::from(end.saturating_sub(x)) < words.width() {
            break;
        }
        buffer.set_string(x, area.y, fill, theme.part(&part.kind));
        let rest = words.strip_prefix(fill).unwrap_or_default();
        (x, _) = buffer.set_stringn(x + 1, area.y, rest, usize::from(end - x - 1), PLAIN);
    }
    let total = match window.limit {
        Some(limit) => format!(" {}/{} ", short(window.tokens), short(limit)),
        None => format!(" {} ", short(window.tokens)),
    };
    let columns = room.saturating_sub(total.width() + 1);
    let mut x = area.x + 1;
    for (cells, fill, style) in cells(window, columns, theme) {
        (x, _) = buffer.set_stringn(x, area.y + 1, fill.repeat(cells), cells, style);
    }
    buffer.set_stringn(x, area.y + 1, &total, usize::from(end.saturating_sub(x)), BOLD);
}

fn heading(app: &App) -> String {
    let Some(window) = app.window.known() else { return "Next request".to_owned() };
    let mut parts = vec!["Next request".to_owned()];
    parts.push(window.session.clone());
    parts.extend(window.model.clone());
    if window.basis != "reported" {
        parts.push("estimated".to_owned());
    }
    parts.join(" · ")
}

/// Returns the cells of each part with their characters, and the free ones. Each part that is not empty has at least
/// one.
fn cells(window: &Window, columns: usize, theme: Theme) -> Vec<(usize, &'static str, Style)> {
    let whole = window.limit.unwrap_or(window.tokens).max(window.tokens).max(1);
    let parts: Vec<_> = window.parts.iter().filter(|part| part.tokens > 0).collect();
    let mut left = columns;
    let mut cells = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        let share = part.tokens as f64 / whole as f64 * columns as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the columns, rounded to whole ones"
        )]
        let wanted = (share.round() as usize).max(1);
        // The parts after it need a cell each.
        let after = parts.len() - place - 1;
        let got = wanted.min(left.saturating_sub(after));
        left -= got;
        let fill = FILLS.get(place % FILLS.len()).copied().unwrap_or_default();
        cells.push((got, fill, theme.part(&part.kind)));
    }
    cells.push((left, "·", DIM));
    cells
}

/// Returns the name of a part for people.
pub(crate) fn part_name(kind: &str) -> &str {
    if kind == "live" { "live work" } else { kind }
}
