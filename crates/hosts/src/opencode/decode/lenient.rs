//! Reads messages of an unusual shape. Each field is read by itself: a field of another type counts as missing, and
//! the rest of the message stays. Something that is no message at all is replaced by a message that holds it.

use std::borrow::Cow;
use std::path::Path;

use callstack_core::json::token_count;
use callstack_core::json::{self, UNREADABLE};
use callstack_core::transcript::{Message, MessageKind, Part, PartBody, Role};
use callstack_engine::HostMessage;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{Cache, Info, State, Tokens, Wire, WirePart, decode};

/// Characters of a made-up id.
const ID: usize = 16;

/// Decodes anything in the place of a message: as a message if it is one, else as a message without words that holds
/// it byte for byte.
pub(crate) fn decode_any(raw: &[u8], project: &Path) -> HostMessage {
    let text = text_of(raw);
    match decode(&text, project) {
        Some(shown) if matches!(text, Cow::Borrowed(_)) => shown,
        Some(mut shown) => {
            // The text is not the original, which is then kept beside it.
            shown.json = with_bytes(&text, raw).unwrap_or(shown.json);
            shown
        }
        None => opaque(&text, raw),
    }
}

/// Returns a text for every reader, with U+FFFD in place of bytes that are no UTF-8.
fn text_of(raw: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(raw)
}

/// Reads a message field by field; none without an object that names it.
pub(super) fn read(text: &str) -> Option<Wire> {
    let mut message: Map<String, Value> = serde_json::from_str(&json::mended(text)).ok()?;
    let parts = match message.remove("parts") {
        Some(Value::Array(parts)) => parts.into_iter().map(part).collect(),
        _ => Vec::new(),
    };
    let mut info = message.remove("info")?;
    let id = own_text(&info["id"]).filter(|id| !id.is_empty())?;
    let role = own_text(&info["role"]).unwrap_or_default();
    let tokens = Some(&info["tokens"]).filter(|tokens| tokens.is_object()).map(tokens);
    let mut taken = |name: &str| info[name].take();
    let (summary, finish, error) = (taken("summary"), taken("finish"), taken("error"));
    Some(Wire { info: Info { id, role, summary, finish, error, tokens }, parts })
}

fn tokens(tokens: &Value) -> Tokens {
    let count = token_count;
    let cache = &tokens["cache"];
    Tokens {
        input: count(&tokens["input"]),
        output: count(&tokens["output"]),
        cache: Cache { read: count(&cache["read"]), write: count(&cache["write"]) },
    }
}

fn part(mut part: Value) -> WirePart {
    if !part.is_object() {
        return WirePart::default();
    }
    let (mut state, metadata) = (part["state"].take(), part["metadata"].take());
    let text = |name: &str| own_text(&part[name]);
    WirePart {
        id: text("id").unwrap_or_default(),
        kind: text("type").unwrap_or_default(),
        text: text("text"),
        synthetic: part["synthetic"] == true,
        ignored: part["ignored"] == true,
        tool: text("tool"),
        call: text("callID"),
        state: state.is_object().then(|| State {
            status: own_text(&state["status"]).unwrap_or_default(),
            output: own_text(&state["output"]),
            error: own_text(&state["error"]),
            input: state["input"].take(),
            metadata: state["metadata"].take(),
            attachments: state["attachments"].take(),
            time: state["time"].take(),
        }),
        filename: text("filename"),
        mime: text("mime"),
        metadata,
    }
}

fn own_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Returns a message of which at most the id and the author are known, and which holds the original.
fn opaque(text: &str, raw: &[u8]) -> HostMessage {
    let known = |name: &str| {
        let value = json::begun(json::begun(raw, "info")?, name)?;
        serde_json::from_str::<String>(&json::mended(&text_of(value))).ok()
    };
    let made = || format!("unreadable_{}", &hex(&Sha256::digest(raw))[..ID]);
    let id = known("id").filter(|id| !id.is_empty()).unwrap_or_else(made);
    let role = known("role").unwrap_or_default();
    let part = json!({ "type": UNREADABLE, "text": text });
    let stands_for = json!({ "info": { "id": &id, "role": &role }, "parts": [part] }).to_string();
    // A part that may be the user's stays where it is.
    let said = PartBody::Text { synthetic: false, chars: raw.len(), head: String::new() };
    let (role, body) = match role.as_str() {
        "user" => (Role::User, said),
        _ => (Role::Assistant, PartBody::Other),
    };
    let parts = vec![Part { id: String::new(), body }];
    let message = Message { id, role, standing: MessageKind::Normal, parts };
    let body = if text.as_bytes() == raw { None } else { with_bytes(&stands_for, raw) };
    HostMessage::of(message, body.unwrap_or(stands_for))
}

/// Returns a message with its original bytes beside the part of them that can be read.
fn with_bytes(text: &str, raw: &[u8]) -> Option<String> {
    let mut message: Map<String, Value> = serde_json::from_str(&json::mended(text)).ok()?;
    message.insert(UNREADABLE.to_owned(), json!({ "hex": hex(raw) }));
    Some(Value::from(message).to_string())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
