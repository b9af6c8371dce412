//! A call that is no longer in the transcript was undone; one that is back was redone.
//!
//! Messages missing at the front are not undone but hidden by a compaction of the host. Undone messages are always
//! the end of the transcript: something older is still shown.

use std::collections::HashSet;
use std::sync::Arc;

use callstack_core::decide::{Command, Reconcile};
use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::session_state::SessionState;
use callstack_core::transcript::{Anchor, Span, SpanOrigin};
use callstack_store::Change;

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

    /// Compares the frames with the calls that the transcript shows. With `may_be_undone` also the messages are compared
    /// that are known to be undone.
    pub(super) fn compare(
        &self,
        conversation: &Conversation,
        session: &str,
        may_be_undone: bool,
    ) -> Result<Undone, EngineError> {
        let seen = Seen::of(conversation.messages(), &conversation.order);
        let messages = if may_be_undone {
            let is_gone = |id: &str| {
                !seen.messages.contains_key(id) && seen.state_of_missing(id) == State::Gone
            };
            self.undone_messages(conversation, session, in_order(conversation, is_gone))?
        } else {
            None
        };
        let mut reconcile = changes(&conversation.spans, session, |anchor| seen.state_of(anchor));
        follow_delegations(&self.kernel, conversation, &mut reconcile, |delegation| {
            seen.of_call(&delegation.call)
        })?;
        Ok(Undone { messages, reconcile })
    }

    /// Detaches and attaches the frames, and keeps which messages are undone. Returns the changed frames, whose files
    /// are to be looked at again.
    pub(super) fn carry_out(
        &self,
        change: &mut Change<'_>,
        undone: &Undone,
    ) -> Result<Vec<FrameNum>, EngineError> {
        let event = undone.messages.as_ref().and_then(|messages| messages.event.as_ref());
        if let Some(event) = event {
            change.append(self.kernel.now(), std::slice::from_ref(event))?;
        }
        if is_nothing(&undone.reconcile) {
            return Ok(Vec::new());
        }
        let command = Command::Reconcile(undone.reconcile.clone());
        Ok(self.frames.change_in(change, &command)?.frames)
    }

    /// Looks at the files of frames again. No transaction waits for them.
    pub(super) fn hash_again(&self, frames: &[FrameNum]) -> Result<(), EngineError> {
        frames.iter().try_for_each(|frame| self.frames.hash_again(*frame))
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

    /// Returns the change of the undone messages to these, if it is one.
    fn undone_messages(
        &self,
        conversation: &Conversation,
        session: &str,
        mut undone: Vec<String>,
    ) -> Result<Option<UndoneMessages>, EngineError> {
        if undone.is_empty() && conversation.undone.as_ref() == Some(&undone) {
            return Ok(None);
        }
        self.kernel.read(|view| {
            if !undone.is_empty() {
                let stored = view.message_order(session)?;
                undone = with_replies(&undone, &stored, |id| conversation.order.contains_key(id));
            }
            if conversation.undone.as_ref() == Some(&undone) {
                return Ok(None);
            }
            let is_known = view.session_row(session)?.is_some();
            let is_new = is_known && view.undone_messages(session)? != undone;
            let event = is_new.then(|| Event::SessionStateSet {
                session: session.to_owned(),
                state: SessionState::Undone { messages: undone.clone() },
            });
            let is_kept = is_known || undone.is_empty();
            Ok(Some(UndoneMessages { messages: undone, event, is_kept }))
        })
    }

    fn set_undone(
        &self,
        conversation: &mut Conversation,
        session: &str,
        undone: Vec<String>,
    ) -> Result<(), EngineError> {
        let Some(undone) = self.undone_messages(conversation, session, undone)? else {
            return Ok(());
        };
        if let Some(event) = &undone.event {
            let event = std::slice::from_ref(event);
            self.kernel.write(|change| change.append(self.kernel.now(), event))?;
        }
        conversation.know_undone(undone);
        Ok(())
    }

    fn reconcile(&self, reconcile: Reconcile) -> Result<(), EngineError> {
        if is_nothing(&reconcile) {
            return Ok(());
        }
        let decision = self.frames.change(&Command::Reconcile(reconcile))?;
        self.hash_again(&decision.frames)
    }
}

/// The differences between the messages and calls that a host shows and those that the store has.
pub(super) struct Undone {
    /// The messages that are undone now, where they have changed.
    pub(super) messages: Option<UndoneMessages>,
    reconcile: Reconcile,
}

impl Undone {
    /// Whether there is nothing to be stored.
    pub(super) fn is_stored(&self) -> bool {
        let messages = self.messages.as_ref();
        messages.is_none_or(|messages| messages.event.is_none()) && is_nothing(&self.reconcile)
    }
}

/// Messages that a host has undone.
pub(super) struct UndoneMessages {
    messages: Vec<String>,
    /// The event that stores them, where the store has others.
    event: Option<Event>,
    /// Whether the store has them then: one that does not know the session has nothing of it.
    is_kept: bool,
}

impl Conversation {
    /// Takes over messages that the store has as undone.
    pub(super) fn know_undone(&mut self, undone: UndoneMessages) {
        if undone.is_kept {
            self.undone = Some(undone.messages);
        }
    }
}

fn is_nothing(reconcile: &Reconcile) -> bool {
    let Reconcile { detach, attach, unclose, reclose, .. } = reconcile;
    [detach, attach, unclose, reclose].into_iter().all(Vec::is_empty)
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
