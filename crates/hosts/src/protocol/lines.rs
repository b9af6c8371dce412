//! Incoming requests: lines of limited length, whose JSON is mended where necessary.

use std::io::{self, BufRead};

use callstack_core::json;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::wire::Request;

/// The longest line that is accepted, in bytes. The first `sync` of a session is as long as the request to the model
/// that it corresponds to, and providers take 50 MB at most, however many images it has.
pub(super) const LONGEST: usize = 64 << 20;
/// Bytes that are kept of a longer one: they contain the request's id and its session.
const HEAD: usize = 1024;

/// Makes the JSON that replaces something that is no message.
type StandIn<'f> = dyn Fn(&[u8]) -> String + 'f;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// The beginning of one that is longer than is taken.
    TooLong {
        head: Vec<u8>,
        bytes: u64,
    },
}

/// Reads the next line without its end; none at the end of the input. A line that is too long is skipped, and not
/// kept in memory.
pub(super) fn next(mut input: impl BufRead, longest: usize) -> io::Result<Option<Line>> {
    let (mut line, mut bytes) = (Vec::new(), 0_u64);
    loop {
        let found = match input.fill_buf() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = found.iter().position(|byte| *byte == b'\n');
        let text = &found[..end.unwrap_or(found.len())];
        let is_last = end.is_some() || found.is_empty();
        let read = text.len() + usize::from(end.is_some());
        bytes += text.len() as u64;
        if line.len() + text.len() <= longest && bytes <= longest as u64 {
            line.extend_from_slice(text);
        } else if line.len() < HEAD {
            line.extend(text.iter().take(HEAD - line.len()));
        } else {
            line.truncate(HEAD);
            line.shrink_to_fit();
        }
        input.consume(read);
        if !is_last {
            continue;
        }
        return Ok(match (end, bytes) {
            (None, 0) => None,
            _ if bytes > longest as u64 => Some(Line::TooLong { head: line, bytes }),
            _ => Some(Line::Whole(line)),
        });
    }
}

/// Returns the session of a request, which may be cut off.
pub(super) fn session_of(line: &[u8]) -> Option<String> {
    let session = json::begun(json::begun(line, "params")?, "session")?;
    serde_json::from_slice(session).ok()
}

/// The id of a request that can't be read.
pub(super) fn id_of(line: &[u8]) -> Option<u64> {
    serde_json::from_slice(json::begun(line, "id")?).ok()
}

/// Reads a request. Where the line is no JSON, `mended` holds the text that is read.
pub(super) fn request<'l>(
    line: &'l [u8],
    mended: &'l mut String,
    stand_in: &StandIn<'_>,
) -> Result<Request<'l>, serde_json::Error> {
    let refused = match serde_json::from_slice(line) {
        Ok(request) => return Ok(request),
        Err(refused) => refused,
    };
    let Some(text) = object(line, "params", |params| messages_mended(params, stand_in)) else {
        return Err(refused);
    };
    *mended = text;
    serde_json::from_str(mended)
}

/// Reads the parameters of a request, mended if need be.
pub(super) fn params<T: DeserializeOwned>(params: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(params).or_else(|refused| {
        let text = object(params.as_bytes(), "", |_| None).ok_or(refused)?;
        serde_json::from_str(&text)
    })
}

/// Reads parameters with messages, which stay as they came. Where the rest has to be mended, `mended` holds it.
pub(super) fn params_with_messages<'l, T: Deserialize<'l>>(
    params: &'l str,
    mended: &'l mut String,
    stand_in: &StandIn<'_>,
) -> Result<T, serde_json::Error> {
    let refused = match serde_json::from_str(params) {
        Ok(read) => return Ok(read),
        Err(refused) => refused,
    };
    let Some(text) = messages_mended(params.as_bytes(), stand_in) else { return Err(refused) };
    *mended = text;
    serde_json::from_str(mended)
}

/// Returns the parameters with every field mended, and a stand-in for every message that is no JSON.
fn messages_mended(params: &[u8], stand_in: &StandIn<'_>) -> Option<String> {
    object(params, "messages", |messages| {
        let messages = json::elements(messages)?.into_iter().map(|raw| {
            let whole = std::str::from_utf8(raw).ok();
            let whole = whole.filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
            match whole {
                Some(text) => text.to_owned(),
                None => stand_in(raw),
            }
        });
        Some(format!("[{}]", messages.collect::<Vec<_>>().join(",")))
    })
}

/// Returns an object with all its fields mended, each once, except that `special` makes the one called `name`, if it
/// can.
fn object(object: &[u8], name: &str, special: impl Fn(&[u8]) -> Option<String>) -> Option<String> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for (key, value) in json::fields(object)? {
        let key = json::mended(&format!("\"{}\"", String::from_utf8_lossy(key))).into_owned();
        let is_special = key == format!("\"{name}\"");
        let made = if is_special { special(value) } else { None };
        let value =
            made.unwrap_or_else(|| json::mended(&String::from_utf8_lossy(value)).into_owned());
        fields.retain(|(known, _)| *known != key);
        fields.push((key, value));
    }
    let fields = fields.into_iter().map(|(key, value)| format!("{key}:{value}"));
    Some(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")))
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
