//! A call that is no longer in the transcript was undone; one that is back was redone.
//!
//! Messages missing at the front are not undone but hidden by a compaction of the host. Undone messages are always
//! the end of the transcript: something older is still shown.

use std::collections::HashSet;
use std::sync::Arc;

use callstack_core::decide::{Command, Reconcile};
use callstack_core::event::Event;
use callstack_core::session_state::SessionState;
use callstack_core::transcript::{Anchor, Span, SpanOrigin};

use super::Conversation;
use super::results::follow_delegations;
use super::seen::{Seen, State};
use crate::error::EngineError;
use crate::frames::Frames;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::queries::Queries;
use crate::sessions::Sessions;

/// Follows messages that a host undid or brought back.
pub(crate) struct Undo {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    frames: Arc<Frames>,
    sessions: Arc<Sessions>,
}

impl Undo {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        frames: &Arc<Frames>,
        sessions: &Arc<Sessions>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            frames: Arc::clone(frames),
            sessions: Arc::clone(sessions),
        }
    }

    /// Brings frames in line with the calls that the transcript shows. Whether anything changed. With `may_be_undone`
    /// it is kept which messages are not shown any more.
    pub(super) fn follow_undo(
        &self,
        conversation: &mut Conversation,
        session: &str,
        may_be_undone: bool,
    ) -> Result<bool, EngineError> {
        if may_be_undone {
            self.keep_undone(conversation, session)?;
        }
        let seen = Seen::of(conversation.messages(), &conversation.order);
        let mut reconcile = changes(&conversation.spans, session, |anchor| seen.state_of(anchor));
        follow_delegations(&self.kernel, conversation, &mut reconcile, |delegation| {
            seen.of_call(&delegation.call)
        })?;
        self.reconcile(reconcile)
    }

    /// Follows a host that has undone everything from a message on, before any further call shows it.
    pub(crate) fn undone_from(&self, session: &str, message: &str) -> Result<(), EngineError> {
        let conversation = self.sessions.conversation(session);
        let mut conversation = lock(&conversation);
        self.sessions.load(&mut conversation, session)?;
        let Some(from) = conversation.order.get(message).copied() else { return Ok(()) };
        let state_of = |anchor: &Anchor| {
            let place = anchor.message.as_ref().and_then(|id| conversation.order.get(id));
            match place {
                Some(place) if *place >= from => State::Gone,
                _ => State::Unknown,
            }
        };
        let mut reconcile = changes(&conversation.spans, session, state_of);
        follow_delegations(&self.kernel, &conversation, &mut reconcile, |delegation| {
            state_of(&delegation.call)
        })?;
        self.reconcile(reconcile)?;
        let known = self.undone(&conversation, session)?;
        let is_gone = |id: &str| {
            known.contains(id) || conversation.order.get(id).is_some_and(|place| *place >= from)
        };
        let undone = in_order(&conversation, is_gone);
        self.set_undone(&mut conversation, session, undone)?;
        let pending = self.queries.pending_compaction(session)?;
        let place =
            pending.and_then(|pending| conversation.order.get(&pending.anchor.message?).copied());
        if place.is_some_and(|place| place >= from) {
            self.queries
                .clear_compaction_tracking(session, "the call that asked for it was undone")?;
        }
        Ok(())
    }

    /// Follows a host that has taken an undo back: everything is shown again except for messages that it removed for
    /// good.
    pub(crate) fn redone(
        &self,
        session: &str,
        removed: &HashSet<String>,
    ) -> Result<(), EngineError> {
        let conversation = self.sessions.conversation(session);
        let mut conversation = lock(&conversation);
        self.sessions.load(&mut conversation, session)?;
        // Messages that an earlier undo removed do not come back with this one.
        let transcript = &conversation.transcript;
        let was_shown = |id: &str| {
            transcript.is_empty() || transcript.iter().any(|entry| entry.message.id == id)
        };
        let state_of = |anchor: &Anchor| match &anchor.message {
            Some(message) if removed.contains(message) || !was_shown(message) => State::Unknown,
            _ => State::There,
        };
        let mut reconcile = changes(&conversation.spans, session, state_of);
        follow_delegations(&self.kernel, &conversation, &mut reconcile, |delegation| {
            state_of(&delegation.call)
        })?;
        self.reconcile(reconcile)?;
        let mut undone = self.undone(&conversation, session)?;
        undone.retain(|message| removed.contains(message) || !was_shown(message));
        let undone = in_order(&conversation, |id| undone.contains(id));
        self.set_undone(&mut conversation, session, undone)
    }

    /// The messages that are known to be undone.
    fn undone(
        &self,
        conversation: &Conversation,
        session: &str,
    ) -> Result<HashSet<String>, EngineError> {
        let known = match &conversation.undone {
            Some(known) => known.clone(),
            None => self.kernel.read(|view| view.undone_messages(session))?,
        };
        Ok(known.into_iter().collect())
    }

    /// Keeps which messages the transcript does not show any more, for views of the session.
    fn keep_undone(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        let seen = Seen::of(conversation.messages(), &conversation.order);
        let is_gone =
            |id: &str| !seen.messages.contains_key(id) && seen.state_of_missing(id) == State::Gone;
        let undone = in_order(conversation, is_gone);
        self.set_undone(conversation, session, undone)
    }

    fn set_undone(
        &self,
        conversation: &mut Conversation,
        session: &str,
        mut undone: Vec<String>,
    ) -> Result<(), EngineError> {
        if !undone.is_empty() {
            let stored = self.kernel.read(|view| view.message_order(session))?;
            undone = with_replies(&undone, &stored, |id| conversation.order.contains_key(id));
        }
        if conversation.undone.as_ref() == Some(&undone) {
            return Ok(());
        }
        let (is_known, kept) = self.kernel.read(|view| {
            Ok::<_, EngineError>((
                view.session_row(session)?.is_some(),
                view.undone_messages(session)?,
            ))
        })?;
        if is_known && kept != undone {
            let state = SessionState::Undone { messages: undone.clone() };
            let event = Event::SessionStateSet { session: session.to_owned(), state };
            self.kernel.write(|change| change.append(self.kernel.now(), &[event]))?;
        }
        if is_known || undone.is_empty() {
            conversation.undone = Some(undone);
        }
        Ok(())
    }

    fn reconcile(&self, reconcile: Reconcile) -> Result<bool, EngineError> {
        let none = reconcile.detach.is_empty()
            && reconcile.attach.is_empty()
            && reconcile.unclose.is_empty()
            && reconcile.reclose.is_empty();
        if none {
            return Ok(false);
        }
        let decision = self.frames.change(&Command::Reconcile(reconcile))?;
        for frame in &decision.frames {
            self.frames.hash_again(*frame)?;
        }
        Ok(!decision.events.is_empty())
    }
}

/// Returns undone messages with those stored right after them that the host never showed: the closing reply of a turn is
/// stored before the next call shows it, and an undo may come first.
fn with_replies(
    undone: &[String],
    stored: &[String],
    was_shown: impl Fn(&str) -> bool,
) -> Vec<String> {
    let known: HashSet<&String> = undone.iter().collect();
    let mut follows = false;
    let gone = |id: &&String| {
        follows = known.contains(id) || (follows && !was_shown(id));
        follows
    };
    stored.iter().filter(gone).cloned().collect()
}

/// The messages that ever appeared and are such ones, in order.
fn in_order(conversation: &Conversation, is_it: impl Fn(&str) -> bool) -> Vec<String> {
    let order = conversation.order.iter().filter(|(id, _)| is_it(id));
    let mut found: Vec<(u64, &String)> = order.map(|(id, place)| (*place, id)).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id)| id.clone()).collect()
}

fn changes(spans: &[Span], session: &str, state_of: impl Fn(&Anchor) -> State) -> Reconcile {
    let mut reconcile = Reconcile { session: session.to_owned(), ..Reconcile::default() };
    for span in spans {
        // An automatic frame began and ended with a message.
        let state_of = |anchor: &Anchor| {
            if anchor.call.is_some() || span.origin.is_automatic() {
                state_of(anchor)
            } else {
                State::Unknown
            }
        };
        // A frame that was closed after the fact began with the call that closed it.
        if span.origin == SpanOrigin::Since {
            let close = span.close.as_ref().map_or(State::Unknown, &state_of);
            match (state_of(&span.open), close) {
                (State::Gone, _) | (_, State::Gone) if !span.detached => {
                    reconcile.detach.push(span.num);
                }
                (State::There, State::There) if span.detached => reconcile.attach.push(span.num),
                _ => {}
            }
            continue;
        }
        match state_of(&span.open) {
            State::Gone if !span.detached => reconcile.detach.push(span.num),
            State::There if span.detached => reconcile.attach.push(span.num),
            _ => {}
        }
        let Some(close) = &span.close else { continue };
        match state_of(close) {
            State::Gone if !span.close_undone => reconcile.unclose.push(span.num),
            State::There if span.close_undone => reconcile.reclose.push(span.num),
            _ => {}
        }
    }
    reconcile
}
