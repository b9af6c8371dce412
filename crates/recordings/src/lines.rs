//! Files of JSON lines: each line with its bytes, as they came.

use std::borrow::Cow;
use std::io::{self, BufRead};

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

/// Goes through a file line by line, without ever having all of it in memory. A line that is no JSON
/// object is counted and passed over.
pub(super) fn each(
    mut from: impl BufRead,
    skipped: &mut Skipped,
    mut line: impl FnMut(String, Value),
) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if from.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(());
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
}
