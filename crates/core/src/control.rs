//! Characters that steer a terminal, or reorder text, instead of being shown. No view for people and no file of ours
//! contains one.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character would be obeyed instead of shown: C0, DEL and C1, marks that change the direction of
/// text, and separators that some terminals take for line ends.
pub fn steers(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{2028}' | '\u{2029}' | '\u{61c}')
}

/// Escapes all characters that steer, so that `text` is on one line: `\n`, `\u{1b}`.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape(text, steers, |out, char| out.extend(char.escape_default()))
}

/// The same for text of several lines: line ends and tabs stay, and `\r\n` is a line end.
pub fn escape_text(text: &str) -> Cow<'_, str> {
    let text = if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    };
    let steers = |char| !matches!(char, '\n' | '\t') && steers(char);
    match text {
        Cow::Borrowed(text) => escape(text, steers, |out, char| out.extend(char.escape_default())),
        Cow::Owned(text) => Cow::Owned(
            escape(&text, steers, |out, char| out.extend(char.escape_default())).into_owned(),
        ),
    }
}

/// Escapes characters that steer in a JSON document, as JSON allows: a reader reads the same.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let steers = |char| char != '\n' && steers(char);
    escape(json, steers, |out, char| {
        // Writing to a string can't fail.
        let _ = write!(out, "\\u{:04x}", u32::from(char));
    })
}

fn escape(
    text: &str,
    steers: impl Fn(char) -> bool,
    put: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    if !text.contains(&steers) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        if steers(char) { put(&mut escaped, char) } else { escaped.push(char) }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "a\u{1b}[2J\u{9b}1m\u{7f}\u{202e}b\u{61c}\u{2066}\u{200f}\u{2028}c\u{85}";

    #[test]
    fn nothing_that_steers_is_left() {
        for text in [escape_line(EVIL), escape_text(EVIL), escape_json(EVIL)] {
            assert!(!text.contains(steers), "{text:?}");
        }
        assert_eq!(escape_text("a\r\n\tb\rc"), "a\n\tb\\rc");
        assert_eq!(escape_line("a\n\u{9b}"), "a\\n\\u{9b}");
        assert!(matches!(escape_text("plain\n\tü"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_reads_the_same() {
        let value = serde_json::json!({EVIL: [EVIL, "\n\t"]});
        for json in [format!("{value}"), format!("{value:#}")] {
            let escaped = escape_json(&json);
            assert!(!escaped.contains(|char| char != '\n' && steers(char)), "{escaped:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        }
    }
}
