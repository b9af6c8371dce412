//! The lines of a client, as strict readers of JSON take them: an agent's words may end in half a character.

use std::io;

use callstack_core::json::{begun, mended};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader,
};

/// The longest line that is accepted, in bytes: far more than the longest arguments of an operation.
const LONGEST: usize = 16 << 20;
/// Bytes that are kept of a longer one: they contain the request's id.
const HEAD: usize = 1024;

/// The method that takes the place of a request's own where it can't be read. It has to be answered: the client waits.
pub(crate) const UNREADABLE: &str = "callstack/unreadable";

/// A line without its end; only the beginning if it is too long.
struct Line {
    bytes: Vec<u8>,
    is_whole: bool,
}

/// Passes lines on until there are no more. A line that can't be mended and is no request is left out.
pub(crate) async fn pass(
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    while let Some(line) = next(&mut input).await? {
        if let Some(mut line) = readable(&line) {
            line.push('\n');
            output.write_all(line.as_bytes()).await?;
            output.flush().await?;
        }
    }
    output.shutdown().await
}

/// Reads the next line; none at the end of the input.
async fn next(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Line>> {
    let mut line = Line { bytes: Vec::new(), is_whole: true };
    let mut is_begun = false;
    loop {
        let found = input.fill_buf().await?;
        if found.is_empty() {
            return Ok(is_begun.then_some(line));
        }
        is_begun = true;
        let end = found.iter().position(|byte| *byte == b'\n');
        let text = &found[..end.unwrap_or(found.len())];
        line.is_whole &= line.bytes.len() + text.len() <= LONGEST;
        if line.is_whole {
            line.bytes.extend_from_slice(text);
        } else {
            line.bytes.extend(text.iter().take(HEAD));
            line.bytes.truncate(HEAD);
            line.bytes.shrink_to_fit();
        }
        let read = text.len() + usize::from(end.is_some());
        input.consume(read);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

/// Returns a line in a readable form, or its replacement.
fn readable(line: &Line) -> Option<String> {
    if line.is_whole {
        let text = String::from_utf8_lossy(&line.bytes);
        let mended = mended(&text);
        if serde_json::from_str::<IgnoredAny>(&mended).is_ok() {
            return Some(mended.into_owned());
        }
    }
    let id: Value = serde_json::from_slice(begun(&line.bytes, "id")?).ok()?;
    let request = json!({"jsonrpc": "2.0", "id": id, "method": UNREADABLE});
    (id.is_string() || id.is_number()).then(|| request.to_string())
}
