//! A frame's life: begin, end, come back.

use super::consolidate::CONSOLIDATED;
use super::walk::{close_spans, is_automatic, leave, nearest_chosen, opened, outcome_of};
use super::{Decision, Neighbourhood, Refusal, about};
use crate::event::{Event, Session};
use crate::frame::{Frame, FrameNum, Identity, Status};
use crate::limits::Limits;
use crate::transcript::{Anchor, Outcome, SpanOrigin};

/// Make sure that a session has a frame to work in: a root of its own on its first message, and a
/// new one on the first message after its root was popped.
#[derive(Clone, Debug)]
pub struct OpenRoot {
    /// The session.
    pub session: String,
    /// Its host.
    pub host: String,
    /// The session that started it, for a child session: its active frame becomes the parent.
    pub parent_session: Option<String>,
    /// The frame that it belongs to, while that one is in progress; it has precedence over the one that the parent's
    /// session works in by now.
    pub caller: Option<FrameNum>,
    /// The identity of the frame.
    pub identity: Identity,
    /// Whether that is a guess from the user's first words.
    pub derived: bool,
    /// Id for a root that is not the session's first; the first one has the session's id.
    pub spare_id: String,
    /// The last message before the frame's own.
    pub anchor: Anchor,
}

/// Begin a child of the session's active frame, or a root if it has none.
#[derive(Clone, Debug)]
pub struct Push {
    /// The session.
    pub session: String,
    /// The push call.
    pub anchor: Anchor,
    /// The identity of the frame.
    pub identity: Identity,
    /// The id that it gets.
    pub id: String,
}

/// End a frame with results.
#[derive(Clone, Debug)]
pub struct Pop {
    /// The session that asks.
    pub session: String,
    /// The frame; the session's active one if none is named.
    pub frame: Option<FrameNum>,
    /// The pop call.
    pub anchor: Anchor,
    /// Status (completed, failed or blocked) and results.
    pub outcome: Outcome,
}

/// Begin a planned frame, or take up a blocked one.
#[derive(Clone, Debug)]
pub struct Activate {
    /// The frame.
    pub frame: FrameNum,
    /// The session that will work in it.
    pub session: String,
    /// The activate call.
    pub anchor: Anchor,
    /// The id that a planned frame gets.
    pub id: String,
}

/// Declare a frame irrelevant.
#[derive(Clone, Debug)]
pub struct Invalidate {
    /// The frame.
    pub frame: FrameNum,
    /// Why.
    pub reason: String,
    /// The call.
    pub anchor: Anchor,
}

/// Bring a terminal frame back.
#[derive(Clone, Debug)]
pub struct Reopen {
    /// The frame.
    pub frame: FrameNum,
    /// The session that will work in it.
    pub session: String,
    /// The call.
    pub anchor: Anchor,
}

pub(super) fn open_root<N: Neighbourhood>(
    tree: &N,
    command: &OpenRoot,
    limits: &Limits,
    now: i64,
) -> Result<Decision, Refusal<N::Error>> {
    let known = tree.session(&command.session).map_err(Refusal::Store)?;
    if let Some(active) = known.as_ref().and_then(|session| session.active) {
        return Ok(about(active, Vec::new()));
    }
    let first = known.as_ref().is_none_or(|session| session.root.is_none());
    let mut events = Vec::new();
    if known.is_none() {
        events.push(Event::SessionOpened {
            session: Session {
                id: command.session.clone(),
                host: command.host.clone(),
                parent: command.parent_session.clone(),
                root: None,
                active: None,
            },
        });
    }
    let caller = match command.caller {
        Some(caller) => Some(tree.frame(caller).map_err(Refusal::Store)?),
        None => None,
    };
    let open = caller.filter(|caller| caller.status == Status::InProgress && !caller.detached);
    let parent = match (open, &command.parent_session) {
        (Some(caller), _) => Some(caller.num),
        (None, Some(parent)) => {
            tree.session(parent).map_err(Refusal::Store)?.and_then(|it| it.active)
        }
        (None, None) => None,
    };
    let id = if first { command.session.clone() } else { command.spare_id.clone() };
    let mut frame = begun(tree, parent, &command.session, &command.identity, id, limits, now)?;
    frame.identity_derived = command.derived;
    let num = frame.num;
    events.push(Event::FrameCreated { frame: Box::new(frame) });
    if first {
        events.push(Event::RootSet { session: command.session.clone(), frame: num });
    }
    events.push(opened(tree, num, &command.session, command.anchor.clone(), SpanOrigin::Root)?);
    events.push(Event::ActiveSet { session: command.session.clone(), frame: Some(num) });
    Ok(about(num, events))
}

pub(super) fn push<N: Neighbourhood>(
    tree: &N,
    command: &Push,
    limits: &Limits,
    now: i64,
) -> Result<Decision, Refusal<N::Error>> {
    let session = known_session(tree, &command.session)?;
    let frame = begun(
        tree,
        session.active,
        &command.session,
        &command.identity,
        command.id.clone(),
        limits,
        now,
    )?;
    let num = frame.num;
    let events = vec![
        Event::FrameCreated { frame: Box::new(frame) },
        opened(tree, num, &command.session, command.anchor.clone(), SpanOrigin::Push)?,
        Event::ActiveSet { session: command.session.clone(), frame: Some(num) },
    ];
    Ok(about(num, events))
}

pub(super) fn pop<N: Neighbourhood>(
    tree: &N,
    command: &Pop,
) -> Result<Decision, Refusal<N::Error>> {
    let num = match command.frame {
        Some(num) => num,
        None => known_session(tree, &command.session)?
            .active
            .ok_or_else(|| Refusal::NothingOpen { session: command.session.clone() })?,
    };
    let frame = attached(tree, num)?;
    let outcome = &command.outcome;
    if !frame.status.may_become(outcome.status) || outcome.status == Status::Invalidated {
        return Err(Refusal::Transition { frame: Box::new(frame), next: outcome.status });
    }
    let mut events = Vec::new();
    let inner = match outcome.status {
        Status::Failed => Status::Failed,
        _ => Status::Completed,
    };
    end_automatic_children(tree, &frame, &command.anchor, inner, &mut events)?;
    events.push(Event::FrameEnded { frame: num, outcome: outcome.clone(), reason: None });
    end_in_session(tree, &frame, &command.anchor, outcome, &mut events)?;
    let left = match frame.parent {
        Some(_) => tree.planned_children(num),
        None => unfinished_below(tree, num),
    };
    Ok(Decision { events, frames: vec![num], left: left.map_err(Refusal::Store)? })
}

/// Returns the unfinished frames below a root that ends: nobody resumes them unasked.
pub fn unfinished_below<N: Neighbourhood>(
    tree: &N,
    root: FrameNum,
) -> Result<Vec<Frame>, N::Error> {
    let mut left = tree.descendants(root, Status::Planned)?;
    left.extend(tree.descendants(root, Status::Blocked)?);
    left.sort_by_key(|frame| frame.num);
    Ok(left)
}

/// Ends the automatic frames inside a frame that ends, inner frames first. Open frames that somebody chose, and those
/// that another session works on, are waited for.
fn end_automatic_children<N: Neighbourhood>(
    tree: &N,
    frame: &Frame,
    anchor: &Anchor,
    status: Status,
    events: &mut Vec<Event>,
) -> Result<(), Refusal<N::Error>> {
    let open = tree.running_children(frame.num).map_err(Refusal::Store)?;
    for child in &open {
        let inside = child.session == frame.session
            && is_automatic(tree, child.num).map_err(Refusal::Store)?;
        if !inside {
            return Err(Refusal::OpenChildren { frame: Box::new(frame.clone()), open });
        }
    }
    for child in open {
        end_automatic_children(tree, &child, anchor, status, events)?;
        let outcome = Outcome::without_results(status);
        events.push(Event::FrameEnded { frame: child.num, outcome: outcome.clone(), reason: None });
        if let Some(session) = &child.session {
            close_spans(tree, session, child.num, anchor, &outcome, events)?;
        }
    }
    Ok(())
}

pub(super) fn activate<N: Neighbourhood>(
    tree: &N,
    command: &Activate,
    limits: &Limits,
) -> Result<Decision, Refusal<N::Error>> {
    let frame = attached(tree, command.frame)?;
    if !matches!(frame.status, Status::Planned | Status::Blocked) {
        return Err(Refusal::Transition { frame: Box::new(frame), next: Status::InProgress });
    }
    let session = known_session(tree, &command.session)?;
    on_top(tree, &frame, &session)?;
    check_live(tree, limits)?;
    let id = if frame.status == Status::Planned { &command.id } else { &frame.id };
    let num = command.frame;
    let events = vec![
        Event::FrameStarted { frame: num, id: id.clone(), session: session.id.clone() },
        opened(tree, num, &session.id, command.anchor.clone(), SpanOrigin::Activate)?,
        Event::ActiveSet { session: session.id, frame: Some(num) },
    ];
    Ok(about(num, events))
}

pub(super) fn invalidate<N: Neighbourhood>(
    tree: &N,
    command: &Invalidate,
) -> Result<Decision, Refusal<N::Error>> {
    let num = command.frame;
    let frame = attached(tree, num)?;
    if !frame.status.may_become(Status::Invalidated) {
        return Err(Refusal::Transition { frame: Box::new(frame), next: Status::Invalidated });
    }
    let outcome = Outcome {
        status: Status::Invalidated,
        results: frame.results.clone(),
        results_compacted: frame.results_compacted.clone(),
        source: frame.results_source,
    };
    let mut events = vec![Event::FrameEnded {
        frame: num,
        outcome: outcome.clone(),
        reason: Some(command.reason.clone()),
    }];
    let mut frames = vec![num];
    for planned in tree.descendants(num, Status::Planned).map_err(Refusal::Store)? {
        frames.push(planned.num);
        events.push(Event::FrameEnded {
            frame: planned.num,
            outcome: Outcome::without_results(Status::Invalidated),
            reason: Some(format!("{} was invalidated: {}", frame.label(), command.reason)),
        });
    }
    let left = tree.descendants(num, Status::InProgress).map_err(Refusal::Store)?;
    // While the session works on in a descendant, the pop of that one moves it past this frame.
    if left.iter().all(|inner| inner.session != frame.session) {
        end_in_session(tree, &frame, &command.anchor, &outcome, &mut events)?;
    }
    Ok(Decision { events, frames, left })
}

pub(super) fn reopen<N: Neighbourhood>(
    tree: &N,
    command: &Reopen,
    limits: &Limits,
) -> Result<Decision, Refusal<N::Error>> {
    let num = command.frame;
    let frame = attached(tree, num)?;
    if !frame.status.is_terminal() {
        return Err(Refusal::Transition { frame: Box::new(frame), next: Status::InProgress });
    }
    if frame.session.is_none() {
        if frame.id.starts_with(CONSOLIDATED) {
            return Err(Refusal::StandsForOthers(Box::new(frame)));
        }
        return Ok(about(num, vec![Event::FrameReopened { frame: num, status: Status::Planned }]));
    }
    let session = known_session(tree, &command.session)?;
    on_top(tree, &frame, &session)?;
    check_live(tree, limits)?;
    let mut events = vec![Event::FrameReopened { frame: num, status: Status::InProgress }];
    if frame.session.as_ref() != Some(&session.id) {
        events.push(Event::FrameStarted {
            frame: num,
            id: frame.id.clone(),
            session: session.id.clone(),
        });
    }
    // One that was invalidated while an inner frame went on may still have its old span open.
    close_spans(tree, &session.id, num, &command.anchor, &outcome_of(&frame), &mut events)?;
    events.push(opened(tree, num, &session.id, command.anchor.clone(), SpanOrigin::Reopen)?);
    events.push(Event::ActiveSet { session: session.id, frame: Some(num) });
    Ok(about(num, events))
}

/// Returns a frame that is in the tree. One that was undone can only be redone.
pub(super) fn attached<N: Neighbourhood>(
    tree: &N,
    num: FrameNum,
) -> Result<Frame, Refusal<N::Error>> {
    let frame = tree.frame(num).map_err(Refusal::Store)?;
    if frame.detached {
        return Err(Refusal::Undone(Box::new(frame)));
    }
    Ok(frame)
}

/// A new frame in progress below `parent`, within the limits.
pub(super) fn begun<N: Neighbourhood>(
    tree: &N,
    parent: Option<FrameNum>,
    session: &str,
    identity: &Identity,
    id: String,
    limits: &Limits,
    now: i64,
) -> Result<Frame, Refusal<N::Error>> {
    let depth = match parent {
        Some(num) => tree.frame(num).map_err(Refusal::Store)?.depth + 1,
        None => 0,
    };
    check_place(tree, parent, depth, 1, limits)?;
    check_live(tree, limits)?;
    let num = tree.next_frame().map_err(Refusal::Store)?;
    let planned = Frame::planned(num, id, parent, depth, identity.clone(), now);
    Ok(Frame { session: Some(session.to_owned()), status: Status::InProgress, ..planned })
}

/// Checks that a frame at `depth` (0 for a root) and `added` more children are within the limits.
pub(super) fn check_place<N: Neighbourhood>(
    tree: &N,
    parent: Option<FrameNum>,
    depth: u32,
    added: u64,
    limits: &Limits,
) -> Result<(), Refusal<N::Error>> {
    if depth >= limits.depth {
        return Err(Refusal::Limit {
            what: "the depth of the tree",
            found: u64::from(depth) + 1,
            limit: u64::from(limits.depth),
        });
    }
    // Roots are the user's own conversations: no agent that runs away makes them.
    if parent.is_some() {
        let found = tree.child_count(parent).map_err(Refusal::Store)? + added;
        check_children(found, limits)?;
    }
    Ok(())
}

pub(super) fn check_children<E>(found: u64, limits: &Limits) -> Result<(), Refusal<E>> {
    if found > limits.children {
        return Err(Refusal::Limit {
            what: "the number of children of one frame",
            found,
            limit: limits.children,
        });
    }
    Ok(())
}

pub(super) fn check_live<N: Neighbourhood>(
    tree: &N,
    limits: &Limits,
) -> Result<(), Refusal<N::Error>> {
    let mut found = tree.live_frames().map_err(Refusal::Store)? + 1;
    if found > limits.live_frames {
        // This read costs more, so it is made only here: frames that a recording left open do not count against the
        // limit.
        found = found.saturating_sub(tree.left_open_frames().map_err(Refusal::Store)?);
    }
    if found > limits.live_frames {
        return Err(Refusal::Limit {
            what: "the number of frames in progress",
            found,
            limit: limits.live_frames,
        });
    }
    Ok(())
}

/// Work is last in, first out: a frame begins in a session only as a child of its active frame, or as a root where
/// none is active. Automatic frames do not count: an open one stays open around the new frame, and one that has ended
/// does not block the frames that are planned below it.
pub(super) fn on_top<N: Neighbourhood>(
    tree: &N,
    frame: &Frame,
    session: &Session,
) -> Result<(), Refusal<N::Error>> {
    if frame.parent == session.active {
        return Ok(());
    }
    let chosen = nearest_chosen(tree, frame.parent).map_err(Refusal::Store)?;
    if let Some(parent) = chosen {
        let parent = tree.frame(parent).map_err(Refusal::Store)?;
        if parent.status != Status::InProgress {
            return Err(Refusal::ParentNotOpen {
                frame: Box::new(frame.clone()),
                parent: Box::new(parent),
            });
        }
    }
    if chosen.is_some() && chosen == nearest_chosen(tree, session.active).map_err(Refusal::Store)? {
        return Ok(());
    }
    match session.active {
        Some(active) => Err(Refusal::NotOnTop {
            frame: Box::new(frame.clone()),
            open: Box::new(tree.frame(active).map_err(Refusal::Store)?),
        }),
        None => Err(Refusal::NothingOpen { session: session.id.clone() }),
    }
}

/// Closes a frame's spans in the session that works in it and, if it was the active one there, moves
/// on.
fn end_in_session<N: Neighbourhood>(
    tree: &N,
    frame: &Frame,
    anchor: &Anchor,
    outcome: &Outcome,
    events: &mut Vec<Event>,
) -> Result<(), Refusal<N::Error>> {
    let Some(id) = &frame.session else {
        return Ok(());
    };
    close_spans(tree, id, frame.num, anchor, outcome, events)?;
    let session = known_session(tree, id)?;
    if session.active == Some(frame.num) || ends_active(tree, &session, events)? {
        leave(tree, id, frame, anchor, events)?;
    }
    Ok(())
}

/// Whether a session's active frame is among those that end, inside the one that a command ends.
fn ends_active<N: Neighbourhood>(
    tree: &N,
    session: &Session,
    events: &[Event],
) -> Result<bool, Refusal<N::Error>> {
    let Some(active) = session.active else { return Ok(false) };
    let ends = events
        .iter()
        .any(|event| matches!(event, Event::FrameEnded { frame, .. } if *frame == active));
    Ok(ends && is_automatic(tree, active).map_err(Refusal::Store)?)
}

pub(super) fn known_session<N: Neighbourhood>(
    tree: &N,
    id: &str,
) -> Result<Session, Refusal<N::Error>> {
    tree.session(id)
        .map_err(Refusal::Store)?
        .ok_or_else(|| Refusal::NothingOpen { session: id.to_owned() })
}
