//! Secrets in values: those in each of their texts, and those that only a field or an element beside them tells.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::judge::{is_identifier, is_likely, is_plain};
use super::{AGAIN, Beginnings, Secret, label, label_at_start, mask, names, secrets};

/// Masks the secrets in a value; its shape stays. A text under a name such as `password` is a secret as a whole.
/// Returns whether anything was masked.
pub fn mask_value(value: &mut Value) -> bool {
    // In JSON none of a text's lines begins or ends, so each is looked through by itself as well.
    mask_each(value) | mask_beside(value)
}

/// The same for a text in JSON. One that can't be read is masked as it is.
pub fn mask_json(json: &str) -> Cow<'_, str> {
    let Ok(mut value) = serde_json::from_str::<Value>(json) else { return mask(json) };
    if mask_value(&mut value) { value.to_string().into() } else { json.into() }
}

/// Returns the replacement of a text that is a secret as a whole, by its name.
pub fn mask_named(name: &str, text: &str) -> Option<String> {
    let is_secret = names::is_of_field(name)
        && is_likely(text)
        && (names::is_chosen(name) || !(is_identifier(text) || is_plain(text)))
        && !names::is_key_id(name, text);
    is_secret.then(|| label("password"))
}

fn mask_each(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let Cow::Owned(masked) = mask(text) else { return false };
            *text = masked;
            true
        }
        Value::Array(values) => {
            values.iter_mut().fold(false, |masked, value| mask_each(value) | masked)
        }
        Value::Object(fields) => fields.iter_mut().fold(false, |masked, (name, value)| {
            let named = value.as_str().and_then(|text| mask_named(name, text));
            let secret = named.is_some();
            if let Some(label) = named {
                *value = label.into();
            }
            secret | mask_each(value) | masked
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Masks what the value shows to be a secret when it is written as JSON, such as an argument after `--password`.
fn mask_beside(value: &mut Value) -> bool {
    let mut masked = false;
    for _ in 0..AGAIN {
        if !(value.is_array() || value.is_object()) {
            break;
        }
        let json = value.to_string();
        if !Beginnings::get().pattern.is_match(&json) {
            break;
        }
        let found = secrets(&json);
        let mut written = Written { json: &json, found: &found, at: 0, is_changed: false };
        written.mask(value);
        if !written.is_changed {
            break;
        }
        masked = true;
    }
    masked
}

/// The role of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    Name,
    Value,
}

/// Returns a name that no field has yet: two masked ones may be the same.
fn free(name: String, fields: &Map<String, Value>) -> String {
    if !fields.contains_key(&name) {
        return name;
    }
    let mut numbered = (2_u64..).map(|number| format!("{name} {number}"));
    numbered.find(|it| !fields.contains_key(it)).unwrap_or(name)
}

/// A value as it is written.
struct Written<'a> {
    json: &'a str,
    found: &'a [Secret],
    /// Where the next part of the value begins.
    at: usize,
    is_changed: bool,
}

impl Written<'_> {
    fn mask(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.mask_text(text, Text::Value),
            Value::Array(values) => {
                for value in values.iter_mut() {
                    self.at += ",".len();
                    self.mask(value);
                }
                self.at += if values.is_empty() { "[]" } else { "]" }.len();
            }
            Value::Object(fields) => {
                self.at += if fields.is_empty() { "{" } else { "" }.len();
                for (mut name, mut value) in std::mem::take(fields) {
                    self.at += ",".len();
                    self.mask_text(&mut name, Text::Name);
                    self.at += ":".len();
                    self.mask(&mut value);
                    fields.insert(free(name, fields), value);
                }
                self.at += "}".len();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.at += value.to_string().len(),
        }
    }

    /// Masks the parts of secrets that stand in a text.
    fn mask_text(&mut self, text: &mut String, role: Text) {
        let start = self.at + "\"".len();
        let bytes = self.json.as_bytes();
        let mut end = start;
        while let Some(byte) = bytes.get(end).filter(|byte| **byte != b'"') {
            end += if *byte == b'\\' { 2 } else { 1 };
        }
        self.at = end + "\"".len();
        let first = self.found.partition_point(|secret| secret.place.end <= start);
        let found = self.found.get(first..).unwrap_or_default();
        let found = found.iter().take_while(|secret| secret.place.start < end);
        // The lines of a value were looked through by themselves: here, one runs on into the next.
        let is_over_lines = |secret: &&Secret| {
            let place = secret.place.start.max(start)..secret.place.end.min(end);
            let written = self.json.get(place).unwrap_or_default();
            written.trim_end_matches("\\n").contains("\\n")
        };
        let found = found.filter(|secret| role == Text::Name || !is_over_lines(secret));
        let mut masked = String::from("\"");
        let (mut from, mut kind) = (start, None);
        for secret in found {
            masked.push_str(self.json.get(from..secret.place.start).unwrap_or_default());
            masked.push_str(&label(secret.kind));
            from = secret.place.end;
            kind = Some(secret.kind);
        }
        let Some(kind) = kind.filter(|_| label_at_start(text) != Some(text.len())) else { return };
        masked.push_str(self.json.get(from..end).unwrap_or_default());
        masked.push('"');
        // Where a mask takes half of an escape away, nothing of the text is left.
        let masked = serde_json::from_str(&masked).unwrap_or_else(|_| label(kind));
        self.is_changed |= masked != *text;
        *text = masked;
    }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
