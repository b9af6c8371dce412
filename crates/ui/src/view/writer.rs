//! Lines of text for a pane, broken where they are wider than it. Nothing that is written steers the terminal.

use callstack_core::control::{escape_line, escape_text};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar as _;
use unicode_width::UnicodeWidthStr as _;

use crate::model::details::Body;

/// Columns of a tab.
const TAB: &str = "    ";

/// A writer of lines.
#[derive(Debug)]
pub(crate) struct Writer {
    width: usize,
    body: Body,
}

impl Writer {
    pub(crate) fn new(width: usize) -> Self {
        Self { width: width.max(8), body: Body::default() }
    }

    pub(crate) fn finish(self) -> Body {
        self.body
    }

    /// Notes that a file or a message begins here.
    pub(crate) fn mark(&mut self) {
        self.body.marks.push(self.body.lines.len());
    }

    /// Ends a paragraph with an empty line, unless there is one.
    pub(crate) fn gap(&mut self) {
        if self.body.lines.last().is_some_and(|line| line.width() > 0) {
            self.body.lines.push(Line::default());
        }
    }

    /// Writes one line of several styles, cut at the end of the pane.
    pub(crate) fn line(&mut self, parts: &[(Style, &str)]) {
        let mut left = self.width;
        let mut spans = Vec::new();
        for (style, text) in parts {
            let text = fitted(text, left);
            left -= text.width();
            spans.push(Span::styled(text, *style));
        }
        self.body.lines.push(Line::from(spans));
    }

    /// Whether texts beside each other have room in one line.
    pub(crate) fn has_room(&self, texts: &[&str]) -> bool {
        let columns: usize = texts.iter().map(|text| escape_line(text).width()).sum();
        columns <= self.width
    }

    /// Writes text, broken between words, after a mark in its first line.
    pub(crate) fn text_after(
        &mut self,
        (mark_style, mark): (Style, &str),
        style: Style,
        text: &str,
    ) {
        let first = self.body.lines.len();
        self.text(style, &" ".repeat(mark.width()), text);
        if let Some(indent) = self.body.lines.get_mut(first).and_then(|line| line.spans.first_mut())
        {
            *indent = Span::styled(mark.to_owned(), mark_style);
        }
    }

    /// Writes text, broken between words.
    pub(crate) fn text(&mut self, style: Style, indent: &str, text: &str) {
        self.lines(style, indent, text, true);
    }

    /// Writes code or output, broken only where it has to be.
    pub(crate) fn code(&mut self, style: Style, indent: &str, text: &str) {
        self.lines(style, indent, text, false);
    }

    fn lines(&mut self, style: Style, indent: &str, text: &str, words: bool) {
        let text = escape_text(text.trim_end());
        let room = self.width.saturating_sub(indent.width()).max(4);
        for line in text.lines() {
            let line = line.replace('\t', TAB);
            for piece in broken(line.trim_end(), room, words) {
                let spans =
                    vec![Span::raw(indent.to_owned()), Span::styled(piece.to_owned(), style)];
                self.body.lines.push(Line::from(spans));
            }
        }
    }
}

/// Returns the pieces of a line, each of at most `room` columns.
fn broken(line: &str, room: usize, words: bool) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut used, mut space) = (0, 0, None);
    for (at, char) in line.char_indices() {
        if char == ' ' && line.get(start..at).is_some_and(|it| !it.trim().is_empty()) {
            space = Some(at);
        }
        let columns = char.width().unwrap_or(0);
        if used + columns > room && at > start {
            let end = space.take().filter(|_| words).unwrap_or(at);
            pieces.push(line.get(start..end).unwrap_or_default());
            let has_space = words && line.get(end..).is_some_and(|it| it.starts_with(' '));
            start = end + usize::from(has_space);
            used = line.get(start..at).unwrap_or_default().width();
            if start > at {
                // The space itself is in neither piece.
                continue;
            }
        }
        used += columns;
    }
    pieces.push(line.get(start..).unwrap_or_default());
    pieces
}

/// Returns as much of `text` as fits into `width` columns on one line, with `…` in place of the rest.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let text = escape_line(text);
    if text.width() <= width {
        return text.into_owned();
    }
    let (mut end, mut used) = (0, 1);
    for (at, char) in text.char_indices() {
        used += char.width().unwrap_or(0);
        if used > width {
            break;
        }
        end = at + char.len_utf8();
    }
    let start = text.get(..end).unwrap_or_default();
    if width == 0 { String::new() } else { format!("{}…", start.trim_end()) }
}

/// Returns a number in few characters: 950, 4.2k, 197k, 1.3M.
pub(crate) fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..9_950 => format!("{:.1}k", count as f64 / 1e3),
        9_950..999_500 => format!("{:.0}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_lose_nothing() {
        assert_eq!(broken("one two three", 7, true), ["one two", "three"]);
        assert_eq!(broken("one two three", 8, true), ["one two", "three"]);
        assert_eq!(broken("onetwothree", 4, true), ["onet", "woth", "ree"]);
        assert_eq!(broken("    let it = be", 8, false), ["    let ", "it = be"]);
        assert_eq!(broken("日本語の文", 5, true), ["日本", "語の", "文"]);
        assert_eq!(broken("", 5, true), [""]);
        for room in 4..30 {
            let text = "  many words of 日本語 and averyverylongwordindeed follow";
            let pieces = broken(text, room, true);
            assert!(pieces.iter().all(|it| it.width() <= room), "{pieces:?} in {room}");
            let kept: String = pieces.concat().split(' ').collect();
            assert_eq!(kept, text.split(' ').collect::<String>());
        }
    }

    #[test]
    fn what_is_fitted_never_takes_more_columns_than_there_are() {
        for text in ["plain title", "日本語のタイトル", "e\u{301}clair", "a\nb\u{1b}c", ""]
        {
            for width in 0..20 {
                assert!(fitted(text, width).width() <= width, "{text:?} in {width}");
            }
        }
        assert_eq!(fitted("plain title", 6), "plain…");
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0, 999, 1_000, 9_949, 9_950, 197_400, 999_499, 1_250_000].map(short);
        assert_eq!(shown, ["0", "999", "1.0k", "9.9k", "10k", "197k", "999k", "1.2M"]);
    }
}
