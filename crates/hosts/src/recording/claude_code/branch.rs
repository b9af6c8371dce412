//! The branch of a session's tree that was gone on with: a rewound session keeps what it left behind.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::Skipped;
use super::super::tools::text;
use super::entry::{Entry, What};

/// The records of the branch that the last one is on, in their order. Calls that one answer made at
/// once, and their results, hang beside the branch and belong to it. What is left out is counted.
pub(super) fn live(entries: Vec<Entry>, skipped: &mut Skipped) -> Vec<Entry> {
    let on_branch = branch(&entries);
    let mut answers: HashSet<String> = HashSet::new();
    for (entry, _) in entries.iter().zip(&on_branch).filter(|(_, on)| **on) {
        if let What::Assistant { message, .. } = &entry.what {
            answers.insert(message.clone());
        }
    }
    let mut calls: HashSet<String> = HashSet::new();
    let mut taken: HashSet<String> = HashSet::new();
    let mut live = Vec::with_capacity(entries.len());
    for (entry, on_branch) in entries.into_iter().zip(on_branch) {
        let beside = match &entry.what {
            What::Assistant { message, .. } => answers.contains(message),
            What::User { content, meta, .. } => {
                answers_any(content, &calls)
                    || *meta && entry.parent.as_ref().is_some_and(|it| taken.contains(it))
            }
            What::Attachment { .. } => entry.parent.as_ref().is_some_and(|it| taken.contains(it)),
            What::Boundary | What::Link => false,
        };
        if let What::Link = entry.what {
            if !entry.raw.is_empty() {
                skipped.count(entry.raw);
            }
            continue;
        }
        if !on_branch && !beside {
            skipped.count("of a branch that was left");
            continue;
        }
        if let What::Assistant { content, .. } = &entry.what {
            let made = content.iter().filter(|part| part["type"] == "tool_use");
            calls.extend(made.map(|part| text(&part["id"]).to_owned()));
        }
        if !on_branch {
            taken.insert(entry.uuid.clone());
        }
        live.push(entry);
    }
    live
}

fn answers_any(content: &Value, calls: &HashSet<String>) -> bool {
    let parts = content.as_array().into_iter().flatten();
    parts.filter_map(|part| part["tool_use_id"].as_str()).any(|call| calls.contains(call))
}

/// Whether each record is one of those from the last to its root. A record whose parent is nowhere,
/// such as that of a compaction, goes on from the one before it.
fn branch(entries: &[Entry]) -> Vec<bool> {
    let places: HashMap<&str, usize> =
        entries.iter().enumerate().map(|(place, entry)| (entry.uuid.as_str(), place)).collect();
    let mut on = vec![false; entries.len()];
    let leaf = entries.iter().rposition(|entry| !entry.uuid.is_empty());
    let mut next = leaf;
    while let Some(place) = next {
        if std::mem::replace(&mut on[place], true) {
            break;
        }
        let entry = &entries[place];
        next = match &entry.parent {
            Some(parent) => places.get(parent.as_str()).copied().or(place.checked_sub(1)),
            None if matches!(entry.what, What::Boundary) => place.checked_sub(1),
            None => None,
        };
    }
    on
}
