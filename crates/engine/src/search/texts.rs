//! The texts of a stored message, taken out of its JSON without building it: a search looks at many.

use std::borrow::Cow;
use std::fmt;

use callstack_core::secrets::{mask, mask_named};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;

/// Names of what is of no meaning to a person: ids, and what only the host understands.
const MEANINGLESS: [&str; 9] =
    ["id", "sessionID", "messageID", "callID", "type", "status", "snapshot", "hash", "cost"];

#[derive(Deserialize)]
struct Message<'m> {
    #[serde(borrow)]
    parts: Option<&'m RawValue>,
    #[serde(default)]
    info: Info,
}

#[derive(Default, Deserialize)]
struct Info {
    #[serde(default)]
    role: Option<String>,
}

/// Everything in a message that somebody may look for, a line each: all of its texts but ids and what only
/// the host understands. With `masked`, secrets are replaced by what they are.
pub(super) fn texts(json: &str, masked: bool) -> String {
    let message: Option<Message<'_>> = serde_json::from_str(json).ok();
    let parts = message.and_then(|message| message.parts).map(RawValue::get);
    let content = parts.filter(|parts| parts.starts_with('[')).unwrap_or(json);
    let mut text = String::with_capacity(content.len());
    let gather = Gather { text: &mut text, masked, name: None };
    let mut from = serde_json::Deserializer::from_str(content);
    if gather.deserialize(&mut from).and_then(|()| from.end()).is_ok() {
        return text;
    }
    if masked { mask(json).into_owned() } else { json.to_owned() }
}

/// Who wrote a message, as the host says.
pub(super) fn role(json: &str) -> Option<String> {
    serde_json::from_str::<Message<'_>>(json).ok().and_then(|message| message.info.role)
}

struct Gather<'t, 'n> {
    text: &'t mut String,
    masked: bool,
    /// What the value is called.
    name: Option<&'n str>,
}

impl Gather<'_, '_> {
    fn line(&mut self, words: &str) {
        self.text.push_str(words);
        self.text.push('\n');
    }
}

impl<'de> DeserializeSeed<'de> for Gather<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Gather<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        let whole = self.name.filter(|_| self.masked).and_then(|name| mask_named(name, text));
        match whole {
            Some(label) => self.line(&label),
            None if self.masked => self.line(&mask(text)),
            None => self.line(text),
        }
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.line(&number.to_string());
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.line(&number.to_string());
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        if let Some(number) = Number::from_f64(number) {
            self.line(&number.to_string());
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        let Self { text, masked, .. } = self;
        while values.next_element_seed(Gather { text, masked, name: None })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self { text, masked, .. } = self;
        while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
            if MEANINGLESS.contains(&name.as_ref()) {
                fields.next_value::<IgnoredAny>()?;
            } else {
                fields.next_value_seed(Gather { text, masked, name: Some(&name) })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_and_numbers_of_the_parts_are_taken_in_their_order() {
        let message = json!({
            "info": {"id": "msg_1", "role": "assistant", "cost": 0.1},
            "parts": [
                {"id": "prt_1", "type": "text", "text": "One\ntwo"},
                {"type": "tool", "state": {"input": {"lines": [1, -2, 2.5], "all": true}}},
            ],
        });
        assert_eq!(texts(&message.to_string(), false), "One\ntwo\n1\n-2\n2.5\n");
        assert_eq!(role(&message.to_string()).as_deref(), Some("assistant"));
    }

    #[test]
    fn what_is_no_message_is_taken_as_a_whole() {
        assert_eq!(texts(r#"{"parts": "none", "id": 1, "said": "Hi"}"#, false), "none\nHi\n");
        assert_eq!(texts("[\"a\", null]", false), "a\n");
        assert_eq!(texts("{\"parts\": [", false), "{\"parts\": [");
        assert_eq!(role("{}"), None);
    }

    #[test]
    fn secrets_are_masked_by_their_form_and_by_what_they_are_called() {
        let token = ["gh", "p_", &"a1B2c3".repeat(6)].concat();
        let message =
            json!({"parts": [{"text": format!("use {token}"), "password": "s3cr3t-W0rd!"}]});
        let shown = texts(&message.to_string(), true);
        assert_eq!(shown, "use ‹masked: GitHub token›\n‹masked: password›\n");
        assert!(texts(&message.to_string(), false).contains(&token));
        let garbage = format!("no JSON {token}");
        assert!(!texts(&garbage, true).contains(&token));
    }
}
