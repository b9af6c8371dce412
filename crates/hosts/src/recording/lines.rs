//! Files of JSON lines: each line with its bytes, as they came.

use std::io::{self, BufRead};

use serde_json::Value;

use super::Skipped;

/// Bytes without the mark at their beginning that says that they are UTF-8: some editors and shells put one
/// there.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
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
        let read = std::str::from_utf8(text).ok();
        match read.and_then(|text| Some((text, serde_json::from_str::<Value>(text).ok()?))) {
            Some((text, value)) if value.is_object() => line(text.to_owned(), value),
            _ => skipped.unreadable += 1,
        }
    }
}
