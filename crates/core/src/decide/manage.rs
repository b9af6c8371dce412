//! Requests of programs that know frames by ids of their own.

use super::life::{attached, check_live, check_place};
use super::walk::opened;
use super::{Decision, Neighbourhood, Refusal, about};
use crate::event::{Event, Session};
use crate::frame::{Frame, FrameNum, Identity, Status};
use crate::limits::Limits;
use crate::transcript::{Anchor, SpanOrigin};

/// Begin a frame that has a session of its own, below a frame that is named.
#[derive(Clone, Debug)]
pub struct Create {
    /// The session, and the id of the frame.
    pub session: String,
    /// Its host.
    pub host: String,
    /// The frame below which it stands; none for a root.
    pub parent: Option<FrameNum>,
    /// Its identity.
    pub identity: Identity,
}

pub(super) fn create<N: Neighbourhood>(
    tree: &N,
    command: &Create,
    limits: &Limits,
    now: i64,
) -> Result<Decision, Refusal<N::Error>> {
    free(tree, &command.session, None)?;
    let parent = command.parent.map(|num| attached(tree, num)).transpose()?;
    if let Some(parent) = parent.as_ref().filter(|parent| parent.status.is_terminal()) {
        return Err(Refusal::ParentEnded { parent: Box::new(parent.clone()) });
    }
    let known = tree.session(&command.session).map_err(Refusal::Store)?;
    let depth = parent.as_ref().map_or(0, |parent| parent.depth + 1);
    check_place(tree, command.parent, depth, 1, limits)?;
    check_live(tree, limits)?;
    let num = tree.next_frame().map_err(Refusal::Store)?;
    let session = command.session.clone();
    let identity = command.identity.clone();
    let frame = Frame::planned(num, session.clone(), command.parent, depth, identity, now);
    let frame = Frame { session: Some(session.clone()), status: Status::InProgress, ..frame };
    if let Some(open) = known.as_ref().and_then(|known| known.active) {
        let open = Box::new(tree.frame(open).map_err(Refusal::Store)?);
        return Err(Refusal::NotOnTop { frame: Box::new(frame), open });
    }
    let mut events = Vec::new();
    if known.is_none() {
        events.push(Event::SessionOpened {
            session: Session {
                id: session.clone(),
                host: command.host.clone(),
                parent: parent.and_then(|parent| parent.session),
                root: None,
                active: None,
            },
        });
    }
    events.push(Event::FrameCreated { frame: Box::new(frame) });
    if known.is_none_or(|known| known.root.is_none()) {
        events.push(Event::RootSet { session: session.clone(), frame: num });
    }
    let start = Anchor { message: None, call: None };
    events.push(opened(tree, num, &session, start, SpanOrigin::Root)?);
    events.push(Event::ActiveSet { session, frame: Some(num) });
    Ok(about(num, events))
}

/// Gives a frame another id; the old one stays an alias.
pub(super) fn rename<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
    id: &str,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = attached(tree, num)?;
    if frame.id == id {
        return Ok(about(num, Vec::new()));
    }
    free(tree, id, Some(num))?;
    Ok(about(num, vec![Event::FrameRenamed { frame: num, id: id.to_owned() }]))
}

/// Makes a frame in progress the active one of the session that works in it.
pub(super) fn focus<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = attached(tree, num)?;
    let (Some(session), Status::InProgress) = (&frame.session, frame.status) else {
        return Err(Refusal::Transition { frame: Box::new(frame), next: Status::InProgress });
    };
    let mut open = tree.running_children(num).map_err(Refusal::Store)?;
    open.retain(|child| child.session.as_ref() == Some(session));
    if !open.is_empty() {
        return Err(Refusal::OpenChildren { frame: Box::new(frame), open });
    }
    let session = session.clone();
    Ok(about(num, vec![Event::ActiveSet { session, frame: Some(num) }]))
}

/// Checks that no other frame is or was called so.
pub(super) fn free<N: Neighbourhood>(
    tree: &N,
    id: &str,
    except: Option<FrameNum>,
) -> Result<(), Refusal<N::Error>> {
    match tree.frame_by_id(id).map_err(Refusal::Store)? {
        Some(num) if Some(num) != except => {
            let frame = tree.frame(num).map_err(Refusal::Store)?;
            Err(Refusal::IdTaken { id: id.to_owned(), frame: Box::new(frame) })
        }
        _ => Ok(()),
    }
}
