//! Repairs JSON that is well formed but that strict parsers refuse: unpaired surrogates, numbers out of range, nesting
//! that is too deep. Also splits JSON text into fields and elements without parsing it.

use std::borrow::Cow;

use memchr::memchr2;

/// The depth from which on nested values are left out: readers take 128 levels, and the JSON around a message adds
/// some.
pub const DEPTH: usize = 100;

/// The field of a stored message with its unreadable parts, or with all of it where it could not be read as it came.
pub const UNREADABLE: &str = "unreadable";

/// Stands for a value that stands too deep in others.
const TOO_DEEP: &str = "\"…\"";
/// Stands for a number that is none a machine holds.
const NO_NUMBER: &str = "null";
/// Stands for half a character.
const NO_CHARACTER: &str = "\\ufffd";
/// An escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// Returns a number of tokens as a provider or a host reported it; 0 where it is none. No call has more than some
/// millions: sums of any reports are counts again.
pub fn token_count(value: &serde_json::Value) -> u64 {
    counted(value.as_u64())
}

/// Returns the same of a number that was read; 0 where none was reported.
pub fn counted(reported: Option<u64>) -> u64 {
    reported.unwrap_or_default().min(u32::MAX.into())
}

/// Returns the text with all that a strict reader refuses replaced: half a character by U+FFFD, a number out of every
/// range by `null`, a value that is too deep by a mark, a bare control character by a space. A text without any of
/// these is returned unchanged, and so is one that is no JSON.
pub fn mended(text: &str) -> Cow<'_, str> {
    let mut mender = Mender { text, out: None, copied: 0 };
    let (bytes, mut at, mut depth) = (text.as_bytes(), 0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => mender.string(at),
            b'[' | b'{' if depth == DEPTH => {
                let end = value_end(bytes, at).unwrap_or(bytes.len());
                mender.replace(at, end, TOO_DEEP);
                end
            }
            b'[' | b'{' => {
                depth += 1;
                at + 1
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            b'-' | b'0'..=b'9' => {
                let end = scalar_end(bytes, at);
                let number = &text[at..end];
                if number.parse::<f64>().is_ok_and(f64::is_infinite) {
                    mender.replace(at, end, NO_NUMBER);
                }
                end
            }
            _ => at + 1,
        };
    }
    mender.finish()
}

struct Mender<'a> {
    text: &'a str,
    /// The mended text up to `copied`; none while nothing had to be mended.
    out: Option<String>,
    copied: usize,
}

impl<'a> Mender<'a> {
    fn replace(&mut self, from: usize, to: usize, by: &str) {
        let out = self.out.get_or_insert_default();
        out.push_str(&self.text[self.copied..from]);
        out.push_str(by);
        self.copied = to;
    }

    /// Mends the string that begins at a place; returns the place after it.
    fn string(&mut self, quote: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = quote + 1;
        while let Some(byte) = bytes.get(at) {
            at += match byte {
                b'"' => return at + 1,
                b'\\' => match surrogate(bytes, at) {
                    Some(Half::High) if surrogate(bytes, at + ESCAPE) == Some(Half::Low) => {
                        2 * ESCAPE
                    }
                    Some(_) => {
                        self.replace(at, at + ESCAPE, NO_CHARACTER);
                        ESCAPE
                    }
                    // A character of several bytes after a backslash is no JSON, but still a character.
                    None => 1 + self.text[at + 1..].chars().next().map_or(0, char::len_utf8),
                },
                0..0x20 => {
                    self.replace(at, at + 1, " ");
                    1
                }
                _ => 1,
            };
        }
        bytes.len()
    }

    fn finish(self) -> Cow<'a, str> {
        let Some(mut out) = self.out else { return self.text.into() };
        out.push_str(&self.text[self.copied..]);
        out.into()
    }
}

#[derive(PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// Returns the half of a character that the escape at a place stands for.
fn surrogate(bytes: &[u8], at: usize) -> Option<Half> {
    let escape = bytes.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    if !escape.iter().all(u8::is_ascii_hexdigit) || !matches!(escape[0], b'd' | b'D') {
        return None;
    }
    match escape[1].to_ascii_lowercase() {
        b'8' | b'9' | b'a' | b'b' => Some(Half::High),
        b'c'..=b'f' => Some(Half::Low),
        _ => None,
    }
}

/// Returns the fields of an object, keys and values as they stand in the text. None if it is no object, or
/// is broken off.
pub fn fields(object: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut found = Vec::new();
    let mut at = after_space(object, opened(object, b'{')?);
    while object.get(at)? != &b'}' {
        let (key, from) = key_at(object, at)?;
        let to = value_end(object, from)?;
        found.push((key, &object[from..to]));
        at = separated(object, to, b'}')?;
    }
    Some(found)
}

/// Returns the value of the first field of this name in an object. Both may be broken off.
pub fn begun<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut at = after_space(object, opened(object, b'{')?);
    loop {
        let (key, from) = key_at(object, at)?;
        let to = value_end(object, from);
        if key == name.as_bytes() {
            return object.get(from..to.unwrap_or(object.len()));
        }
        at = separated(object, to?, b'}')?;
    }
}

/// The key at a place, and the place of its value.
fn key_at(object: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let key_end = value_end(object, at).filter(|_| object[at] == b'"')?;
    let colon = after_space(object, key_end);
    let from = after_space(object, colon + usize::from(object.get(colon)? == &b':'));
    Some((&object[at + 1..key_end - 1], from))
}

/// Returns the elements of an array as they stand in the text. None if it is no array, or is broken off.
pub fn elements(array: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    let mut at = after_space(array, opened(array, b'[')?);
    while array.get(at)? != &b']' {
        let to = value_end(array, at)?;
        found.push(&array[at..to]);
        at = separated(array, to, b']')?;
    }
    Some(found)
}

fn opened(text: &[u8], bracket: u8) -> Option<usize> {
    let at = after_space(text, 0);
    (*text.get(at)? == bracket).then_some(at + 1)
}

/// Returns the place after a value and its comma in a list, or of the bracket that ends it.
fn separated(text: &[u8], value_end: usize, bracket: u8) -> Option<usize> {
    let at = after_space(text, value_end);
    match text.get(at)? {
        b',' => Some(after_space(text, at + 1)),
        byte if *byte == bracket => Some(at),
        _ => None,
    }
}

fn after_space(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// Returns the place after the value that begins at a place, at least one byte further on. None if the text ends
/// within the value, or there is none.
fn value_end(text: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut depth) = (from, 0_usize);
    loop {
        at = match text.get(at)? {
            b'"' => string_end(text, at)?,
            b'[' | b'{' => {
                depth += 1;
                at + 1
            }
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                at + 1
            }
            b',' | b':' if depth == 0 => return None,
            _ if depth == 0 => scalar_end(text, at),
            _ => at + 1,
        };
        if depth == 0 {
            return Some(at);
        }
    }
}

fn string_end(text: &[u8], quote: usize) -> Option<usize> {
    let mut at = quote + 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The place after a number, `true`, `false` or `null`: at least one byte after its beginning.
fn scalar_end(text: &[u8], from: usize) -> usize {
    let ends = |byte: &u8| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    let rest = text.get(from + 1..).unwrap_or_default();
    from + 1 + rest.iter().position(ends).unwrap_or(rest.len())
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
