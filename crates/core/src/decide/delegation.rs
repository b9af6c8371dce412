//! A frame that is worked on in a session of its own, for a call that waits for it.

use super::life::{attached, check_live, known_session, on_top};
use super::{Decision, Neighbourhood, Refusal, about};
use crate::event::{Delegation, Event, Session};
use crate::frame::{FrameNum, Status};
use crate::limits::Limits;
use crate::transcript::{Anchor, Span, SpanOrigin};

/// Begin a planned frame, or take up a blocked one, in a session of its own. The caller goes on in
/// the frame that it has open.
#[derive(Clone, Debug)]
pub struct Delegate {
    /// The frame.
    pub frame: FrameNum,
    /// The session that will work on it and on nothing else: a new one, or the one that worked on it
    /// before it was blocked.
    pub session: String,
    /// Its host.
    pub host: String,
    /// The last message that it has.
    pub after: Option<String>,
    /// The session that asks.
    pub caller: String,
    /// The call that will get the frame's results.
    pub call: Anchor,
}

pub(super) fn delegate<N: Neighbourhood>(
    tree: &N,
    command: &Delegate,
    limits: &Limits,
) -> Result<Decision, Refusal<N::Error>> {
    let num = command.frame;
    let frame = attached(tree, num)?;
    if !matches!(frame.status, Status::Planned | Status::Blocked) {
        return Err(Refusal::Transition { frame: Box::new(frame), next: Status::InProgress });
    }
    let caller = known_session(tree, &command.caller)?;
    on_top(tree, &frame, &caller)?;
    check_live(tree, limits)?;
    let found = tree.live_sessions().map_err(Refusal::Store)? + 1;
    if found > limits.live_sessions {
        return Err(Refusal::Limit {
            what: "the number of sessions at work",
            found,
            limit: limits.live_sessions,
        });
    }
    let id = &command.session;
    let known = tree.session(id).map_err(Refusal::Store)?;
    if let Some(open) = known.as_ref().and_then(|session| session.active) {
        let open = Box::new(tree.frame(open).map_err(Refusal::Store)?);
        return Err(Refusal::NotOnTop { frame: Box::new(frame), open });
    }
    let mut events = Vec::new();
    if known.is_none() {
        events.push(Event::SessionOpened {
            session: Session {
                id: id.clone(),
                host: command.host.clone(),
                parent: Some(command.caller.clone()),
                root: None,
                active: None,
            },
        });
    }
    events.push(Event::FrameStarted { frame: num, id: id.clone(), session: id.clone() });
    if known.is_none_or(|session| session.root.is_none()) {
        events.push(Event::RootSet { session: id.clone(), frame: num });
    }
    let span = tree.next_span().map_err(Refusal::Store)?;
    // The whole session is the frame's: nothing would be left of it if it were folded.
    events.push(Event::SpanOpened {
        span: Box::new(Span {
            num: span,
            frame: num,
            session: id.clone(),
            open: Anchor { message: command.after.clone(), call: None },
            origin: SpanOrigin::Activate,
            close: None,
            outcome: None,
            close_undone: false,
            detached: false,
            foldable: false,
            fold: None,
        }),
    });
    events.push(Event::ActiveSet { session: id.clone(), frame: Some(num) });
    events.push(Event::DelegationBegun {
        delegation: Box::new(Delegation {
            frame: num,
            session: id.clone(),
            span,
            caller: command.caller.clone(),
            call: command.call.clone(),
        }),
    });
    Ok(about(num, events))
}
