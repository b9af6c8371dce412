//! The stored JSON of a message itself, as far as a reader needs more than a [`Message`](super::Message).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::RECORDED;

/// The two sections of a stored message, as they stand in it.
#[derive(Debug)]
pub struct Sections<'m> {
    /// The list of its parts; none where there is no list.
    pub parts: Option<&'m str>,
    /// What belongs to the message as a whole.
    pub whole: Option<&'m str>,
}

#[derive(Deserialize)]
struct Fields<'m> {
    #[serde(borrow)]
    parts: Option<&'m RawValue>,
    #[serde(borrow)]
    info: Option<&'m RawValue>,
}

impl<'m> Sections<'m> {
    /// Finds them in a stored message.
    pub fn of(json: &'m str) -> Self {
        let fields: Option<Fields<'m>> = serde_json::from_str(json).ok();
        let (parts, info) = fields.map_or((None, None), |fields| (fields.parts, fields.info));
        Self {
            parts: parts.map(RawValue::get).filter(|parts| parts.starts_with('[')),
            whole: info.map(RawValue::get),
        }
    }

    /// Returns the author of the message, as its host calls it.
    pub fn author(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Info {
            role: Option<String>,
        }
        serde_json::from_str::<Info>(self.whole?).ok()?.role
    }
}

/// Returns the records that a message was stored from, each as it came.
pub fn records(json: &str) -> Option<Vec<Cow<'_, str>>> {
    #[derive(Deserialize)]
    struct Recorded<'s> {
        #[serde(borrow)]
        records: Vec<&'s RawValue>,
    }
    let recorded: Recorded<'_> = serde_json::from_str(recorded(json)?).ok()?;
    let text = |record: &'_ str| serde_json::from_str::<String>(record).ok();
    let records = recorded.records.into_iter().map(RawValue::get);
    Some(records.map(|record| text(record).map_or(record.into(), Cow::Owned)).collect())
}

/// Returns the same as values; those that are no JSON are texts.
pub fn record_values(json: &str) -> Vec<Value> {
    #[derive(Deserialize, Default)]
    struct Recorded {
        records: Vec<Value>,
    }
    let recorded = recorded(json).and_then(|it| serde_json::from_str::<Recorded>(it).ok());
    recorded.unwrap_or_default().records
}

fn recorded(json: &str) -> Option<&str> {
    let mut message: BTreeMap<&str, &RawValue> = serde_json::from_str(json).ok()?;
    message.remove(RECORDED).map(RawValue::get)
}

/// Returns a stored message with only the parts at some places, and without its records; none where it has no parts.
pub fn narrowed(json: &str, places: &[usize]) -> Option<String> {
    let mut message: Value = serde_json::from_str(json).ok()?;
    let parts = message["parts"].as_array_mut()?;
    let mut place = 0..parts.len();
    parts.retain(|_| place.next().is_some_and(|place| places.contains(&place)));
    without_records(&mut message);
    Some(message.to_string())
}

/// Takes out the records that a message was stored from, which repeat its parts.
pub fn without_records(message: &mut Value) {
    if let Some(fields) = message.as_object_mut() {
        fields.remove(RECORDED);
    }
}
