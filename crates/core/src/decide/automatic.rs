//! Frames that nobody pushed: a user turn, an item of a todo list.

use super::life::begun;
use super::walk::opened;
use super::{Decision, Neighbourhood, Refusal, about};
use crate::event::Event;
use crate::frame::{FrameNum, Identity};
use crate::limits::Limits;
use crate::transcript::{Anchor, SpanOrigin};

/// Begin a frame for work that was told apart in a session's transcript.
#[derive(Clone, Debug)]
pub struct Enframe {
    /// The session.
    pub session: String,
    /// The frame that it is part of.
    pub parent: FrameNum,
    /// What the work is: a turn or a todo item.
    pub origin: SpanOrigin,
    /// Where it began, which may be long before now.
    pub anchor: Anchor,
    /// What the frame is for.
    pub identity: Identity,
    /// The id that it gets.
    pub id: String,
    /// Whether the work still goes on: then the session works in the frame from now on.
    pub goes_on: bool,
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
