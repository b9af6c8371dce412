//! The relevance of a frame's neighbours to the work in it.

use crate::frame::{Frame, FrameNum, Status};
use crate::text::{cap, extract_keywords, for_each_word, stem_hash};

/// Siblings that score less are not shown.
pub const MIN_RELEVANCE: u32 = 30;

const HOUR: i64 = 60 * 60 * 1000;

/// Bytes of each of a sibling's texts that are searched for keywords.
const SEARCHED_BYTES: usize = 400;

/// The number of a sibling's decisions (the last ones) and artifacts that are searched for keywords.
const SEARCHED_ITEMS: usize = 8;

/// Shared keywords that are enough for two goals to count as fully the same, however many more one of them has.
const ENOUGH_KEYWORDS: usize = 8;

/// Returns the weight of an ancestor. `depth` is its distance: 1 for the parent, which always outranks the others;
/// the grandparent follows, and so on. An ancestor weighs more if it changed recently, is being worked on, has
/// results or artifacts, or is the root, which states the overall goal. `now` in milliseconds since 1970.
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

/// Returns the relevance of a finished sibling to a frame with `current_criteria`, from 0 to 100: above all by the
/// share of the frame's keywords that the sibling's title, criteria, results, decisions and artifacts have; more for
/// completed work (most), for failed work (it has lessons), and for recent work. `now` in milliseconds since 1970.
pub fn score_sibling(sibling: &Frame, current_criteria: &str, now: i64) -> u32 {
    Criteria::new(current_criteria).score(sibling, now)
}

/// A frame's keywords, made ready for comparing many siblings.
pub(super) struct Criteria {
    hashes: Vec<u64>,
    /// The set of pairs of first letter and length: most words differ in these alone.
    shapes: [u32; 32],
}

impl Criteria {
    pub(super) fn new(text: &str) -> Self {
        let words = extract_keywords(text);
        let mut hashes: Vec<_> = words.iter().map(|word| stem_hash(word)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let mut shapes = [0; 32];
        for word in &words {
            let (letter, length) = Self::shape(word);
            // A plural is the same word and one longer.
            let lengths = 1 << length.saturating_sub(1) | 1 << length | 1 << (length + 1).min(31);
            if let Some(known) = shapes.get_mut(letter) {
                *known |= lengths;
            }
        }
        Self { hashes, shapes }
    }

    /// The lower five bits of a letter are the same in capitals.
    fn shape(word: &str) -> (usize, usize) {
        let first = word.bytes().next().unwrap_or_default();
        (usize::from(first & 31), word.len().min(31))
    }

    fn position(&self, word: &str) -> Option<usize> {
        let (letter, length) = Self::shape(word);
        let is_likely = self.shapes.get(letter).is_some_and(|lengths| lengths >> length & 1 == 1);
        if !is_likely && word.is_ascii() {
            return None;
        }
        self.hashes.binary_search(&stem_hash(word)).ok()
    }

    pub(super) fn score(&self, sibling: &Frame, now: i64) -> u32 {
        score_with(self.overlap(sibling), sibling, now)
    }

    /// Returns the score of a sibling that is relevant enough. One that shares no keyword never is; a failed one is
    /// if a completed one with the same texts would be.
    fn relevant(&self, sibling: &Frame, min_relevance: u32, now: i64) -> Option<u32> {
        let overlap = self.overlap(sibling);
        let score = score_with(overlap, sibling, now);
        let lessons = match sibling.status {
            Status::Failed => standing(Status::Completed) - standing(Status::Failed),
            _ => 0,
        };
        let shares = overlap > 0 || self.hashes.is_empty() || min_relevance == 0;
        (shares && score + lessons >= min_relevance).then_some(score)
    }

    /// Up to 65 points for shared keywords.
    fn overlap(&self, sibling: &Frame) -> u32 {
        if self.hashes.is_empty() {
            return 0;
        }
        let enough = u32::try_from(self.hashes.len().min(ENOUGH_KEYWORDS)).unwrap_or(u32::MAX);
        let identity = &sibling.identity;
        let decisions = sibling.decisions.iter().rev().take(SEARCHED_ITEMS).map(String::as_str);
        let artifacts = sibling.artifacts.iter().take(SEARCHED_ITEMS);
        let texts = [
            identity.title.as_str(),
            &identity.success_criteria,
            shown_results(sibling).unwrap_or(""),
        ]
        .into_iter()
        .chain(decisions)
        .chain(artifacts.map(|artifact| artifact.path.as_str()));
        let mut found: u64 = 0;
        for text in texts {
            for_each_word(cap(text, SEARCHED_BYTES), |word| {
                if let Some(position) = self.position(word) {
                    found |= 1 << position.min(63);
                }
            });
            if found.count_ones() >= enough {
                return 65;
            }
        }
        65 * found.count_ones() / enough
    }
}

fn score_with(overlap: u32, sibling: &Frame, now: i64) -> u32 {
    let ended = sibling.ended_at.unwrap_or(sibling.updated_at);
    overlap + standing(sibling.status) + recency(ended, now) + substance(sibling, 4)
}

/// Points for how a sibling ended.
fn standing(status: Status) -> u32 {
    match status {
        Status::Completed => 12,
        Status::Failed => 10,
        Status::Blocked => 6,
        Status::Planned | Status::InProgress | Status::Invalidated => 0,
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

/// Returns the text by which a frame is compared: its title and its success criteria.
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
        .filter_map(|sibling| Some((criteria.relevant(sibling, min_relevance, now)?, sibling)))
        .collect();
    ranked.sort_by_key(|(score, frame)| (std::cmp::Reverse(*score), std::cmp::Reverse(frame.num)));
    ranked
}

/// Whether a sibling has something to show.
pub(super) fn is_shown(sibling: &Frame) -> bool {
    !sibling.detached
        && matches!(sibling.status, Status::Completed | Status::Failed | Status::Blocked)
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
