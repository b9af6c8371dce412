//! Detects the program that wrote a file from its content.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use callstack_plain_files as plain;
use serde_json::value::RawValue;

use super::lines::{self, without_mark};
use super::{Format, RecordingError};

/// Lines among which the first one that identifies its program is looked for: an agent may begin with bookkeeping,
/// and a file that was cut at its beginning with half a line.
const LINES: usize = 200;

/// Bytes of a file's beginning that are read to detect its kind.
const HEAD: usize = 8 * 1024;

/// Kinds of files that are no session but hold frames.
pub(super) const OTHER_JSON: &str = "JSON of another program";
pub(super) const HALF_JSON: &str = "JSON that is cut off or damaged";

type Fields<'a> = HashMap<String, &'a RawValue>;

/// The kind of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The program that wrote it.
    pub(super) format: Format,
    /// Whether it is one document, not a line for each record.
    pub(super) is_document: bool,
}

/// Tells which program wrote a file.
pub(super) fn detect(path: &Path) -> Result<Found, RecordingError> {
    let io = |source| RecordingError::Io { path: path.to_owned(), source };
    let unknown = |found| RecordingError::Unknown { path: path.to_owned(), found };
    let mut file = BufReader::with_capacity(HEAD, plain::open_named(path).map_err(io)?);
    let head = file.fill_buf().map_err(io)?.to_vec();
    if is_utf16(&head) {
        return Err(RecordingError::Utf16(path.to_owned()));
    }
    let head = without_mark(&head).trim_ascii_start();
    if head.is_empty() {
        return Err(RecordingError::Empty(path.to_owned()));
    }
    if head.contains(&0) {
        return Err(unknown("a binary file"));
    }
    let first = first_line_of_many(&mut file).map_err(io)?;
    if let Some(found) = first.found {
        return Ok(found);
    }
    if !head.starts_with(b"{") {
        return Err(unknown(if first.objects > 0 { OTHER_JSON } else { "no JSON" }));
    }
    if first.is_object == Some(true) {
        return Err(unknown(OTHER_JSON));
    }
    // Lines of a document may be objects too, such as empty ones.
    let bytes = plain::read_named(path).map_err(io)?;
    let text = String::from_utf8_lossy(without_mark(&bytes));
    match serde_json::from_str::<Fields<'_>>(&text) {
        Ok(fields) => of_document(&fields).ok_or_else(|| unknown(OTHER_JSON)),
        Err(source) if begins_like_a_session(head) => {
            Err(RecordingError::Damaged { path: path.to_owned(), source })
        }
        Err(_) if first.objects > 0 => Err(unknown(OTHER_JSON)),
        Err(_) => Err(unknown(HALF_JSON)),
    }
}

/// Whether a text is in UTF-16, by its mark or by how a JSON object begins in it.
fn is_utf16(head: &[u8]) -> bool {
    matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'{', 0, ..] | [0, b'{', ..])
}

#[derive(Default)]
struct First {
    found: Option<Found>,
    /// How many lines were JSON objects.
    objects: usize,
    /// Whether the first line with anything in it was; none where there is none.
    is_object: Option<bool>,
}

fn first_line_of_many(file: &mut impl BufRead) -> io::Result<First> {
    let mut first = First::default();
    let mut line = Vec::new();
    for _ in 0..LINES {
        if lines::next(file, &mut line)?.is_none() {
            break;
        }
        let line = without_mark(&line).trim_ascii();
        let line = String::from_utf8_lossy(line);
        let fields = serde_json::from_str::<Fields<'_>>(&line).ok();
        if !line.is_empty() {
            first.is_object.get_or_insert(fields.is_some());
        }
        let Some(fields) = fields else { continue };
        first.objects += 1;
        let of_line = of_line(&fields).map(|format| Found { format, is_document: false });
        first.found = of_line.or_else(|| of_document(&fields));
        if first.found.is_some() {
            break;
        }
    }
    Ok(first)
}

fn of_line(fields: &Fields<'_>) -> Option<Format> {
    let has = |names: &[&str]| names.iter().all(|name| fields.contains_key(*name));
    let kind = fields.get("type").map_or("", |kind| kind.get().trim_matches('"'));
    match kind {
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
            if has(&["payload"]) =>
        {
            Some(Format::Codex)
        }
        "session" if has(&["id", "cwd"]) => Some(Format::Pi),
        "message" if has(&["parentId", "message"]) => Some(Format::Pi),
        "summary" if has(&["leafUuid"]) => Some(Format::ClaudeCode),
        "file-history-snapshot" if has(&["snapshot"]) => Some(Format::ClaudeCode),
        "" if has(&["id", "timestamp", "instructions"]) => Some(Format::Codex),
        "" => None,
        _ if has(&["sessionId"]) || has(&["uuid", "parentUuid"]) => Some(Format::ClaudeCode),
        _ => None,
    }
}

fn of_document(fields: &Fields<'_>) -> Option<Found> {
    let begins = |name: &str, with| fields.get(name).is_some_and(|it| it.get().starts_with(with));
    let format = if begins("info", '{') && begins("messages", '[') {
        of_messages(fields)?
    } else if begins("trajectory", '[') {
        Format::SweAgent
    } else if begins("session", '{') && begins("items", '[') {
        Format::Codex
    } else {
        return None;
    };
    Some(Found { format, is_document: true })
}

/// Detects the format of a file with messages, which many programs have, by their shape.
fn of_messages(fields: &Fields<'_>) -> Option<Format> {
    let messages: Vec<&RawValue> = serde_json::from_str(fields.get("messages")?.get()).ok()?;
    let objects = messages.iter().filter_map(|raw| serde_json::from_str(raw.get()).ok());
    let first: Option<Fields<'_>> = objects.take(1).next();
    let Some(first) = first else { return Some(Format::OpenCode) };
    let info: Fields<'_> = serde_json::from_str(fields.get("info")?.get()).ok()?;
    let says_so =
        fields.get("trajectory_format").is_some_and(|it| it.get().contains("mini-swe-agent"));
    let of_old = ["model_stats", "mini_version"].iter().any(|name| info.contains_key(*name));
    if first.contains_key("info") {
        Some(Format::OpenCode)
    } else {
        (first.contains_key("role") && (says_so || of_old)).then_some(Format::MiniSweAgent)
    }
}

fn begins_like_a_session(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let has = |name: &str| head.contains(&format!("\"{name}\""));
    has("info") || has("trajectory") || has("environment") || has("session") && has("items")
}
