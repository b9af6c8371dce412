//! Writing XML for a model to read: escaped and indented; characters that XML 1.0 forbids are shown in escaped form.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use crate::own_lines::quoted;

/// `text` with `& < > " '` escaped, line ends as XML reads them, and each character that XML 1.0
/// forbids or that steers a terminal shown as `\u{1b}`.
pub fn escape_xml(text: &str) -> Cow<'_, str> {
    escape_quoted(text, XmlContext::Anywhere)
}

/// `text` as escaped XML shows it to a reader: `\r\n` as `\n`, characters that are forbidden in XML
/// 1.0 or steer a terminal as `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    escape(text, XmlContext::Plain)
}

/// Returns a text on one line: white space is a blank, and what [`visible`] shows is shown.
pub fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    visible(&words.join(" ")).into_owned()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum XmlContext {
    /// Not as XML: only invisible characters are made visible.
    Plain,
    /// Between tags: quotes may stand as they are, which reads better and costs less.
    Content,
    /// Any place that keeps line ends.
    Anywhere,
    /// In an attribute, whose reader would turn a line end or tab into a blank.
    Attribute,
}

fn escape(text: &str, place: XmlContext) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, char) in text.char_indices() {
        let with = match char {
            // The commonest first: nothing to do.
            ' ' | '0'..='9' | 'A'..='Z' | 'a'..='z' => continue,
            '&' if place != XmlContext::Plain => "&amp;",
            '<' if place != XmlContext::Plain => "&lt;",
            '>' if place != XmlContext::Plain => "&gt;",
            '"' if matches!(place, XmlContext::Anywhere | XmlContext::Attribute) => "&quot;",
            '\'' if matches!(place, XmlContext::Anywhere | XmlContext::Attribute) => "&apos;",
            '\n' if place == XmlContext::Attribute => "&#10;",
            '\t' if place == XmlContext::Attribute => "&#9;",
            '\r' if text.as_bytes().get(at + 1) == Some(&b'\n') => "",
            _ if is_shown(char) => {
                out.push_str(text.get(copied..at).unwrap_or_default());
                out.extend(char.escape_unicode());
                copied = at + char.len_utf8();
                continue;
            }
            _ => continue,
        };
        out.push_str(text.get(copied..at).unwrap_or_default());
        out.push_str(with);
        copied = at + char.len_utf8();
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// XML 1.0 forbids C0 and the two non-characters; C1, DEL and a lone `\r` steer terminals.
fn is_shown(char: char) -> bool {
    (char.is_control() && !matches!(char, '\n' | '\t')) || matches!(char, '\u{fffe}' | '\u{ffff}')
}

/// Writes elements, each on lines of its own, indented by two blanks a level.
#[derive(Debug)]
pub struct XmlWriter {
    out: String,
    level: usize,
}

impl XmlWriter {
    /// A writer whose first element is `level` levels in.
    pub fn new(level: usize) -> Self {
        Self { out: String::new(), level }
    }

    /// Starts a tag; give it attributes, then [`Tag::open`], [`Tag::text`] or [`Tag::empty`].
    pub fn tag<'w>(&'w mut self, name: &'static str) -> Tag<'w> {
        for _ in 0..self.level {
            self.out.push_str("  ");
        }
        self.out.push('<');
        self.out.push_str(name);
        Tag { writer: self, name }
    }

    /// Ends the element `name` that [`Tag::open`] began.
    pub fn close(&mut self, name: &'static str) {
        self.level = self.level.saturating_sub(1);
        for _ in 0..self.level {
            self.out.push_str("  ");
        }
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push_str(">\n");
    }

    /// `<name>text</name>`, escaped.
    pub fn element(&mut self, name: &'static str, text: &str) {
        self.tag(name).text(text);
    }

    /// Takes over lines that another writer wrote for this level.
    pub fn raw(&mut self, lines: &str) {
        self.out.push_str(lines);
    }

    /// Writes lines of our own words inside an element, indented like it; escaped.
    pub fn lines(&mut self, text: &str) {
        for line in text.lines() {
            for _ in 0..self.level {
                self.out.push_str("  ");
            }
            self.out.push_str(&escape(line, XmlContext::Content));
            self.out.push('\n');
        }
    }

    /// Returns the text that was written.
    pub fn finish(self) -> String {
        self.out
    }
}

/// A tag being written; attributes stand in the order in which they are given.
#[derive(Debug)]
#[must_use = "a tag is whole only once it is opened, filled or closed as empty"]
pub struct Tag<'w> {
    writer: &'w mut XmlWriter,
    name: &'static str,
}

impl Tag<'_> {
    /// An attribute, escaped.
    pub fn attr(self, name: &'static str, value: impl Display) -> Self {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _infallible = write!(text, "{value}");
        let out = &mut self.writer.out;
        out.push(' ');
        out.push_str(name);
        out.push_str("=\"");
        out.push_str(&escape(&text, XmlContext::Attribute));
        out.push('"');
        self
    }

    /// Adds an attribute, if there is a value.
    pub fn attr_if(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.attr(name, value),
            None => self,
        }
    }

    /// Ends the tag; later output is inside, until [`XmlWriter::close`].
    pub fn open(self) {
        self.writer.out.push_str(">\n");
        self.writer.level += 1;
    }

    /// Ends the element with text in it, escaped.
    pub fn text(self, text: &str) {
        self.escaped(&escape_content(text));
    }

    /// Ends the element with text in it that [`escape_content`] made.
    pub(crate) fn escaped(self, text: &str) {
        let out = &mut self.writer.out;
        out.push('>');
        out.push_str(text);
        out.push_str("</");
        out.push_str(self.name);
        out.push_str(">\n");
    }

    /// Ends the element with nothing in it.
    pub fn empty(self) {
        self.writer.out.push_str(" />\n");
    }
}

/// `text` as it may stand between tags.
pub(crate) fn escape_content(text: &str) -> Cow<'_, str> {
    escape_quoted(text, XmlContext::Content)
}

/// The same for text of somebody else: none of its lines begins as one of ours.
fn escape_quoted(text: &str, place: XmlContext) -> Cow<'_, str> {
    match quoted(text) {
        Cow::Borrowed(text) => escape(text, place),
        Cow::Owned(text) => Cow::Owned(escape(&text, place).into_owned()),
    }
}

#[cfg(test)]
#[path = "xml_tests.rs"]
mod tests;
