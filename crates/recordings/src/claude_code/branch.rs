//! The branch of a session's tree that was continued: the file of a rewound session also holds the branches that were
//! left.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use serde_json::Value;

use super::super::tools::text;
use super::super::{LEFT, Skipped};
use super::entry::{Entry, What};

/// The records of a session, apart by whether they are on the branch that was gone on with.
pub(super) struct Branches {
    /// Those of that branch, in their order.
    pub(super) live: Vec<Entry>,
    /// The others, each with how many of that branch stand before it.
    pub(super) left: Vec<(usize, Entry)>,
}

/// Finds the branch that the last record is on. Calls of one answer that were made at once, and their results, hang
/// beside the branch and belong to it. Records on no branch are counted, and so are branches that were left.
pub(super) fn apart(entries: Vec<Entry>, skipped: &mut Skipped) -> Branches {
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
    let mut left = Vec::new();
    for (entry, on_branch) in entries.into_iter().zip(on_branch) {
        let beside = match &entry.what {
            What::Assistant { message, .. } => answers.contains(message),
            What::User { content, meta, .. } => {
                answers_any(content, &calls)
                    || *meta && entry.parent.as_ref().is_some_and(|it| taken.contains(it))
            }
            What::Attachment { .. } => entry.parent.as_ref().is_some_and(|it| taken.contains(it)),
            What::Boundary { .. } | What::Link => false,
        };
        if let What::Link = entry.what {
            if !entry.raw.is_empty() {
                skipped.count(entry.raw);
            }
            continue;
        }
        if !on_branch && !beside {
            skipped.count(LEFT);
            left.push((live.len(), entry));
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
    Branches { live, left }
}

fn answers_any(content: &Value, calls: &HashSet<String>) -> bool {
    let parts = content.as_array().into_iter().flatten();
    parts.filter_map(|part| part["tool_use_id"].as_str()).any(|call| calls.contains(call))
}

/// Whether each record is one of those from the last of the conversation to its root, or hangs on that
/// last one. A record whose parent is nowhere, such as that of a compaction, goes on from the one before it.
fn branch(entries: &[Entry]) -> Vec<bool> {
    let places: HashMap<&str, usize> =
        entries.iter().enumerate().map(|(place, entry)| (entry.uuid.as_str(), place)).collect();
    let parent = |place: usize| {
        let entry = &entries[place];
        let goes_on =
            matches!(entry.what, What::Boundary { .. } | What::User { summary: true, .. });
        match &entry.parent {
            Some(parent) => places.get(parent.as_str()).copied().or(place.checked_sub(1)),
            None if goes_on => place.checked_sub(1),
            None => None,
        }
    };
    let bridges = bridges(entries, &places);
    let mut on = vec![false; entries.len()];
    let mut next = leaf(entries);
    let first_after = next.map_or(entries.len(), |leaf| leaf + 1);
    while let Some(place) = next {
        if std::mem::replace(&mut on[place], true) {
            break;
        }
        next = parent(place).map(|parent| {
            let leads = |bridge: &&Bridge| bridge.leads(parent, place);
            bridges.iter().rfind(leads).map_or(parent, |bridge| bridge.last)
        });
    }
    for place in first_after..entries.len() {
        on[place] = parent(place).is_some_and(|parent| parent + 1 >= first_after && on[parent]);
    }
    on
}

/// Returns the last message: other records may hang on much older ones.
fn leaf(entries: &[Entry]) -> Option<usize> {
    let has_id = |entry: &Entry| !entry.uuid.is_empty();
    let said = |entry: &Entry| matches!(entry.what, What::User { .. } | What::Assistant { .. });
    let last_said = entries.iter().rposition(|entry| has_id(entry) && said(entry));
    last_said.or_else(|| entries.iter().rposition(has_id))
}

/// A compaction that kept records: later records hang on these, and their chain goes over it all the same.
struct Bridge {
    boundary: usize,
    kept: RangeInclusive<usize>,
    /// The last of its own records.
    last: usize,
}

impl Bridge {
    fn leads(&self, from: usize, to: usize) -> bool {
        self.kept.contains(&from) && from < self.boundary && self.last < to
    }
}

fn bridges(entries: &[Entry], places: &HashMap<&str, usize>) -> Vec<Bridge> {
    let bridge = |(boundary, entry): (usize, &Entry)| {
        let What::Boundary { kept: Some(kept) } = &entry.what else { return None };
        let place = |id: &str| places.get(id).copied();
        let mut after = entries.iter().enumerate().skip(boundary + 1);
        let summary = after.find(|(_, entry)| {
            matches!(entry.what, What::Boundary { .. } | What::User { summary: true, .. })
        });
        let summary = summary.filter(|(_, entry)| matches!(entry.what, What::User { .. }));
        let own = [Some(boundary), place(&kept.anchor), summary.map(|(place, _)| place)];
        Some(Bridge {
            boundary,
            kept: place(&kept.first)?..=place(&kept.last)?,
            last: own.into_iter().flatten().max()?,
        })
    };
    entries.iter().enumerate().filter_map(bridge).collect()
}
