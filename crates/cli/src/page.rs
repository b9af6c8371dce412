//! Text for a terminal. Text of a model, a tool or a user can't control the terminal: its control characters are made
//! visible when it is put onto a page, and only a page can be printed.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use callstack_core::control::{escape_line, escape_text};
use callstack_core::frame::Status;
use callstack_core::text::format_duration;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr as _;

/// No decoration.
pub(crate) const PLAIN: Style = Style::new();
/// Text that only helps to find one's way.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Text that should catch the eye.
pub(crate) const BOLD: Style = Style::new().bold();
/// A fault.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// The next step for the user.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();
/// A good state.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// A state that is worth a look.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();

/// Returns the style of a status.
pub(crate) fn style(status: Status) -> Style {
    match status {
        Status::Planned => AnsiColor::Blue.on_default(),
        Status::InProgress => AnsiColor::Yellow.on_default(),
        Status::Completed => AnsiColor::Green.on_default(),
        Status::Failed => AnsiColor::Red.on_default(),
        Status::Blocked => AnsiColor::Magenta.on_default(),
        Status::Invalidated => DIM,
    }
}

/// Text that is safe to print.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
}

impl Page {
    /// Puts `text` on the current line; line ends in it are made visible.
    pub(crate) fn put(&mut self, style: Style, text: &str) -> &mut Self {
        self.styled(style, &line(text))
    }

    /// Puts a line of a longer text on the current line; tabs in it stay.
    pub(crate) fn put_text(&mut self, style: Style, text: &str) -> &mut Self {
        self.styled(style, &escape_text(text))
    }

    /// Puts text of several lines, each begun with `indent`, and ends the last one.
    pub(crate) fn block(&mut self, indent: &str, text: &str) -> &mut Self {
        for part in text.lines() {
            let shown = escape_text(part);
            let blank = shown.is_empty();
            // Writing to a string can't fail.
            let _ = writeln!(self.text, "{}{shown}", if blank { "" } else { indent });
        }
        self
    }

    /// Appends another page.
    pub(crate) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    /// Ends the current line.
    pub(crate) fn end(&mut self) -> &mut Self {
        self.text.push('\n');
        self
    }

    /// Returns the text, with the escape sequences of its styles.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    fn styled(&mut self, style: Style, text: &str) -> &mut Self {
        if style == PLAIN {
            self.text.push_str(text);
        } else {
            // Writing to a string can't fail.
            let _ = write!(self.text, "{style}{text}{style:#}");
        }
        self
    }
}

/// Returns `text` on one line, with every character made visible that controls a terminal or reorders its output.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escape_line(text)
}

/// The age in milliseconds from which on a date is shown instead of the age.
const LONG_AGO: i64 = 7 * 86_400_000;

/// Returns the age of a time, or after some days its date. Both times are milliseconds since 1970.
pub(crate) fn when(at: i64, now: i64) -> String {
    let passed = now.saturating_sub(at);
    match passed {
        ..1000 => "just now".to_owned(),
        LONG_AGO.. => date(at).unwrap_or_else(|| format!("{} ago", format_duration(passed))),
        _ => format!("{} ago", format_duration(passed)),
    }
}

/// Returns a local date such as `11 Feb 2026`, from milliseconds since 1970.
pub(crate) fn date(at: i64) -> Option<String> {
    let at = Timestamp::from_millisecond(at).ok()?.to_zoned(TimeZone::system());
    Some(at.strftime("%-d %b %Y").to_string())
}

/// Returns a duration in milliseconds as text, to a second.
pub(crate) fn took(ms: i64) -> String {
    if ms < 1000 { "<1s".to_owned() } else { format_duration(ms) }
}

/// Returns the columns that `text` takes on a terminal once it is on a page.
pub(crate) fn columns(text: &str) -> usize {
    line(text).width()
}

/// Returns as much of `text` as fits into `width` columns on one line, with `…` in place of the rest.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let text = line(text);
    if text.width() <= width {
        return text.into_owned();
    }
    let mut end = 0;
    for (at, char) in text.char_indices() {
        let next = at + char.len_utf8();
        if text.get(..next).is_none_or(|start| start.width() + 1 > width) {
            break;
        }
        end = next;
    }
    format!("{}…", text.get(..end).unwrap_or_default().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_shown_and_not_obeyed() {
        let shown = line("a\u{1b}[2Jb\nc\u{9b}1m\u{202e}d\u{7f}");
        assert_eq!(shown, r"a\u{1b}[2Jb\nc\u{9b}1m\u{202e}d\u{7f}");
        let mut page = Page::default();
        page.block("  ", "one\r\n\n\u{1b}]0;x\u{7}\ttwo");
        assert_eq!(page.as_str(), "  one\n\n  \\u{1b}]0;x\\u{7}\ttwo\n");
    }

    #[test]
    fn what_was_long_ago_has_a_date() {
        const DAY: i64 = 86_400_000;
        let at = 1_770_811_200_000;
        let since = |passed| when(at, at + passed);
        assert_eq!([since(-DAY), since(999)], ["just now", "just now"]);
        assert_eq!([since(61_000), since(6 * DAY)], ["1m 1s ago", "6d ago"]);
        assert_eq!([since(7 * DAY), since(284 * DAY)], ["11 Feb 2026", "11 Feb 2026"]);
        assert!(when(i64::MIN, 0).ends_with(" ago"), "no day of any calendar");
    }

    #[test]
    fn what_is_fitted_never_takes_more_columns_than_there_are() {
        let texts =
            ["plain title", "日本語のタイトル", "e\u{301}clair e\u{301}clair", "a\nb\u{1b}c", ""];
        for text in texts {
            for width in 1..20 {
                let shown = fitted(text, width);
                assert!(shown.width() <= width, "{shown:?} in {width}");
            }
        }
        assert_eq!(fitted("plain title", 6), "plain…");
        assert_eq!(fitted("日本語", 5), "日本…");
    }
}
