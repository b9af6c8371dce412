//! Decodes anything that stands where a message should. Something that is no message at all is replaced by a message
//! that holds it.

use std::borrow::Cow;
use std::path::Path;

use callstack_core::stored::{beginning, with_bytes, without_message};
use callstack_core::transcript::{Message, MessageKind, Part, PartBody, Role};
use callstack_engine::HostMessage;
use sha2::{Digest as _, Sha256};

use super::decode;

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
            shown.json = with_bytes(&text, &hex(raw)).unwrap_or(shown.json);
            shown
        }
        None => opaque(&text, raw),
    }
}

/// Returns a text for every reader, with U+FFFD in place of bytes that are no UTF-8.
fn text_of(raw: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(raw)
}

/// Returns a message of which at most the id and the author are known, and which holds the original.
fn opaque(text: &str, raw: &[u8]) -> HostMessage {
    let (id, role) = beginning(raw);
    let made = || format!("unreadable_{}", &hex(&Sha256::digest(raw))[..ID]);
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(made);
    let role = role.unwrap_or_default();
    let stands_for = without_message(&id, Some(&role), text);
    // A part that may be the user's stays where it is.
    let said = PartBody::Text { synthetic: false, chars: raw.len(), head: String::new() };
    let (role, body) = match role.as_str() {
        "user" => (Role::User, said),
        _ => (Role::Assistant, PartBody::Other),
    };
    let parts = vec![Part { id: String::new(), body }];
    let message = Message { id, role, standing: MessageKind::Normal, parts };
    let is_text = text.as_bytes() == raw;
    let body = if is_text { None } else { with_bytes(&stands_for, &hex(raw)) };
    HostMessage::of(message, body.unwrap_or(stands_for))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
