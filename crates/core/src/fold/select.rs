//! Selection of the spans that are folded now: the outermost of those that are ready, never two that overlap.

use crate::transcript::{PartBody, SpanNum, SpanOrigin};

use super::ReasoningPolicy;
use super::places::Places;
use super::region::{Edge, Region};

/// An outermost span that is folded.
pub(super) struct Chosen<'a> {
    pub(super) region: Region<'a>,
    /// Spans inside it that were pushed in the same step and whose calls stay with its own, as they do
    /// where it was folded by the rule of an earlier version.
    pub(super) beside: Vec<Region<'a>>,
    /// Parts of the pop's message that stay although they stand before the pop: pushes of frames that continue after
    /// it.
    pub(super) spared: Vec<usize>,
}

impl<'a> Chosen<'a> {
    /// The spans whose text is in the request: only the outermost one, since the texts of those inside it name parents
    /// that are closed.
    pub(super) fn with_text(&self) -> impl Iterator<Item = &Region<'a>> {
        std::iter::once(&self.region)
    }

    /// The spans whose pushes stay.
    pub(super) fn with_push(&self) -> impl Iterator<Item = &Region<'a>> {
        std::iter::once(&self.region).chain(&self.beside)
    }

    /// Returns the indexes of the parts of the pop's message that stay after the fold; none when the message goes, or
    /// is the push's.
    pub(super) fn kept_of_pop(&self, places: &Places<'_>) -> Vec<usize> {
        if self.region.in_one_step() {
            return Vec::new();
        }
        let mut kept = self.spared.clone();
        kept.extend(after_pop(places, &self.region));
        kept
    }
}

/// Returns the calls after the pop in its step, and the words between them. Words alone do not stay: a request that
/// ends with the agent's words asks the model to continue them, and some refuse it.
fn after_pop(places: &Places<'_>, region: &Region<'_>) -> Vec<usize> {
    let Some(pop) = region.pop.filter(|_| !region.in_one_step()) else {
        return Vec::new();
    };
    let parts = &places.transcript[pop.message].parts;
    let after = parts.iter().enumerate().skip(pop.part + 1);
    if !after.clone().any(|(_, part)| matches!(part.body, PartBody::Tool(_))) {
        return Vec::new();
    }
    after
        .filter(|(_, part)| matches!(part.body, PartBody::Tool(_) | PartBody::Text { .. }))
        .map(|(index, _)| index)
        .collect()
}

/// The spans that are folded, and those that leave with them.
#[derive(Default)]
pub(super) struct Selection<'a> {
    /// In the order of the transcript.
    pub(super) outermost: Vec<Chosen<'a>>,
    /// Closed spans whose own text stands nowhere.
    pub(super) swallowed: Vec<SpanNum>,
}

/// Chooses from `regions`, in which an outer one comes before those in it.
pub(super) fn outermost<'a>(
    places: &Places<'_>,
    regions: Vec<Region<'a>>,
    policy: ReasoningPolicy,
) -> Selection<'a> {
    let mut selection = Selection::default();
    let since: Vec<_> =
        regions.iter().filter(|it| is_since(it)).map(|it| (it.from, it.to)).collect();
    for region in regions {
        let around = selection.outermost.last_mut().filter(|chosen| region.from < chosen.region.to);
        if let Some(chosen) = around {
            if region.to <= chosen.region.to {
                let one_step = region.push.zip(chosen.region.push);
                if one_step.is_some_and(|(inner, outer)| inner.message == outer.message)
                    && region.text().is_some()
                    && !chosen.region.takes_calls()
                {
                    selection.swallowed.push(region.span.num);
                    chosen.beside.push(region);
                } else if region.text().is_some() {
                    selection.swallowed.push(region.span.num);
                }
                continue;
            }
            // It begins inside and ends outside. Where its push is a call of the step that pops,
            // the two were only carried out in another order than written; elsewhere its call goes
            // with the span around it, and it cannot be folded by itself.
            let shared = region.push.zip(chosen.region.pop);
            match shared {
                Some((push, pop))
                    if push.message == pop.message
                        && (!chosen.region.in_one_step() || chosen.region.takes_calls()) =>
                {
                    chosen.spared.push(push.part);
                }
                _ => continue,
            }
        }
        if !region.is_held() && is_due(places, &region, policy) && !gives_way(&region, &since) {
            selection.outermost.push(Chosen { region, beside: Vec::new(), spared: Vec::new() });
        }
    }
    selection
}

/// Whether somebody closed its steps after the fact.
fn is_since(region: &Region<'_>) -> bool {
    region.span.origin == SpanOrigin::Since && region.text().is_some()
}

/// Whether a span that nobody opened is sent unfolded because a pop closed steps after the fact that begin in it and
/// end after it. A settled one is not: its steps could not be closed that way.
fn gives_way(region: &Region<'_>, since: &[(Edge, Edge)]) -> bool {
    let crosses =
        |(from, to): &(Edge, Edge)| region.from <= *from && *from < region.to && region.to < *to;
    region.span.origin.is_automatic() && region.settled.is_none() && since.iter().any(crosses)
}

/// Whether a span that has ended can be folded, regardless of whether that is worth it.
pub(super) fn is_due(places: &Places<'_>, region: &Region<'_>, policy: ReasoningPolicy) -> bool {
    if region.text().is_none() {
        return false;
    }
    let last = match region.pop.filter(|_| region.pushed()) {
        Some(_) if after_pop(places, region).is_empty() => return true,
        Some(pop) => pop.message,
        None if region.listed => region.end,
        None => return places.user_from(region.end).is_some(),
    };
    let reasons = |body: &PartBody| matches!(body, PartBody::Reasoning { .. });
    let waits = policy == ReasoningPolicy::Wait
        && region.settled.is_none()
        && places.transcript[last].parts.iter().any(|part| reasons(&part.body));
    !waits || places.user_from(last + 1).is_some()
}
