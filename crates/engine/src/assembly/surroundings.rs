//! The surroundings of a frame, as far as its context may show them.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::context::{ScopedPin, StatusCounts};
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::text::extract_keywords;
use callstack_store::{Beside, View};

use super::PLANNED;
use crate::error::EngineError;

/// The most finished siblings that are read because they are the newest, and because they match a word, for each
/// word. The budget shows ten or so; more candidates cost time at every push.
const NEWEST: u32 = 8;
const A_WORD: u32 = 2;
/// Words of a frame by which siblings are looked for.
const WORDS: usize = 8;
/// Everything around a frame that its context may show.
pub(super) struct Surroundings {
    pub(super) frame: Frame,
    pub(super) ancestors: Vec<Frame>,
    pub(super) siblings: Vec<Frame>,
    pub(super) sibling_counts: StatusCounts,
    pub(super) next_sibling: Option<Frame>,
    pub(super) planned_siblings: Vec<Frame>,
    pub(super) planned: Vec<Frame>,
    pub(super) planned_count: usize,
    pub(super) pins: Vec<ScopedPin>,
    pub(super) visible: BTreeSet<FrameNum>,
    pub(super) seen: BTreeMap<FrameNum, String>,
}

/// Whether a frame is worked on, or may be, outside of its parent's conversation.
fn is_alone(frame: &Frame, parent: Option<&Frame>) -> bool {
    parent.is_some_and(|parent| frame.session.is_none() || frame.session != parent.session)
}

/// Reads the surroundings of a frame. Sessions that were only read from recordings are among them where `imported`.
pub(super) fn surroundings(
    view: &View<'_>,
    num: FrameNum,
    imported: bool,
) -> Result<Surroundings, EngineError> {
    let frame = view.frame(num)?;
    let ancestors = view.ancestors(num)?;
    let about = format!("{} {}", frame.identity.title, frame.identity.success_criteria);
    let mut words = extract_keywords(&about);
    words.truncate(WORDS);
    let beside = if imported { Beside::All } else { Beside::Worked };
    let mut siblings = view.sibling_candidates(&frame, &words, NEWEST, A_WORD, beside)?.frames;
    let mut planned_siblings = Vec::new();
    if is_alone(&frame, ancestors.first()) {
        // Its conversation does not contain the results of the frames beside its ancestors, nor the plans there.
        for above in ancestors.iter().filter(|above| above.parent.is_some()) {
            let found = view.sibling_candidates(above, &words, NEWEST, A_WORD, beside)?;
            siblings.extend(found.frames);
        }
        planned_siblings = view.children_with(frame.parent, Status::Planned, PLANNED)?;
        planned_siblings.retain(|planned| planned.num != num);
    }
    let mut sibling_counts = StatusCounts::default();
    for (status, count) in view.counts_beside(&frame, beside)? {
        let itself = u64::from(status == frame.status);
        *slot(&mut sibling_counts, status) =
            usize::try_from(count.saturating_sub(itself)).unwrap_or(usize::MAX);
    }
    let next_sibling = view
        .children_with(frame.parent, Status::Planned, 2)?
        .into_iter()
        .find(|sibling| sibling.num != num && frame.parent.is_some());
    let planned = view.children_with(Some(num), Status::Planned, PLANNED)?;
    let planned_count = view.counts(Some(num))?.get(&Status::Planned).copied().unwrap_or(0);
    let owners = ancestors.iter().rev().chain(std::iter::once(&frame));
    let pins = owners
        .flat_map(|owner| {
            owner.pins.iter().map(|pin| ScopedPin { owner: owner.num, pin: pin.clone() })
        })
        .collect();
    // In its parent's own session, a finished sibling's fold is in the same request, and so is the text of one that
    // this session delegated.
    let mut visible = BTreeSet::new();
    for sibling in siblings.iter().filter(|it| it.session.is_some() && frame.session.is_some()) {
        let was_delegated_here = || {
            let delegation = sibling.session.as_deref().map(|session| view.delegation_in(session));
            let delegation = delegation.transpose()?.flatten();
            Ok::<_, EngineError>(delegation.is_some_and(|it| {
                it.delegation.frame == sibling.num && Some(it.delegation.caller) == frame.session
            }))
        };
        if sibling.session == frame.session || was_delegated_here()? {
            visible.insert(sibling.num);
        }
    }
    // A fold in the request contains the evidence.
    let elsewhere = siblings.iter().map(|it| it.num).filter(|num| !visible.contains(num));
    let seen = view.evidence_briefs(elsewhere)?;
    Ok(Surroundings {
        frame,
        ancestors,
        siblings,
        sibling_counts,
        next_sibling,
        planned_siblings,
        planned,
        planned_count: usize::try_from(planned_count).unwrap_or(usize::MAX),
        pins,
        visible,
        seen,
    })
}

fn slot(counts: &mut StatusCounts, status: Status) -> &mut usize {
    match status {
        Status::Planned => &mut counts.planned,
        Status::InProgress => &mut counts.in_progress,
        Status::Completed => &mut counts.completed,
        Status::Failed => &mut counts.failed,
        Status::Blocked => &mut counts.blocked,
        Status::Invalidated => &mut counts.invalidated,
    }
}
