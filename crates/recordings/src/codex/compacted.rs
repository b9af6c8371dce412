//! The messages that a compaction of Codex leaves: the user's, and then a summary.

use std::collections::BTreeMap;

use callstack_core::transcript::{MessageKind, Role};
use serde_json::Value;

use super::super::tools::{self, text, words};
use super::super::{Recorded, RecordedPart};

/// The user's messages that are left where the rollout does not list them, in tokens of four bytes: the latest ones.
const LEFT_OF_USER: usize = 20_000;

/// The messages that were left.
#[derive(Default)]
pub(super) struct Left {
    /// Messages of the conversation, by their ids.
    pub(super) kept: Vec<String>,
    /// The parts that are in no earlier message: the summary, and texts that the program repeated.
    pub(super) parts: Vec<RecordedPart>,
}

/// Reads the messages that a record of a compaction lists; none where it only has the summary. `items` are the
/// messages of items that have an id.
pub(super) fn left(
    payload: &Value,
    before: &[Recorded],
    items: &BTreeMap<String, String>,
) -> Option<Left> {
    let history = match &payload["replacement_history_entries"] {
        Value::Array(entries) => entries,
        _ => payload["replacement_history"].as_array()?,
    };
    let summary = squeezed(text(&payload["message"]));
    let mut heard: Vec<(String, &Recorded)> = before
        .iter()
        .filter(|it| it.role == Role::User && it.standing == MessageKind::Normal)
        .map(|it| (squeezed(&all_words(it)), it))
        .collect();
    let mut left = Left::default();
    for entry in history.iter().rev() {
        if let Some(message) = entry["item_id"].as_str().and_then(|id| items.get(id)) {
            left.kept.push(message.clone());
            continue;
        }
        let item = if entry["item"].is_object() { &entry["item"] } else { entry };
        let said = tools::content(&item["content"]);
        let of_user = item["role"] == "user";
        let key = squeezed(&said);
        let is_summary = of_user && key == summary;
        // Of repeated words the last occurrence counts.
        let place = heard.iter().rposition(|(words, _)| of_user && !is_summary && *words == key);
        if let Some(place) = place {
            left.kept.push(heard.remove(place).1.id.clone());
        } else if !said.is_empty() {
            let of_model = is_summary || item["role"] == "assistant";
            left.parts.push(words(said, !of_model));
        } else if text(&item["type"]).contains("compaction") {
            // The provider keeps the summary to itself.
            left.parts.push(RecordedPart::Reasoning(String::new()));
        }
    }
    left.kept.reverse();
    left.parts.reverse();
    Some(left)
}

/// Finds the messages that a summary left without listing them: the program's texts at the beginning, which it
/// repeats, and the user's latest messages.
pub(super) fn leave(summary: &str, messages: &mut [Recorded]) {
    let Some(place) = messages.iter().position(|it| it.id == summary) else { return };
    let before = &messages[..place];
    let is_opening = |it: &&Recorded| it.role == Role::User && !it.is_of_user();
    let opening = before.iter().take_while(is_opening).map(|it| it.id.clone());
    let mut left = LEFT_OF_USER;
    let said = before.iter().rev().filter(|it| it.is_of_user()).map_while(|it| {
        left = left.checked_sub(all_words(it).len().div_ceil(4))?;
        Some(it.id.clone())
    });
    messages[place].kept = opening.chain(said).collect();
}

fn all_words(message: &Recorded) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        RecordedPart::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// A text without its white space: the texts of an item are put together in several ways.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}
