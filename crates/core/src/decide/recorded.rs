//! Sessions that another program recorded, when more of them becomes known.

use super::life::attached;
use super::walk::opened;
use super::{Decision, Neighbourhood, Refusal, about};
use crate::event::Event;
use crate::frame::{FrameNum, Status};
use crate::transcript::{Anchor, SpanOrigin};

/// Go on in the outermost frame of a recorded session that had ended, wherever it stands.
#[derive(Clone, Debug)]
pub struct GoOn {
    /// The frame.
    pub frame: FrameNum,
    /// The session.
    pub session: String,
    /// The last message that was known.
    pub anchor: Anchor,
}

pub(super) fn go_on<N: Neighbourhood>(
    tree: &N,
    command: &GoOn,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = attached(tree, command.frame)?;
    if frame.status != Status::Completed && frame.status != Status::Failed {
        return Err(Refusal::Transition { frame: Box::new(frame), next: Status::InProgress });
    }
    let (num, session) = (frame.num, &command.session);
    let events = vec![
        Event::FrameReopened { frame: num, status: Status::InProgress },
        opened(tree, num, session, command.anchor.clone(), SpanOrigin::Root)?,
        Event::ActiveSet { session: session.clone(), frame: Some(num) },
    ];
    Ok(about(num, events))
}

/// Puts an outermost frame below the one to whose work it turned out to belong.
pub(super) fn place<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
    parent: FrameNum,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = attached(tree, num)?;
    let mut above = Some(attached(tree, parent)?);
    while let Some(it) = above {
        if it.num == num {
            return Ok(about(num, Vec::new()));
        }
        above = it.parent.map(|parent| tree.frame(parent)).transpose().map_err(Refusal::Store)?;
    }
    let events = match frame.parent {
        None => vec![Event::FramePlaced { frame: num, parent }],
        Some(_) => Vec::new(),
    };
    Ok(about(num, events))
}
