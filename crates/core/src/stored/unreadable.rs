//! Messages that stand for something that is no message, or is no longer there.

use serde_json::{Map, Value, json};

use crate::json::{self, UNREADABLE, mended};

/// Returns a message with nothing but a text that can't be read as one, and what is known of it.
pub fn without_message(id: &str, author: Option<&str>, text: &str) -> String {
    let part = json!({ "type": UNREADABLE, "text": text });
    let info = match author {
        Some(author) => json!({ "id": id, "role": author }),
        None => json!({ "id": id }),
    };
    json!({ "info": info, "parts": [part] }).to_string()
}

/// Returns a message that was removed for good.
pub fn purged(id: &str, at: i64) -> String {
    json!({ "info": { "id": id }, "parts": [], "purgedAt": at }).to_string()
}

/// Returns the id and the author of a message that may be broken off.
pub fn beginning(raw: &[u8]) -> (Option<String>, Option<String>) {
    let known = |name: &str| {
        let value = json::begun(json::begun(raw, "info")?, name)?;
        serde_json::from_str::<String>(&mended(&String::from_utf8_lossy(value))).ok()
    };
    (known("id"), known("role"))
}

/// Returns a message with its original bytes, in hexadecimal digits, beside the part of them that can be read.
pub fn with_bytes(text: &str, hex: &str) -> Option<String> {
    let mut message: Map<String, Value> = serde_json::from_str(&mended(text)).ok()?;
    message.insert(UNREADABLE.to_owned(), json!({ "hex": hex }));
    Some(Value::from(message).to_string())
}

/// Whether a message stands for something that is no message, or holds its original bytes.
pub fn is_stand_in(json: &str) -> bool {
    // In a text of the message the quotes would be escaped.
    let marks = [format!("\"type\":\"{UNREADABLE}\""), format!("\"{UNREADABLE}\":{{\"hex\":")];
    marks.iter().any(|mark| json.contains(mark))
}
