//! Frames for later.

use super::life::{attached, check_children, check_place};
use super::manage::free;
use super::{Decision, Neighbourhood, Refusal, about};

use crate::event::Event;
use crate::frame::{Frame, FrameNum, Identity, Status};
use crate::limits::Limits;

/// Define frames for later.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The frame below which they stand; none for roots.
    pub parent: Option<FrameNum>,
    /// The frames, in the order in which they are meant to be worked on.
    pub children: Vec<PlannedChild>,
}

/// One frame to be planned, with its planned children.
#[derive(Clone, Debug)]
pub struct PlannedChild {
    /// The id that it gets, `plan-…`.
    pub id: String,
    /// Its identity.
    pub identity: Identity,
    /// Frames below it.
    pub children: Vec<PlannedChild>,
}

pub(super) fn plan<N: Neighbourhood>(
    tree: &N,
    command: &Plan,
    limits: &Limits,
    now: i64,
) -> Result<Decision, Refusal<N::Error>> {
    let mut depth = 0;
    if let Some(parent) = command.parent {
        let parent = attached(tree, parent)?;
        if parent.status.is_terminal() {
            return Err(Refusal::ParentEnded { parent: Box::new(parent) });
        }
        depth = parent.depth + 1;
    }
    check_place(tree, command.parent, depth, command.children.len() as u64, limits)?;
    let mut planner = Planner {
        next: tree.next_frame().map_err(Refusal::Store)?,
        limits,
        now,
        decision: Decision::default(),
    };
    planner.add(tree, command.parent, depth, &command.children)?;
    Ok(planner.decision)
}

pub(super) fn order<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
    before: FrameNum,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = planned(tree, num)?;
    let sibling = planned(tree, before)?;
    if frame.parent != sibling.parent || num == before {
        let (frame, other) = (Box::new(frame), Box::new(sibling));
        return Err(Refusal::NoSibling { frame, other });
    }
    Ok(about(num, vec![Event::PlanOrdered { frame: num, before }]))
}

pub(super) fn unplan<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
) -> Result<Decision, Refusal<N::Error>> {
    planned(tree, num)?;
    let below = tree.subtree(num).map_err(Refusal::Store)?;
    let frames: Vec<_> =
        below.into_iter().filter(|frame| !frame.detached).map(|frame| frame.num).collect();
    let events = frames.iter().map(|frame| Event::FrameDetached { frame: *frame }).collect();
    Ok(Decision { events, frames, left: Vec::new() })
}

/// A frame that is in the tree and was not begun.
fn planned<N: Neighbourhood>(tree: &N, num: FrameNum) -> Result<Frame, Refusal<N::Error>> {
    let frame = attached(tree, num)?;
    if frame.status == Status::Planned {
        Ok(frame)
    } else {
        Err(Refusal::NotPlanned(Box::new(frame)))
    }
}

struct Planner<'a> {
    next: FrameNum,
    limits: &'a Limits,
    now: i64,
    decision: Decision,
}

impl Planner<'_> {
    /// The frame of an id that is planned by this very command.
    fn planned(&self, id: &str) -> Option<Box<Frame>> {
        self.decision.events.iter().find_map(|event| match event {
            Event::FrameCreated { frame } if frame.id == id => Some(frame.clone()),
            _ => None,
        })
    }

    fn add<N: Neighbourhood>(
        &mut self,
        tree: &N,
        parent: Option<FrameNum>,
        depth: u32,
        children: &[PlannedChild],
    ) -> Result<(), Refusal<N::Error>> {
        if !children.is_empty() {
            check_place(tree, None, depth, 0, self.limits)?;
        }
        for child in children {
            free(tree, &child.id, None)?;
            if let Some(earlier) = self.planned(&child.id) {
                return Err(Refusal::IdTaken { id: child.id.clone(), frame: earlier });
            }
            let num = self.next;
            self.next = FrameNum(num.0 + 1);
            self.decision.frames.push(num);
            let identity = child.identity.clone();
            let frame = Frame::planned(num, child.id.clone(), parent, depth, identity, self.now);
            self.decision.events.push(Event::FrameCreated { frame: Box::new(frame) });
            check_children(child.children.len() as u64, self.limits)?;
            self.add(tree, Some(num), depth + 1, &child.children)?;
        }
        Ok(())
    }
}
