//! Delivers the results of delegations to the session that started them, once: in the answer of the waiting call or, if
//! that call was cut off, in a note at the next request. Undoing an activation also cancels its delegation.

use callstack_core::decide::Reconcile;
use callstack_core::event::{Delegation, Event};
use callstack_core::fold::Placement;
use callstack_core::rendered_slot::NoteKey;
use callstack_core::returned::returned_late;
use callstack_core::transcript::{CallState, Message, Role, SpanNum};
use callstack_store::View;

use super::Conversation;
use super::seen::{Seen, State};
use super::stored_notes::note;
use crate::conversation::notes::Notes;
use crate::delegations::{cut_off, works_in};
use crate::error::EngineError;
use crate::kernel::Kernel;

impl Notes {
    /// Records the results that the session has received, and delivers the others. Returns whether there were any.
    pub(super) fn deliver_results(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<bool, EngineError> {
        if conversation.delegations.iter().all(|stored| stored.delivered) {
            return Ok(false);
        }
        let seen = Seen::of(conversation.messages(), &conversation.order);
        let mut arrived = Vec::new();
        let mut missed = Vec::new();
        for stored in conversation.delegations.iter().filter(|stored| !stored.delivered) {
            let delegation = &stored.delegation;
            match call_in(conversation.messages(), delegation) {
                Some(CallState::Completed) => arrived.push(delivered(delegation)),
                Some(CallState::Failed | CallState::Open) => missed.push(delegation.clone()),
                None if seen.of_call(&delegation.call) == State::Unknown => {
                    missed.push(delegation.clone());
                }
                None => {}
            }
        }
        let Some(last) = conversation.last() else { return Ok(false) };
        let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
        let last = last.id.clone();
        if arrived.is_empty() && missed.is_empty() {
            return Ok(false);
        }
        self.sessions.write(conversation, session, |_, change| {
            change.append(self.kernel.now(), &arrived)?;
            for delegation in &missed {
                if works_in(&change.view().frame(delegation.frame)?, &delegation.session) {
                    let cut = cut_off("It was cut off: the call that waited for it ended first.");
                    self.delegation.end_all(change, delegation.frame, &cut)?;
                }
                let frame = change.view().frame(delegation.frame)?;
                let owed = self.delegation.owed(change, &frame, session)?;
                let key = NoteKey::Delegation(delegation.span);
                let note = note(session, (&last, placement.clone()), key, returned_late(&owed));
                change.append(self.kernel.now(), &[note, delivered(delegation)])?;
            }
            Ok(())
        })?;
        Ok(!missed.is_empty())
    }

    /// Records the results that the host's summariser receives.
    pub(super) fn note_results(
        &self,
        conversation: &Conversation,
        transcript: &[Message],
    ) -> Result<(), EngineError> {
        let open = conversation.delegations.iter().filter(|stored| !stored.delivered);
        let received = open.filter(|stored| {
            call_in(transcript.iter(), &stored.delegation) == Some(CallState::Completed)
        });
        let events: Vec<_> = received.map(|stored| delivered(&stored.delegation)).collect();
        if events.is_empty() {
            return Ok(());
        }
        Ok(self.kernel.write(|change| change.append(self.kernel.now(), &events))?)
    }
}

/// Adds to `reconcile` the consequences for delegations of a session, by whether their calls are in its transcript.
pub(super) fn follow_delegations(
    kernel: &Kernel,
    conversation: &Conversation,
    reconcile: &mut Reconcile,
    state_of: impl Fn(&Delegation) -> State,
) -> Result<(), EngineError> {
    if conversation.delegations.is_empty() {
        return Ok(());
    }
    kernel.read(|view| {
        for stored in &conversation.delegations {
            let delegation = &stored.delegation;
            let detached = view.span_row(delegation.span)?.detached;
            match state_of(delegation) {
                State::Gone if !detached => {
                    spans(view, delegation, false, &mut reconcile.detach)?;
                }
                State::There if detached => {
                    spans(view, delegation, true, &mut reconcile.attach)?;
                }
                _ => {}
            }
        }
        Ok(())
    })
}

/// How the call that waits for a delegation ended, if the transcript shows it.
pub(super) fn call_in<'a>(
    mut transcript: impl DoubleEndedIterator<Item = &'a Message>,
    delegation: &Delegation,
) -> Option<CallState> {
    let id = delegation.call.message.as_deref()?;
    let message = transcript.rfind(|message| message.id == id)?;
    Some(message.call(delegation.call.call.as_deref()?)?.state)
}

fn delivered(delegation: &Delegation) -> Event {
    Event::DelegationDelivered { span: delegation.span }
}

/// Returns the spans of a delegation, in its session and in those that worked for that one.
fn spans(
    view: &View<'_>,
    delegation: &Delegation,
    detached: bool,
    found: &mut Vec<SpanNum>,
) -> Result<(), EngineError> {
    for span in view.session_spans(&delegation.session)? {
        if span.num >= delegation.span && span.detached == detached && !found.contains(&span.num) {
            found.push(span.num);
        }
    }
    for inner in view.delegations_of(&delegation.session)? {
        if inner.delegation.span > delegation.span {
            spans(view, &inner.delegation, detached, found)?;
        }
    }
    Ok(())
}
