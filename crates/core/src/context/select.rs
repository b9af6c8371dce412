//! Selection of the neighbours that are shown within a budget, and of the length of each.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::Dialect;
use crate::frame::{Frame, FrameNum};
use crate::text::UNITS_PER_TOKEN;

use super::Stated;
use super::fragment::{Beside, Fragment, Manner, Relation, fragment};
use super::score::{is_shown, rank_ancestors, rank_siblings};

/// A frame that is shown.
#[derive(Clone, Debug)]
pub struct Chosen<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// Why: its score.
    pub score: u32,
    /// Whether it is shown shortened.
    pub truncated: bool,
    /// Its cost as shown, in estimated tokens.
    pub tokens: usize,
    /// Its element, as it is rendered.
    pub xml: String,
    pub(super) units: usize,
}

/// Frames that are shown, best first, and the number of those that are not.
#[derive(Clone, Debug, Default)]
pub struct Selection<'a> {
    /// Shown.
    pub chosen: Vec<Chosen<'a>>,
    /// Not relevant enough, or no room.
    pub omitted: usize,
    /// Those of them for which there was no room.
    pub no_room: usize,
}

impl Selection<'_> {
    /// Returns the cost of all of it, in estimated tokens.
    pub fn tokens(&self) -> usize {
        self.units().div_ceil(UNITS_PER_TOKEN)
    }

    pub(super) fn units(&self) -> usize {
        self.chosen.iter().map(|chosen| chosen.units).sum()
    }
}

/// The ancestors (nearest first) to show in `budget` estimated tokens: the parent first, then by
/// [`super::score_ancestor`]. What does not fit whole is shortened between words. `now` in
/// milliseconds since 1970.
pub fn select_ancestors<'a>(
    ancestors: &'a [Frame],
    budget: usize,
    current: &Frame,
    now: i64,
) -> Selection<'a> {
    let units = budget.saturating_mul(UNITS_PER_TOKEN);
    let wanted =
        WantedAncestors { current, stated: &BTreeMap::new(), now, dialect: Dialect::Stack };
    ancestors_within(ancestors, units, &wanted)
}

/// The finished siblings to show in `budget` estimated tokens: those that score at least
/// `min_relevance` against `current_goal` by [`super::score_sibling`], best first. What does not
/// fit whole is shortened between words. `now` in milliseconds since 1970.
pub fn select_siblings<'a>(
    siblings: &'a [Frame],
    budget: usize,
    current_goal: &str,
    min_relevance: u32,
    now: i64,
) -> Selection<'a> {
    let wanted = Wanted {
        current: None,
        only_news: false,
        goal: current_goal,
        min_relevance,
        visible_above: &BTreeSet::new(),
        evidence: &BTreeMap::new(),
        now,
        dialect: Dialect::Stack,
    };
    let units = budget.saturating_mul(UNITS_PER_TOKEN);
    siblings_within(siblings, units, &wanted, &mut |_| String::new())
}

/// For whom ancestors are chosen.
pub(super) struct WantedAncestors<'a> {
    pub(super) current: &'a Frame,
    pub(super) stated: &'a BTreeMap<FrameNum, Stated>,
    pub(super) now: i64,
    pub(super) dialect: Dialect,
}

pub(super) fn ancestors_within<'a>(
    ancestors: &'a [Frame],
    units: usize,
    wanted: &WantedAncestors<'_>,
) -> Selection<'a> {
    let ranked = rank_ancestors(ancestors, wanted.current, wanted.now)
        .into_iter()
        .map(|(score, depth, frame)| Candidate {
            frame,
            score,
            seen: "",
            manner: Manner {
                relation: Relation::Ancestor(depth),
                dialect: wanted.dialect,
                stated: wanted.stated.get(&frame.num).copied(),
            },
        })
        .collect();
    fill(ranked, units, false, &mut |_| String::new())
}

/// The siblings that are wanted.
pub(super) struct Wanted<'a> {
    pub(super) current: Option<FrameNum>,
    /// Whether siblings whose results stand above are left out unless there is something new to say about them.
    pub(super) only_news: bool,
    pub(super) goal: &'a str,
    pub(super) min_relevance: u32,
    pub(super) visible_above: &'a BTreeSet<FrameNum>,
    /// The evidence of the work in them, in a line each.
    pub(super) evidence: &'a BTreeMap<FrameNum, String>,
    pub(super) now: i64,
    pub(super) dialect: Dialect,
}

pub(super) fn siblings_within<'a>(
    siblings: &'a [Frame],
    units: usize,
    wanted: &Wanted<'_>,
    since: Since<'_>,
) -> Selection<'a> {
    let shown = siblings
        .iter()
        .filter(|sibling| is_shown(sibling) && Some(sibling.num) != wanted.current)
        .count();
    let ranked =
        rank_siblings(siblings, wanted.current, wanted.goal, wanted.min_relevance, wanted.now);
    let irrelevant = shown - ranked.len();
    let candidates = ranked
        .into_iter()
        .map(|(score, frame)| {
            let is_above = wanted.visible_above.contains(&frame.num);
            let relation = if is_above { Relation::SiblingAbove } else { Relation::Sibling };
            let manner = Manner { relation, dialect: wanted.dialect, stated: None };
            let seen = wanted.evidence.get(&frame.num).map_or("", String::as_str);
            Candidate { frame, score, seen, manner }
        })
        .collect();
    let mut selection = fill(candidates, units, wanted.only_news, since);
    selection.omitted += irrelevant;
    selection
}

/// Returns the changes since a frame ended. It is called only for frames that there is room for.
pub(super) type Since<'a> = &'a mut dyn FnMut(&Frame) -> String;

#[derive(Clone, Copy)]
struct Candidate<'a, 's> {
    frame: &'a Frame,
    score: u32,
    /// The evidence of the work in it.
    seen: &'s str,
    manner: Manner,
}

impl<'a> Candidate<'a, '_> {
    fn fragment(self, since: &str, limit: usize) -> Option<Fragment> {
        fragment(self.frame, Beside { seen: self.seen, since }, self.manner, limit)
    }

    fn chosen(self, fragment: Fragment) -> Chosen<'a> {
        Chosen {
            frame: self.frame,
            score: self.score,
            truncated: fragment.truncated,
            tokens: fragment.units.div_ceil(UNITS_PER_TOKEN),
            xml: fragment.xml,
            units: fragment.units,
        }
    }
}

/// Less room than this shows nothing of a frame.
const LEAST_ROOM: usize = 25 * UNITS_PER_TOKEN;

/// Takes candidates in order. One of several may have up to 60 % of the rest of the room, so that one long text does
/// not push all others out; room that is left at the end goes to those that were shortened. `only_news` is that of
/// [`Wanted`].
fn fill<'a>(
    candidates: Vec<Candidate<'a, '_>>,
    units: usize,
    only_news: bool,
    since: Since<'_>,
) -> Selection<'a> {
    let mut left = units;
    let mut selection = Selection::default();
    let mut shown = Vec::new();
    let last = candidates.len().saturating_sub(1);
    for (at, candidate) in candidates.into_iter().enumerate() {
        let room = if at < last { left - left / 5 * 2 } else { left };
        let is_above = candidate.manner.relation == Relation::SiblingAbove;
        let news = (left >= LEAST_ROOM).then(|| since(candidate.frame));
        if only_news && is_above && news.as_ref().is_none_or(String::is_empty) {
            selection.omitted += 1;
            continue;
        }
        let found = news.map(|since| {
            let fragment =
                candidate.fragment(&since, room).or_else(|| candidate.fragment(&since, left));
            fragment.map(|fragment| (since, fragment))
        });
        let Some((since, fragment)) = found.flatten() else {
            selection.omitted += 1;
            selection.no_room += 1;
            continue;
        };
        left -= fragment.units;
        shown.push((candidate, since));
        selection.chosen.push(candidate.chosen(fragment));
    }
    for (chosen, (candidate, since)) in selection.chosen.iter_mut().zip(shown) {
        if !chosen.truncated || left < LEAST_ROOM {
            continue;
        }
        let room = chosen.units + left;
        if let Some(longer) = candidate.fragment(&since, room)
            && longer.units > chosen.units
        {
            left = room - longer.units;
            *chosen = candidate.chosen(longer);
        }
    }
    selection
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
