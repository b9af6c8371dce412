//! Files of JSON lines: each line with its bytes, as they came.

use std::borrow::Cow;
use std::io::{self, BufRead, Read as _};

use callstack_core::json::mended;
use serde_json::Value;

use super::Skipped;

/// Bytes without the mark at their beginning that says that they are UTF-8: some editors and shells put one
/// there.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// How records are counted that are not all in UTF-8.
const NO_CHARACTERS: &str = "bytes that are no characters, read as U+FFFD";

/// Reads a record. Values that strict readers refuse, such as half an emoji, are replaced; the record itself is kept
/// as it is.
pub(super) fn value(record: &str) -> serde_json::Result<Value> {
    serde_json::from_str(record)
        .or_else(|error| serde_json::from_str(&mended(record)).map_err(|_| error))
}

/// Bytes of the longest line that is read: a line takes some ten times its length in memory.
const LONGEST: u64 = 64 * 1024 * 1024;

/// How longer lines are counted.
const TOO_LONG: &str = "of more than 64 MB";

/// Reads the next line into `bytes`, in place of what is there, and passes over what is beyond the longest one.
/// Returns whether all of it is there; none at the end of the file.
pub(super) fn next(from: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Option<bool>> {
    bytes.clear();
    if from.by_ref().take(LONGEST).read_until(b'\n', bytes)? == 0 {
        return Ok(None);
    }
    let is_whole = bytes.ends_with(b"\n") || (bytes.len() as u64) < LONGEST;
    if !is_whole {
        from.skip_until(b'\n')?;
    }
    Ok(Some(is_whole))
}

/// Goes through a file line by line, without ever having all of it in memory. A line that is no JSON
/// object, or too long, is counted and passed over.
pub(super) fn each(
    mut from: impl BufRead,
    skipped: &mut Skipped,
    mut line: impl FnMut(String, Value),
) -> io::Result<()> {
    let mut bytes = Vec::new();
    while let Some(is_whole) = next(&mut from, &mut bytes)? {
        if !is_whole {
            skipped.count(TOO_LONG);
            continue;
        }
        let text = without_mark(&bytes).trim_ascii();
        if text.is_empty() {
            continue;
        }
        let text = String::from_utf8_lossy(text);
        let is_whole = matches!(text, Cow::Borrowed(_));
        match value(&text) {
            Ok(value) if value.is_object() => {
                if !is_whole {
                    skipped.count(NO_CHARACTERS);
                }
                line(text.into_owned(), value);
            }
            _ => skipped.unreadable += 1,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_counted_and_the_next_one_read() {
        let long = b"{\"a\":\"".chain(io::repeat(b'a').take(LONGEST)).chain(&b"\"}\n"[..]);
        let file = b"{\"first\":1}\n".chain(long).chain(&b"{\"last\":1}"[..]);
        let (mut skipped, mut read) = (Skipped::default(), Vec::new());
        each(BufReader::new(file), &mut skipped, |raw, _| read.push(raw)).unwrap();
        assert_eq!(read, ["{\"first\":1}", "{\"last\":1}"]);
        assert_eq!(skipped.kinds.get(TOO_LONG), Some(&1));
        assert_eq!(skipped.unreadable, 0);
    }
}
