//! Masking of secrets in the data of answers.

use callstack_core::secrets::{mask, mask_value};
use serde_json::{Map, Value};

/// Fields whose texts are identifiers: a masked identifier would find nothing.
const IDENTIFIERS: &[&str] = &[
    "activeFrameID",
    "consolidatedInto",
    "formerIDs",
    "frame",
    "handle",
    "hash",
    "id",
    "logPath",
    "parent",
    "parentSessionID",
    "planned",
    "plannedChildren",
    "rootFrameIDs",
    "session",
    "sessionID",
    "store",
    "workedIn",
];

/// Fields whose texts are JSON, or lines of it, in which secrets were masked before they were written. To mask them
/// again as texts could take a brace or a quote with a secret.
const MASKED: &[&str] = &["storedLines"];

/// Fields that hold objects whose keys are paths.
const BY_PATH: &[&str] = &["artifactHashes", "changedArtifacts"];

/// Masks secrets of known forms in the data of an answer. Ids, handles, sessions and hashes stay.
pub(crate) fn mask_data(data: &mut Value) {
    match data {
        Value::Object(fields) => {
            for (name, value) in fields {
                if BY_PATH.contains(&name.as_str()) {
                    mask_keys(value);
                } else if is_text(value) {
                    if !IDENTIFIERS.contains(&name.as_str()) && !MASKED.contains(&name.as_str()) {
                        mask_field(name, value);
                    }
                } else {
                    mask_data(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask_data),
        other => {
            mask_value(other);
        }
    }
}

/// Whether a value is a text or a list of texts.
fn is_text(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(values) => values.iter().all(Value::is_string),
        _ => false,
    }
}

/// Masks a field by name and text: a text under a name such as `password` is a secret as a whole.
fn mask_field(name: &str, value: &mut Value) {
    let mut field = Value::Object(Map::from_iter([(name.to_owned(), value.take())]));
    mask_value(&mut field);
    *value = field[name].take();
}

fn mask_keys(value: &mut Value) {
    if let Value::Object(fields) = value {
        let masked = std::mem::take(fields).into_iter();
        *fields = masked.map(|(path, value)| (mask(&path).into_owned(), value)).collect();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str =
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-AAAAAAAA";

    #[test]
    fn secrets_go_from_texts_lists_and_paths_and_ids_stay() {
        let path = format!("keys/{KEY}");
        let id = format!("ses_{KEY}");
        let mut data = json!({
            "sessionID": id,
            "formerIDs": [id],
            "title": format!("Use {KEY}"),
            "decisions": [format!("Keep {KEY}")],
            "frame": {"handle": "f1", "title": KEY},
            "artifactHashes": {path.clone(): "0a"},
            "frames": {id.clone(): {"results": KEY}},
        });
        mask_data(&mut data);
        assert_eq!(data["sessionID"], *id);
        assert_eq!(data["formerIDs"], json!([id]));
        assert!(data["frames"].get(&id).is_some(), "frames are found by their ids");
        data["sessionID"].take();
        data["formerIDs"].take();
        let frames = data["frames"].take();
        assert!(!frames[&id]["results"].to_string().contains("sk-ant"));
        assert!(!data.to_string().contains("sk-ant"), "{data}");
    }
}
