//! Steps that are made a frame after the fact.

use super::life::{attached, check_place, known_session};
use super::walk::{is_automatic, opened};
use super::{Decision, Neighbourhood, Refusal, about};
use crate::event::Event;
use crate::frame::{Frame, FrameNum, Identity, Status};
use crate::limits::Limits;
use crate::transcript::{Anchor, Outcome, SpanOrigin};

/// Make steps for which no frame was opened a finished child of the frame in which they were done.
#[derive(Clone, Debug)]
pub struct PopSince {
    /// The session.
    pub session: String,
    /// The first call of the steps.
    pub first: Anchor,
    /// The call that closes them.
    pub anchor: Anchor,
    /// The frames that are open and began in them.
    pub begun: Vec<FrameNum>,
    /// The identity of the frame that the steps become.
    pub identity: Identity,
    /// The id that the frame gets.
    pub id: String,
    /// Status (completed or failed) and results.
    pub outcome: Outcome,
}

/// The open frame stays open. One that began by itself in the steps stays so, too, and is left by them.
pub(super) fn pop_since<N: Neighbourhood>(
    tree: &N,
    command: &PopSince,
    limits: &Limits,
    now: i64,
) -> Result<Decision, Refusal<N::Error>> {
    let PopSince { session, first, anchor, begun, identity, id, outcome } = command;
    for num in begun {
        let frame = tree.frame(*num).map_err(Refusal::Store)?;
        let goes_on = frame.status == Status::InProgress && !frame.detached;
        if goes_on && !is_automatic(tree, *num).map_err(Refusal::Store)? {
            return Err(Refusal::BegunSince(Box::new(frame)));
        }
    }
    let known = known_session(tree, session)?;
    let nothing_open = || Refusal::NothingOpen { session: session.clone() };
    let mut parent = attached(tree, known.active.ok_or_else(nothing_open)?)?;
    while begun.contains(&parent.num) {
        parent = attached(tree, parent.parent.ok_or_else(nothing_open)?)?;
    }

    let depth = parent.depth + 1;
    check_place(tree, Some(parent.num), depth, 1, limits)?;
    let num = tree.next_frame().map_err(Refusal::Store)?;
    let planned = Frame::planned(num, id.clone(), Some(parent.num), depth, identity.clone(), now);
    let frame = Frame { session: Some(session.clone()), status: Status::InProgress, ..planned };
    if !frame.status.may_become(outcome.status) || outcome.status == Status::Invalidated {
        return Err(Refusal::Transition { frame: Box::new(frame), next: outcome.status });
    }
    let span = tree.next_span().map_err(Refusal::Store)?;
    let events = vec![
        Event::FrameCreated { frame: Box::new(frame) },
        opened(tree, num, session, first.clone(), SpanOrigin::Since)?,
        Event::FrameEnded { frame: num, outcome: outcome.clone(), reason: None },
        Event::SpanClosed { span, close: anchor.clone(), outcome: outcome.clone() },
    ];
    Ok(about(num, events))
}
