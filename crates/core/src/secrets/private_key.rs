//! Private keys between the lines that frame them.
//!
//! Code that reads or writes keys names these lines, too: it is a key only where letters as in a key follow right
//! after the first line. Where the last line is missing, the key ends with these letters.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

pub(super) const NAME: &str = "private key";
const SIGN: &str = "PRIVATE KEY";
/// The first line of a key and the last one.
pub(super) const MARK: &str = r"-----(BEGIN|END) (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";

/// Fewest letters in a row that are of a key.
const RUN: usize = 40;
/// Bytes between its first line and them, and between two rows of them: headers, quotes, numbers of lines.
const APART: usize = 400;
const BETWEEN: usize = 80;

static MARKS: OnceLock<Regex> = OnceLock::new();

/// Returns the places of private keys in a text.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    if !text.contains(SIGN) {
        return Vec::new();
    }
    let marks = MARKS.get_or_init(|| super::compiled(MARK)).captures_iter(text);
    let marks: Vec<_> = marks
        .filter_map(|mark| Some((mark.get(0)?.range(), mark.get(1)?.as_str() == "BEGIN")))
        .collect();
    let place = |(at, (mark, begins)): (usize, &(Range<usize>, bool))| {
        let next = marks.get(at + 1);
        let inside = text.get(mark.end..next.map_or(text.len(), |(next, _)| next.start))?;
        let length = body(inside).filter(|_| *begins)?;
        let end = next.filter(|(_, begins)| !begins).map(|(last, _)| last.end);
        Some(mark.start..end.unwrap_or(mark.end + length))
    };
    marks.iter().enumerate().filter_map(place).collect()
}

fn in_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Returns the length of the key in a text after a first line, in bytes; none where there is no key.
fn body(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = None;
    let mut at = 0;
    for run in bytes.split(|byte| !in_key(*byte)) {
        let (from, to) = (at, at + run.len());
        at = to + 1;
        let gap = from - end.unwrap_or_default();
        if gap > if end.is_some() { BETWEEN } else { APART } {
            break;
        }
        if is_of_key(run) {
            end = Some(to);
        }
    }
    let end = end?;
    Some(end + last_row(bytes.get(end..).unwrap_or_default()))
}

/// In both cases, as no path and no hash is.
fn is_of_key(run: &[u8]) -> bool {
    run.len() >= RUN
        && run.iter().any(u8::is_ascii_lowercase)
        && run.iter().any(u8::is_ascii_uppercase)
}

/// Returns the length of the row after the others, which is shorter than they are.
fn last_row(rest: &[u8]) -> usize {
    // The end of a line is written as two characters in texts within texts.
    let rows = [&b"\n"[..], b"\r\n", b"\\n", b"\\r\\n"];
    let Some(lead) = rows.iter().find(|lead| rest.starts_with(lead)) else { return 0 };
    let row = rest.get(lead.len()..).unwrap_or_default();
    let spaces = row.iter().take(BETWEEN).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let row = row.get(spaces..).unwrap_or_default();
    let length = row.iter().take_while(|byte| in_key(**byte)).count();
    let ends =
        row.get(length).is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'\\' | b'"' | b'\''));
    if length > 0 && ends { lead.len() + spaces + length } else { 0 }
}
