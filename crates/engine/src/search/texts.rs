//! The texts of a stored message, taken out of its JSON without building it: a search looks at many.

use std::borrow::Cow;
use std::fmt;

use callstack_core::secrets::mask_json;
use callstack_core::stored::Sections;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// Names of fields without meaning for a person: ids, and data that only the host understands.
const MEANINGLESS: [&str; 9] =
    ["id", "sessionID", "messageID", "callID", "type", "status", "snapshot", "hash", "cost"];

/// The fields that a host adds to each message beside its parts, and that therefore distinguish none.
const OF_EVERY_MESSAGE: [&str; 12] = [
    "role",
    "time",
    "tokens",
    "path",
    "mode",
    "agent",
    "model",
    "modelID",
    "providerID",
    "parentID",
    "variant",
    "finish",
];

/// The fields that a host adds at the end of each step, in a part of its own: its tokens, and why it ended.
const OF_EVERY_STEP: [&str; 2] = ["tokens", "reason"];
const STEP_END: &str = "step-finish";

/// The beginnings of the ids that hosts and providers give, and the length from which on such a text is no name.
const IDS: [&str; 7] = ["ses_", "msg_", "prt_", "call_", "toolu_", "per_", "snap_"];
const ID: usize = 12;

/// The names of a host's times, in milliseconds since 1970, and the time in 2001 that all of them follow.
const MOMENTS: [&str; 4] = ["start", "end", "created", "completed"];
const LONG_AGO: u64 = 1_000_000_000_000;

/// Characters from which on encoded data can no longer be a name or a path.
const ENCODED: usize = 200;

/// Returns everything in a message that can be searched, a line each: all texts of its parts and of the message as a
/// whole, such as an error or a summary, but no ids, encoded data and data that only the host understands. With
/// `masked`, secrets are replaced by their kinds.
pub(crate) fn texts(json: &str, masked: bool) -> String {
    // Whether a text is a secret may show in another field of its message.
    let json = if masked { mask_json(json) } else { json.into() };
    let sections = Sections::of(&json);
    let mut text = String::with_capacity(json.len());
    let mut gather = |content: &str, of_message| {
        let gather = Gather { text: &mut text, name: None, of_message };
        let mut from = serde_json::Deserializer::from_str(content);
        gather.deserialize(&mut from).and_then(|()| from.end())
    };
    let gathered = match (sections.parts, sections.whole) {
        (None, _) => gather(&json, false),
        (Some(parts), None) => gather(parts, false),
        (Some(parts), Some(whole)) => gather(parts, false).and_then(|()| gather(whole, true)),
    };
    if gathered.is_ok() { text } else { json.into_owned() }
}

/// Returns the author of a message, according to the host.
pub(crate) fn role(json: &str) -> Option<String> {
    Sections::of(json).author()
}

/// Whether a key is the name of a field, and not a path or title in the place of one.
fn is_field(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-$".contains(&byte))
}

/// Whether a text is a picture, a signature or something else in base64: no words, but thousands of pieces that
/// look like some.
fn is_encoded(text: &str) -> bool {
    if text.len() < ENCODED {
        return false;
    }
    let data = text.strip_prefix("data:").and_then(|url| url.split_once(";base64,"));
    let data = data.map_or(text, |(_, data)| data).as_bytes();
    let has = |is: fn(&u8) -> bool| data.iter().any(is);
    data.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte))
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
}

/// Whether a text is nothing but an id that a program gave.
fn is_id(text: &str) -> bool {
    let rest = IDS.iter().find_map(|begin| text.strip_prefix(begin));
    rest.is_some_and(|it| it.len() >= ID && it.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The type of a part, or that of any value where it is no part.
#[derive(Deserialize)]
#[serde(untagged)]
enum PartKind<'k> {
    Name(#[serde(borrow)] Cow<'k, str>),
    Other(IgnoredAny),
}

impl PartKind<'_> {
    fn ends_step(&self) -> bool {
        matches!(self, Self::Name(name) if name == STEP_END)
    }
}

struct Gather<'t, 'n> {
    text: &'t mut String,
    /// The name of the value.
    name: Option<&'n str>,
    /// Whether it belongs to the message as a whole.
    of_message: bool,
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
        if is_encoded(text) || is_id(text) {
            return Ok(());
        }
        self.line(text);
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        let is_moment = number > LONG_AGO && self.name.is_some_and(|it| MOMENTS.contains(&it));
        if !is_moment {
            self.line(&number.to_string());
        }
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
        let Self { text, of_message, .. } = self;
        let mut next = || values.next_element_seed(Gather { text, name: None, of_message });
        while next()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self { text, of_message, .. } = self;
        let mut ends_step = false;
        while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
            let is_of_every = (of_message && OF_EVERY_MESSAGE.contains(&name.as_ref()))
                || (ends_step && OF_EVERY_STEP.contains(&name.as_ref()));
            if name == "type" {
                ends_step = fields.next_value::<PartKind<'_>>()?.ends_step();
            } else if is_of_every || MEANINGLESS.contains(&name.as_ref()) {
                fields.next_value::<IgnoredAny>()?;
            } else {
                if !is_field(&name) {
                    text.push_str(&name);
                    text.push('\n');
                }
                fields.next_value_seed(Gather { text, name: Some(&name), of_message })?;
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
    fn what_is_said_of_a_message_is_taken_but_not_what_is_said_of_every_one() {
        let message = json!({
            "info": {
                "id": "msg_1", "role": "user", "modelID": "large", "path": {"cwd": "/home"},
                "time": {"created": 1}, "error": {"name": "Overloaded", "data": {"status": 1}},
                "summary": {"title": "Fix it", "diffs": [{"patch": "+fixed", "additions": 1}]},
            },
            "parts": [{"type": "text", "text": "Go", "path": "kept"}],
        });
        let expected = "Go\nkept\nOverloaded\nFix it\n+fixed\n1\n";
        assert_eq!(texts(&message.to_string(), false), expected);
    }

    #[test]
    fn paths_that_stand_where_names_do_are_taken_and_moments_are_not() {
        let message = json!({"parts": [{
            "files": {"src/main.rs": "changed", "odd": 1},
            "state": {"time": {"start": 1_735_725_602_000_u64, "end": 1_735_725_603_000_u64}},
            "input": {"start": 40, "at": 1_735_725_602_001_u64},
        }]});
        let expected = "src/main.rs\nchanged\n1\n40\n1735725602001\n";
        assert_eq!(sorted(&texts(&message.to_string(), false)), sorted(expected));
    }

    fn sorted(lines: &str) -> Vec<&str> {
        let mut lines: Vec<_> = lines.lines().collect();
        lines.sort_unstable();
        lines
    }

    #[test]
    fn ids_and_what_is_counted_at_every_step_are_no_text() {
        let message = json!({"parts": [
            {"type": "tool", "state": {"metadata": {"sessionId": "ses_5d1cAbC82ffe"}, "title": "call_me"}},
            {"type": "text", "text": "go on in ses_5d1cAbC82ffe", "reason": "kept", "tokens": 7},
            {"id": "prt_1", "type": "step-finish", "reason": "stop", "tokens": {"input": 4711}},
        ]});
        let expected = "call_me\ngo on in ses_5d1cAbC82ffe\nkept\n7\n";
        assert_eq!(sorted(&texts(&message.to_string(), false)), sorted(expected));
    }

    #[test]
    fn encoded_data_is_no_text() {
        let encoded = "aB3+/x9Q".repeat(30);
        let path = "src/a-long-name/of_a_folder/".repeat(10);
        let listed = format!("{encoded} and more");
        let parts = [&encoded, &format!("data:image/png;base64,{encoded}=="), &path, &listed];
        let message = json!({"parts": parts.map(|text| json!({"text": text}))});
        assert_eq!(texts(&message.to_string(), false), format!("{path}\n{listed}\n"));
        assert_eq!(texts(&encoded, false), encoded, "what is no message");
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
        let beside = json!({"parts": [{"args": ["psql", "--password", "aud1.Kron-7"]}]});
        let shown = texts(&beside.to_string(), true);
        assert!(shown.starts_with("psql\n--password\n‹masked"), "{shown}");
        let garbage = format!("no JSON {token}");
        assert!(!texts(&garbage, true).contains(&token));
    }
}
