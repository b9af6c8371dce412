//! How much a frame's neighbours matter to the work in it.

use crate::frame::{Frame, FrameNum, Status};
use crate::text::{cap, extract_keywords, for_each_keyword, stem_hash};

/// Siblings that score less are not shown.
pub const MIN_RELEVANCE: u32 = 30;

const HOUR: i64 = 60 * 60 * 1000;

/// How much of each of a sibling's texts is searched for keywords, in bytes.
const SEARCHED_BYTES: usize = 600;

/// How many of a sibling's artifacts are searched for keywords.
const SEARCHED_ARTIFACTS: usize = 16;

/// From this many keywords on, a criterion need not share all of them to be fully about the same.
const ENOUGH_KEYWORDS: usize = 8;

/// How much an ancestor matters. `depth` is its distance: 1 for the parent, which always outranks
/// the others; the grandparent follows, then ever less. More for what changed lately, is being
/// worked on, has results or artifacts, or is the root, which states the overall goal. `now` in
/// milliseconds since 1970.
pub fn score_ancestor(ancestor: &Frame, depth: usize, current: &Frame, now: i64) -> u32 {
    let is_parent = depth <= 1 || current.parent == Some(ancestor.num);
    let distance = match depth {
        _ if is_parent => 200,
        2 => 70,
        3 => 50,
        4 => 40,
        5 => 30,
        6 => 20,
        _ => 10,
    };
    let status = match ancestor.status {
        Status::InProgress => 10,
        Status::Completed | Status::Blocked => 5,
        _ => 0,
    };
    let root = if ancestor.parent.is_none() { 20 } else { 0 };
    distance + status + root + recency(ancestor.updated_at, now) + substance(ancestor, 5)
}

/// How relevant a finished sibling is to a frame with `current_criteria`, from 0 to 100: above all
/// by the share of the frame's keywords that the sibling's title, criteria, results, decisions and
/// artifacts have; more for completed work (most) and for failed (it has lessons), and for what
/// ended lately. `now` in milliseconds since 1970.
pub fn score_sibling(sibling: &Frame, current_criteria: &str, now: i64) -> u32 {
    Criteria::new(current_criteria).score(sibling, now)
}

/// A frame's keywords, made ready for comparing many siblings.
pub(super) struct Criteria {
    hashes: Vec<u64>,
    /// Which hashes may be there, so that most words need no search.
    seen: [u64; 16],
}

impl Criteria {
    pub(super) fn new(text: &str) -> Self {
        let mut hashes: Vec<_> =
            extract_keywords(text).iter().map(|word| stem_hash(word)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let mut seen = [0; 16];
        for hash in &hashes {
            let (slot, bit) = Self::bit(*hash);
            if let Some(bits) = seen.get_mut(slot) {
                *bits |= bit;
            }
        }
        Self { hashes, seen }
    }

    fn bit(hash: u64) -> (usize, u64) {
        (((hash >> 6) & 15) as usize, 1 << (hash & 63))
    }

    fn position(&self, word: &str) -> Option<usize> {
        let hash = stem_hash(word);
        let (slot, bit) = Self::bit(hash);
        if self.seen.get(slot).is_none_or(|bits| bits & bit == 0) {
            return None;
        }
        self.hashes.binary_search(&hash).ok()
    }

    pub(super) fn score(&self, sibling: &Frame, now: i64) -> u32 {
        let status = match sibling.status {
            Status::Completed => 12,
            Status::Failed => 10,
            Status::Blocked => 6,
            Status::Planned | Status::InProgress | Status::Invalidated => 0,
        };
        let ended = sibling.ended_at.unwrap_or(sibling.updated_at);
        self.overlap(sibling) + status + recency(ended, now) + substance(sibling, 4)
    }

    /// Up to 65 points for shared keywords.
    fn overlap(&self, sibling: &Frame) -> u32 {
        if self.hashes.is_empty() {
            return 0;
        }
        let mut found: u64 = 0;
        let mut search = |text: &str| {
            for_each_keyword(cap(text, SEARCHED_BYTES), |word| {
                if let Some(position) = self.position(word) {
                    found |= 1 << position.min(63);
                }
            });
        };
        search(&sibling.identity.title);
        search(&sibling.identity.success_criteria);
        search(shown_results(sibling).unwrap_or_default());
        for decision in sibling.decisions.iter().rev().take(SEARCHED_ARTIFACTS) {
            search(decision);
        }
        for artifact in sibling.artifacts.iter().take(SEARCHED_ARTIFACTS) {
            search(&artifact.path);
        }
        let shared = found.count_ones();
        let enough = u32::try_from(self.hashes.len().min(ENOUGH_KEYWORDS)).unwrap_or(u32::MAX);
        (65 * shared / enough).min(65)
    }
}

/// The dense results if there are any, else the full ones.
pub(super) fn shown_results(frame: &Frame) -> Option<&str> {
    let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
    if given(&frame.results_compacted) {
        frame.results_compacted.as_deref()
    } else {
        frame.results.as_deref().filter(|results| !results.trim().is_empty())
    }
}

fn recency(at: i64, now: i64) -> u32 {
    match now.saturating_sub(at) {
        age if age <= HOUR => 15,
        age if age <= 24 * HOUR => 8,
        age if age <= 7 * 24 * HOUR => 4,
        _ => 0,
    }
}

fn substance(frame: &Frame, points: u32) -> u32 {
    let results = if shown_results(frame).is_some() { points } else { 0 };
    let artifacts = if frame.artifacts.is_empty() { 0 } else { points };
    results + artifacts
}

/// What a frame is compared by: its title and what "done" means.
pub(super) fn goal(frame: &Frame) -> String {
    let identity = &frame.identity;
    format!("{} {}", cap(&identity.title, 4096), cap(&identity.success_criteria, 16 * 1024))
}

/// Ancestors in order of their scores, with their distance; the parent first.
pub(super) fn rank_ancestors<'a>(
    ancestors: &'a [Frame],
    current: &Frame,
    now: i64,
) -> Vec<(u32, usize, &'a Frame)> {
    let mut ranked: Vec<_> = (1..)
        .zip(ancestors)
        .map(|(depth, frame)| (score_ancestor(frame, depth, current, now), depth, frame))
        .collect();
    ranked.sort_by_key(|(score, depth, _)| (std::cmp::Reverse(*score), *depth));
    ranked
}

/// Finished siblings that are relevant enough, best first; of equals the later one.
pub(super) fn rank_siblings<'a>(
    siblings: &'a [Frame],
    current: Option<FrameNum>,
    goal: &str,
    min_relevance: u32,
    now: i64,
) -> Vec<(u32, &'a Frame)> {
    let criteria = Criteria::new(goal);
    let mut ranked: Vec<_> = siblings
        .iter()
        .filter(|sibling| is_shown(sibling) && Some(sibling.num) != current)
        .map(|sibling| (criteria.score(sibling, now), sibling))
        .filter(|(score, _)| *score >= min_relevance)
        .collect();
    ranked.sort_by_key(|(score, frame)| (std::cmp::Reverse(*score), std::cmp::Reverse(frame.num)));
    ranked
}

/// Whether a sibling has something to tell.
pub(super) fn is_shown(sibling: &Frame) -> bool {
    !sibling.detached
        && matches!(sibling.status, Status::Completed | Status::Failed | Status::Blocked)
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
