//! Frames that nobody pushed: a user turn, an item of a todo list.

use super::life::{attached, begun};
use super::walk::opened;
use super::{Decision, Neighbourhood, Refusal, about};
use crate::event::Event;
use crate::frame::{FrameNum, Identity};
use crate::limits::Limits;
use crate::transcript::{Anchor, Outcome, SpanNum, SpanOrigin};

/// Begin a frame for work that was found in a session's transcript.
#[derive(Clone, Debug)]
pub struct Enframe {
    /// The session.
    pub session: String,
    /// The frame that it is part of.
    pub parent: FrameNum,
    /// The kind of the work: a turn or a todo item.
    pub origin: SpanOrigin,
    /// Where it began, which may be long before now.
    pub anchor: Anchor,
    /// The identity of the frame.
    pub identity: Identity,
    /// The id that it gets.
    pub id: String,
    /// Whether the work still goes on: then the session works in the frame from now on.
    pub goes_on: bool,
}

/// Take the work of the turn with which a session's root began for a span of the root: it has a frame, and
/// needs no other.
#[derive(Clone, Debug)]
pub struct BeginTurn {
    /// The session.
    pub session: String,
    /// Its root.
    pub frame: FrameNum,
    /// The user's message.
    pub anchor: Anchor,
}

/// End that span. The root goes on.
#[derive(Clone, Debug)]
pub struct EndTurn {
    /// The span.
    pub span: SpanNum,
    /// The last message that belongs to it.
    pub anchor: Anchor,
    /// The outcome of the turn.
    pub outcome: Outcome,
}

pub(super) fn enframe<N: Neighbourhood>(
    tree: &N,
    command: &Enframe,
    limits: &Limits,
    now: i64,
) -> Result<Decision, Refusal<N::Error>> {
    let Enframe { session, parent, origin, anchor, identity, id, goes_on } = command;
    let mut frame = begun(tree, Some(*parent), session, identity, id.clone(), limits, now)?;
    frame.identity_derived = *origin == SpanOrigin::Turn;
    let num = frame.num;
    let mut events = vec![
        Event::FrameCreated { frame: Box::new(frame) },
        opened(tree, num, session, anchor.clone(), *origin)?,
    ];
    if *goes_on {
        events.push(Event::ActiveSet { session: session.clone(), frame: Some(num) });
    }
    Ok(about(num, events))
}

pub(super) fn begin_turn<N: Neighbourhood>(
    tree: &N,
    command: &BeginTurn,
) -> Result<Decision, Refusal<N::Error>> {
    let BeginTurn { session, frame, anchor } = command;
    let num = attached(tree, *frame)?.num;
    let span = opened(tree, num, session, anchor.clone(), SpanOrigin::FirstTurn)?;
    Ok(about(num, vec![span]))
}

/// Work that was delegated to other sessions is part of the turn, and is waited for.
pub(super) fn end_turn<N: Neighbourhood>(
    tree: &N,
    command: &EndTurn,
) -> Result<Decision, Refusal<N::Error>> {
    let span = tree.span(command.span).map_err(Refusal::Store)?;
    let frame = tree.frame(span.frame).map_err(Refusal::Store)?;
    if span.live_close().is_some() {
        return Ok(about(frame.num, Vec::new()));
    }
    let mut open = tree.running_children(frame.num).map_err(Refusal::Store)?;
    open.retain(|child| child.session != frame.session);
    if !open.is_empty() {
        return Err(Refusal::OpenChildren { frame: Box::new(frame), open });
    }
    let (close, outcome) = (command.anchor.clone(), command.outcome.clone());
    Ok(about(frame.num, vec![Event::SpanClosed { span: span.num, close, outcome }]))
}
