//! Texts as languages write and print them: with letters before the quote, in constructors and declarations.

use std::ops::Range;

use super::super::judge::{
    is_identifier, is_likely, is_likely_and_no_name, is_likely_bare, is_strong, is_value,
};
use super::super::{escaped, names};
use super::{CHANGED, LEAST, Name, SPACE};

/// Calls and types with no more than a text in them, by the last parts of their paths.
const PLAIN: [&str; 36] = [
    "Some",
    "Ok",
    "Just",
    "Optional",
    "String",
    "string",
    "str",
    "bytes",
    "byte",
    "rune",
    "Box",
    "Rc",
    "Arc",
    "Cow",
    "Borrowed",
    "Owned",
    "Zeroizing",
    "Secret",
    "SecretStr",
    "SecretString",
    "SecretBox",
    "SecureString",
    "Sensitive",
    "Redacted",
    "QString",
    "QStringLiteral",
    "QLatin1String",
    "F",
    "PSTR",
    "TEXT",
    "_T",
    "CString",
    "OsString",
    "Bytes",
    "Value",
    "ConvertTo-SecureString",
];
/// The most of them around a text, the bytes of each, and those of a length between brackets.
const CALLS: usize = 3;
const CALL: usize = 48;
const LENGTH: usize = 24;
/// Bytes of a key or a token in a constructor.
const LONG: usize = 12;
/// Operators before a value that stands for one that is missing.
const ELSE: [&str; 5] = ["|| ", "?? ", "or ", "?: ", "// "];

/// Returns the length of the beginning of a call that takes no more than a text.
fn call(text: &str) -> Option<usize> {
    let begin = text.get(..text.floor_char_boundary(CALL))?;
    let lead = ["(", "new ", "&", "[]"].iter().find_map(|lead| begin.strip_prefix(lead));
    let word = lead.unwrap_or(begin);
    let in_path = |char: char| char.is_ascii_alphanumeric() || "_:.-".contains(char);
    let end = word.find(|char| !in_path(char))?;
    let (path, rest) = word.split_at_checked(end)?;
    let mut parts = path.rsplit(['.', ':']).filter(|part| !part.is_empty());
    let mut last = parts.next()?;
    if matches!(last, "from" | "new" | "of") {
        last = parts.next()?;
    }
    let is_type = last.starts_with(|char: char| char.is_ascii_uppercase());
    if !(PLAIN.contains(&last) || (is_type && names::is_of_field(last))) {
        return None;
    }
    let is_spaced = matches!(last, "Just" | "ConvertTo-SecureString");
    let length = match rest.strip_prefix('(') {
        Some(inside) if last == "string" => {
            // PHP prints the length of each text.
            let digits = inside.trim_start_matches(|char: char| char.is_ascii_digit());
            let after = digits.strip_prefix(") ").filter(|_| digits.len() < inside.len());
            after.map_or(1, |after| rest.len() - after.len())
        }
        Some(_) => 1,
        None => usize::from(is_spaced && rest.starts_with(' ')),
    };
    (length > 0).then_some(begin.len() - rest.len() + length)
}

/// Returns the length of the letters and signs before a quote.
fn prefix(text: &str) -> usize {
    const MOST: usize = 6;
    const LETTERS: [&str; 21] = [
        "rb", "Rb", "rB", "RB", "br", "bR", "Br", "BR", "u8", "fr", "rf", "$@", "cr", "b", "B",
        "r", "R", "u", "f", "L", "c",
    ];
    const SIGNS: [&str; 5] = ["@", "$", "N", "F", "U"];
    let letters = LETTERS.iter().chain(&SIGNS).find(|letters| text.starts_with(**letters));
    let Some(letters) = letters else { return 0 };
    let rest = text.get(letters.len()..).unwrap_or_default();
    let hashes = rest.bytes().take(MOST).take_while(|byte| *byte == b'#').count();
    let is_quoted = rest.get(hashes..).is_some_and(|rest| escaped::quote(rest).is_some());
    if is_quoted { letters.len() + hashes } else { 0 }
}

/// Whether a text with these letters before its quote is a template or a pattern.
fn is_pattern(letters: &str, text: &str) -> bool {
    const CLASSES: [&str; 9] = ["\\d", "\\w", "\\s", "\\b", "\\S", "(?", "[a-", "[A-", "[^"];
    let is = |kinds: [char; 3]| letters.contains(kinds);
    (is(['f', 'F', '$']) && text.contains('{'))
        || (is(['r', 'R', '@']) && CLASSES.iter().any(|class| text.contains(class)))
}

/// Such as `\x00\x01`: a few bytes that separate others.
fn is_escaped(text: &str) -> bool {
    const KEY: usize = 16 * "\\x00".len();
    text.len() < KEY && text.starts_with("\\x")
}

impl Name<'_> {
    /// Returns the text in a literal that is more than quotes, where one begins.
    pub(super) fn literal(&self, from: usize) -> Option<Range<usize>> {
        let mut at = from;
        for _ in 0..CALLS {
            let Some(length) = call(self.text.get(at..)?) else { break };
            at = self.skip_space(at + length);
            let next = escaped::line_end(self.text.get(at..)?);
            at = next.map_or(at, |length| self.skip_space(at + length));
        }
        let length = prefix(self.text.get(at..)?);
        if at + length == from {
            return None;
        }
        let inner = escaped::quoted(self.text, at + length)?;
        let letters = self.text.get(at..at + length)?;
        (!is_pattern(letters, self.text.get(inner.clone())?)).then_some(inner)
    }

    /// The same, also where it is no more than quotes.
    pub(super) fn written(&self, from: usize) -> Option<Range<usize>> {
        escaped::quoted(self.text, from).or_else(|| self.literal(from))
    }

    /// Whether the text in such a literal is secret.
    pub(super) fn is_secret_literal(&self, inner: &Range<usize>, is_assigned: bool) -> bool {
        // The tokens of a language stand in constructors as well.
        let is_likely =
            |value: &str| is_strong(value) || (value.len() >= LONG && !is_identifier(value));
        self.is_quoted_secret(inner, is_assigned)
            && !self.is(inner, is_escaped)
            && (self.is_password() || self.is(inner, is_likely))
    }

    /// Returns the place after the brackets of an array that is declared.
    pub(super) fn after_brackets(&self, at: usize) -> usize {
        let after = || {
            let inside = self.text.get(at..)?.strip_prefix('[').filter(|_| !self.is_quoted)?;
            let inside = inside.get(..inside.floor_char_boundary(LENGTH))?;
            let (length, _) = inside.split_once(']')?;
            let of_length = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ');
            let end = self.skip_space(at + length.len() + 2);
            // Such as the macro that puts it into a part of the memory.
            let rest = self.text.as_bytes().get(end..)?;
            let upper = |byte: &&u8| byte.is_ascii_uppercase() || **byte == b'_';
            let end = self.skip_space(end + rest.iter().take(SPACE).take_while(upper).count());
            let is_assigned = self.text.get(end..)?.starts_with('=');
            (is_assigned && length.bytes().all(of_length)).then_some(end)
        };
        after().unwrap_or(at)
    }

    /// `name("value")`, `name string = "value"`, `#define NAME "value"`, `name || "value"`, `:name "value"`.
    pub(super) fn declared(&self, at: usize) -> Option<Range<usize>> {
        let rest = self.text.get(at..).filter(|_| !self.is_quoted)?;
        let head = self.line_before().trim_start_matches(CHANGED).trim();
        let words = head.trim_end_matches("define").trim_end();
        let is_macro = words.len() < head.len() && words.ends_with('#');
        let name = self.text.get(self.place.clone())?;
        let begins = rest.starts_with(['(', '{']) && at == self.end;
        let (from, is_sure) = if begins && names::is_apart(name) {
            (at + 1, false)
        } else if let Some(mark) = ELSE.iter().find(|mark| rest.starts_with(**mark)) {
            (at + mark.len(), self.is_constant())
        } else if let Some(length) = kind(rest) {
            (self.skip_space(at + length), true)
        } else if at > self.end && is_macro {
            (at, true)
        } else if at > self.end && (head.ends_with(':') || self.is_header()) {
            (at, false)
        } else {
            return None;
        };
        let inner = self.written(from)?;
        let judge = match (self.is_password(), is_sure) {
            (true, true) => is_likely,
            (true, false) | (false, true) => is_likely_and_no_name,
            (false, false) => is_strong,
        };
        (inner.len() >= LEAST && self.is(&inner, judge)).then_some(inner)
    }

    /// Such as `X-Api-Key`.
    pub(super) fn is_header(&self) -> bool {
        let name = self.text.get(self.place.clone()).unwrap_or_default();
        name.starts_with("X-") || name.starts_with("x-")
    }

    /// Whether the last part of its path is in upper case, as names of variables of the environment are.
    pub(super) fn is_constant(&self) -> bool {
        let name = self.text.get(self.place.clone()).unwrap_or_default();
        let last = name.rsplit('.').next().unwrap_or_default();
        !last.bytes().any(|byte| byte.is_ascii_lowercase())
    }

    /// Whether it stands between the brackets of a key, as PHP prints it.
    pub(super) fn is_printed(&self) -> bool {
        !self.is_quoted && self.text.get(..self.place.start).is_some_and(|it| it.ends_with('['))
    }

    /// `[name] => value`.
    pub(super) fn printed(&self, from: usize) -> Option<Range<usize>> {
        let judge: fn(&str) -> bool = if self.is_password() {
            is_value
        } else {
            |value| is_likely_bare(value) && !is_identifier(value)
        };
        let ends = |char: char| char.is_whitespace() || char == '\\';
        let found = self.bare(from, ends, LEAST, judge)?;
        let after = self.text.get(found.end..)?;
        let is_end = after.is_empty() || after.starts_with(['\n', '\r', '\\']);
        is_end.then_some(found)
    }
}

/// Returns the length of a type of texts and the sign after it.
fn kind(text: &str) -> Option<usize> {
    const KINDS: [&str; 4] = ["string", "[]byte", "varchar", "nvarchar"];
    let begin = text.get(..text.floor_char_boundary(SPACE))?;
    let (kind, _) = begin.split_once('=')?;
    let bare = kind.trim_end().split('(').next()?;
    (KINDS.contains(&bare.to_ascii_lowercase().as_str())).then_some(kind.len() + 1)
}

/// Returns the length of the rest of a key after a name, up to its bracket, as PHP prints it.
pub(super) fn key_end(text: &str) -> usize {
    let begin = text.get(..text.floor_char_boundary(SPACE)).unwrap_or_default();
    let Some((inside, _)) = begin.split_once(']') else { return 0 };
    let is_end = inside.is_empty()
        || inside == ":protected"
        || (inside.starts_with(':') && inside.ends_with(":private"));
    if is_end { inside.len() + 1 } else { 0 }
}
