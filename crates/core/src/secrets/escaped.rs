//! Quotes, signs and ends of lines as they are written in a text that stands in another one: in JSON, XML, a URL, and
//! colours of a terminal.

use std::borrow::Cow;
use std::ops::Range;

/// Bytes of a value between quotes.
const QUOTED: usize = 16_384;
/// The most backslashes before a quote, for a text in a text in a text.
const DEPTH: usize = 7;

const QUOTES: [&str; 16] = [
    "&quot;",
    "&apos;",
    "&#34;",
    "&#39;",
    "&#x22;",
    "&#x27;",
    "&#039;",
    "&amp;quot;",
    "&amp;apos;",
    "&amp;#34;",
    "&amp;#39;",
    "\\u0022",
    "\\u0027",
    "\\\\u0022",
    "%22",
    "%27",
];

/// The beginnings of a sequence that sets a colour, as they are and as they are written.
const COLOURS: [&str; 9] =
    ["\u{1b}[", "\\u001b[", "\\u001B[", "\\x1b[", "\\x1B[", "\\033[", "\\e[", "%1B[", "%1b["];
/// Bytes of the numbers in such a sequence.
const NUMBERS: usize = 24;

/// A pattern that matches where a word begins, also right after an escape.
macro_rules! word {
    ($pattern:expr) => {
        concat!(
            r"(?:(?-u:\b)|\\[nrt]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\[[0-9;]*[mK])",
            $pattern
        )
    };
}
pub(super) use word;

/// Whether a text ends with an escape, such as `\n`, `%2F` or a colour: its last letter is of no word.
pub(super) fn is_at_end(text: &[u8]) -> bool {
    let is_hex = |digits: &[&u8]| digits.iter().all(|digit| digit.is_ascii_hexdigit());
    match text {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', one, two] | [.., b'\\', b'x', one, two] if is_hex(&[one, two]) => true,
        [.., b'\\', b'u', one, two, three, four] if is_hex(&[one, two, three, four]) => true,
        [begin @ .., last] if last.is_ascii_alphabetic() => {
            let of_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
            let numbers = begin.iter().rev().take(NUMBERS).take_while(of_number).count();
            let begin = begin.get(..begin.len() - numbers).unwrap_or_default();
            COLOURS.iter().any(|colour| begin.ends_with(colour.as_bytes()))
        }
        _ => false,
    }
}

/// Returns the length of the rest of an escape in a text that began before a place.
pub(super) fn rest(text: &[u8], at: usize) -> usize {
    const LONGEST: usize = 5;
    let begins = |byte: &u8| matches!(byte, b'\\' | b'%' | b'[' | b';');
    if !text.get(..at).and_then(<[u8]>::last).is_some_and(begins) {
        return 0;
    }
    let is_rest = |length: &usize| text.get(..at + length).is_some_and(is_at_end);
    (1..=LONGEST).find(is_rest).unwrap_or_default()
}

/// Returns the length of the colours that a text begins with.
pub(super) fn colours(text: &str) -> usize {
    const MOST: usize = 4;
    let mut rest = text;
    for _ in 0..MOST {
        let Some(numbers) = COLOURS.iter().find_map(|colour| rest.strip_prefix(colour)) else {
            break;
        };
        let of_number = |char: char| char.is_ascii_digit() || char == ';';
        // The second one clears the rest of the line, as `grep` does after what it found.
        let Some(after) = numbers.trim_start_matches(of_number).strip_prefix(['m', 'K']) else {
            break;
        };
        rest = after;
    }
    text.len() - rest.len()
}

/// Returns a text without the colours in it.
pub(super) fn uncoloured(text: &str) -> Cow<'_, str> {
    if !text.contains('[') {
        return text.into();
    }
    let mut bare = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\u{1b}', '\\', '%']) {
        let (before, from) = rest.split_at(at);
        bare.push_str(before);
        // One letter at least, so that it goes on.
        let length = from.chars().next().map_or(0, char::len_utf8);
        let colours = colours(from);
        if colours == 0 {
            bare.push_str(from.get(..length).unwrap_or_default());
        }
        rest = from.get(length.max(colours)..).unwrap_or_default();
    }
    if rest.len() == text.len() {
        return text.into();
    }
    bare.push_str(rest);
    bare.into()
}

/// Returns the length of a text up to the colours that it ends with.
pub(super) fn before_colours(text: &str) -> usize {
    /// Bytes of the end in which they are looked for.
    const END: usize = 64;
    let begin = text.ceil_char_boundary(text.len().saturating_sub(END));
    let end = text.get(begin..).unwrap_or_default();
    let places = end.match_indices(['\u{1b}', '\\', '%']).map(|(at, _)| begin + at);
    let mut colours =
        places.filter(|at| text.get(*at..).is_some_and(|rest| colours(rest) == rest.len()));
    colours.next().unwrap_or(text.len())
}

/// The quote that a text begins with, as it is written there.
pub(super) fn quote(text: &str) -> Option<&str> {
    let written = QUOTES.iter().find(|quote| text.starts_with(**quote)).map(|quote| quote.len());
    let length = written.or_else(|| {
        let bytes = text.as_bytes();
        let escapes = bytes.iter().take(DEPTH).take_while(|byte| **byte == b'\\').count();
        matches!(bytes.get(escapes)?, b'"' | b'\'' | b'`').then_some(escapes + 1)
    });
    text.get(..length?)
}

/// The quote that a text ends with, as it is written there.
pub(super) fn quote_at_end(text: &str) -> Option<&str> {
    if let Some(quote) = QUOTES.iter().find(|quote| text.ends_with(**quote)) {
        return text.get(text.len() - quote.len()..);
    }
    let bare = text.strip_suffix(['"', '\'', '`'])?;
    let escapes = bare.bytes().rev().take(DEPTH).take_while(|byte| *byte == b'\\').count();
    text.get(bare.len() - escapes..)
}

/// Returns the text between two quotes from a place on. It may be cut at the end of the text.
pub(super) fn quoted(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let mark = quote(rest)?;
    let from = at + mark.len();
    let inside = rest.get(mark.len()..)?;
    let cut = inside.floor_char_boundary(QUOTED);
    let (inside, is_all) = (inside.get(..cut)?, cut == inside.len());
    let escapes = mark.bytes().take_while(|byte| *byte == b'\\').count();
    let is_plain = mark.len() == escapes + 1;
    let bytes = inside.as_bytes();
    let mut place = 0;
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'\n' | b'\r' => return None,
            b'\\' if is_plain => {
                let rest = bytes.get(place..).unwrap_or_default();
                let length = rest.iter().take_while(|byte| **byte == b'\\').count();
                let is_mark = rest.get(length) == mark.as_bytes().last();
                if is_mark && length <= escapes && escapes > 0 {
                    return Some(from..from + place + length - length.min(escapes));
                }
                // An odd number of them at a quote that has none escapes it.
                place += length + usize::from(is_mark && length % 2 == 1);
            }
            _ if inside.get(place..).is_some_and(|rest| rest.starts_with(mark)) => {
                return Some(from..from + place);
            }
            _ => place += 1,
        }
    }
    let end = inside.find(char::is_whitespace).unwrap_or(inside.len());
    is_all.then_some(from..from + end)
}

/// The sign between a name and its value that a text begins with, whether it is one that assigns, and its length.
pub(super) fn sign(text: &str) -> Option<(char, usize)> {
    const SIGNS: [(&str, char); 15] = [
        ("=>", '='),
        ("=&gt;", '='),
        (":=", '='),
        ("?=", '='),
        ("+=", '='),
        ("\\u003d", '='),
        ("&#61;", '='),
        ("%3D", '='),
        ("%3d", '='),
        ("%3A", ':'),
        ("%3a", ':'),
        ("\\u003a", ':'),
        ("&#58;", ':'),
        ("=", '='),
        (":", ':'),
    ];
    if text.starts_with("==") || text.starts_with("::") {
        return None;
    }
    let (sign, kind) = SIGNS.iter().find(|(sign, _)| text.starts_with(*sign))?;
    Some((*kind, sign.len()))
}

/// Returns the distance to the next line where this one ends, also after the mark of a block value.
pub(super) fn line_end(text: &str) -> Option<usize> {
    const MARKS: [&str; 7] = ["", "|-", "|", ">-", ">", "\\", "("];
    const ENDS: [&str; 4] = ["\n", "\r\n", "\\n", "\\r\\n"];
    MARKS.iter().find_map(|mark| {
        let rest = text.strip_prefix(mark)?;
        ENDS.iter().find(|end| rest.starts_with(**end)).map(|end| mark.len() + end.len())
    })
}

/// Returns where the line ends that a text begins with, together with the lines that a backslash continues it by.
pub(super) fn command_end(text: &str) -> Option<usize> {
    let mut ends = text.match_indices('\n').map(|(at, _)| at);
    ends.find(|end| {
        !text.get(..*end).is_some_and(|line| line.trim_end_matches('\r').ends_with('\\'))
    })
}
