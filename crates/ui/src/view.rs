//! Draws the state.

mod bar;
mod details;
mod dialogs;
mod messages;
mod tabs;
mod theme;
mod tree;
mod writer;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr as _;

use crate::model::app::{App, Pane, Target};
use crate::model::keys::KEYS;
use theme::{BOLD, DIM, PLAIN, Theme};

/// The columns from which on tree and details stand beside one another.
const BESIDE: u16 = 70;
/// The rows from which on the bar of the next request is shown.
const WITH_BAR: u16 = 14;
/// Rows of the bar.
const BAR: u16 = 2;

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let area = frame.area();
    app.targets.clear();
    if area.width < 8 || area.height < 4 {
        return;
    }
    let theme = Theme::of(app.options.colours);
    let places = Places::of(area, app.pane);
    let buffer = frame.buffer_mut();
    outline(buffer, area, &places);
    if let Some(inner) = places.tree {
        tree::draw(buffer, inner, app, theme);
    }
    if let Some(inner) = places.details {
        details::draw(buffer, inner, app, theme);
    }
    if let Some(inner) = places.bar {
        bar::draw(buffer, inner, app, theme);
    }
    foot(buffer, area, app);
    dialogs::draw(frame, app, theme);
}

/// The insides of the panes, without their borders; their titles stand on the border above.
struct Places {
    tree: Option<Rect>,
    details: Option<Rect>,
    bar: Option<Rect>,
}

impl Places {
    fn of(area: Rect, pane: Pane) -> Self {
        let inside = Rect::new(area.x + 1, area.y + 1, area.width - 2, area.height - 2);
        let has_bar = area.height >= WITH_BAR;
        let upper = if has_bar { inside.height - BAR - 1 } else { inside.height };
        let panes = Rect { height: upper, ..inside };
        let bar = has_bar.then(|| Rect { y: inside.y + upper + 1, height: BAR, ..inside });
        if area.width < BESIDE {
            let (tree, details) = match pane {
                Pane::Tree => (Some(panes), None),
                Pane::Details => (None, Some(panes)),
            };
            return Self { tree, details, bar };
        }
        let left = (inside.width * 2 / 5).clamp(30, 64);
        let tree = Rect { width: left, ..panes };
        let details = Rect { x: panes.x + left + 1, width: panes.width - left - 1, ..panes };
        Self { tree: Some(tree), details: Some(details), bar }
    }
}

/// Draws the lines around and between the panes.
fn outline(buffer: &mut Buffer, area: Rect, places: &Places) {
    let style = DIM;
    let (left, right) = (area.x, area.right() - 1);
    let (top, bottom) = (area.y, area.bottom() - 1);
    let split = match (places.tree, places.details) {
        (Some(_), Some(details)) => Some(details.x - 1),
        _ => None,
    };
    let mut put = |x: u16, y: u16, symbol: &str| {
        buffer[(x, y)].set_symbol(symbol).set_style(style);
    };
    let across = |y: u16, ends: [&str; 2], at_split: &str, put: &mut dyn FnMut(u16, u16, &str)| {
        for x in left..=right {
            put(x, y, "─");
        }
        put(left, y, ends[0]);
        put(right, y, ends[1]);
        if let Some(x) = split {
            put(x, y, at_split);
        }
    };
    for y in top..=bottom {
        put(left, y, "│");
        put(right, y, "│");
    }
    across(top, ["┌", "┐"], "┬", &mut put);
    let below_panes = places.bar.map_or(bottom, |bar| bar.y - 1);
    if let Some(x) = split {
        for y in top + 1..below_panes {
            put(x, y, "│");
        }
    }
    let at_bottom = if places.bar.is_some() { "─" } else { "┴" };
    across(bottom, ["└", "┘"], at_bottom, &mut put);
    if places.bar.is_some() {
        across(below_panes, ["├", "┤"], "┴", &mut put);
    }
}

/// Puts a title on the border above an area.
fn title(buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
    if area.width > 2 {
        let text = writer::fitted(text, usize::from(area.width) - 2);
        buffer.set_stringn(area.x, area.y - 1, format!(" {text} "), usize::from(area.width), style);
    }
}

/// Draws the last line: keys, or what was done last.
fn foot(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let y = area.bottom() - 1;
    let room = usize::from(area.width) - 2;
    let help = " ? keys ";
    if let Some(notice) = &app.notice {
        let text = format!(" {} ", writer::fitted(notice, room - 2));
        buffer.set_stringn(area.x + 1, y, text, room, BOLD);
        return;
    }
    let mut x = area.x + 1;
    let end = (area.right() - 1).saturating_sub(u16::try_from(help.width()).unwrap_or(0));
    for binding in KEYS.iter().flat_map(|(_, bindings)| bindings.iter()) {
        if binding.short.is_empty() {
            continue;
        }
        let key = binding.keys.first().copied().unwrap_or_default();
        let columns = u16::try_from(key.width() + binding.short.width() + 3).unwrap_or(0);
        if x + columns > end {
            break;
        }
        buffer.set_string(x, y, format!(" {key}"), BOLD);
        let word = x + u16::try_from(key.width() + 1).unwrap_or(0);
        buffer.set_string(word, y, format!(" {} ", binding.short), PLAIN);
        app.targets.push((Rect::new(x, y, columns, 1), Target::Do(binding.action)));
        x += columns;
    }
    if end > area.x {
        buffer.set_string(end, y, help, BOLD);
        let target = Target::Do(crate::model::keys::Action::Help);
        app.targets.push((Rect::new(end, y, area.right() - 1 - end, 1), target));
    }
}
