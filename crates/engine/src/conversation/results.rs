//! Delivers the results of errands to the session that started them, once: by the answer of the call that waited, or
//! where that was cut off by a note at the next request. An activation that was undone takes its errand along.

use callstack_core::decide::Reconcile;
use callstack_core::event::{Errand, Event};
use callstack_core::fold::Placement;
use callstack_core::returned::told_late;
use callstack_core::transcript::{CallState, Message, PartBody, Role, SpanNum};
use callstack_store::View;

use super::undo::{Seen, State};
use super::{Conversation, notes};
use crate::conversation::notes::Notes;
use crate::conversation::undo::Undo;
use crate::errands::{cut_off, works_in};
use crate::error::EngineError;

impl Notes {
    /// Records the results that the session has received, and delivers the others. Returns whether there were any.
    pub(super) fn tell_results(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<bool, EngineError> {
        if conversation.errands.iter().all(|stored| stored.delivered) {
            return Ok(false);
        }
        let seen = Seen::of(&conversation.transcript, &conversation.order);
        let mut arrived = Vec::new();
        let mut missed = Vec::new();
        for stored in conversation.errands.iter().filter(|stored| !stored.delivered) {
            let errand = &stored.errand;
            match call_in(&conversation.transcript, errand) {
                Some(CallState::Completed) => arrived.push(delivered(errand)),
                Some(CallState::Failed | CallState::Open) => missed.push(errand.clone()),
                None if seen.of_call(&errand.call) == State::Unknown => missed.push(errand.clone()),
                None => {}
            }
        }
        let Some(last) = conversation.transcript.last() else { return Ok(false) };
        let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
        let last = last.id.clone();
        if arrived.is_empty() && missed.is_empty() {
            return Ok(false);
        }
        self.kernel.write(|change| {
            change.append(self.kernel.now(), &arrived)?;
            for errand in &missed {
                if works_in(&change.view().frame(errand.frame)?, &errand.session) {
                    let cut = cut_off("It was cut off: the call that waited for it ended first.");
                    self.delegation.end_all(change, errand.frame, &cut)?;
                }
                let frame = change.view().frame(errand.frame)?;
                let owed = self.delegation.owed(change, &frame, session)?;
                let once = format!("errand{}", errand.span.0);
                let note =
                    notes::note(session, (&last, placement.clone()), &once, told_late(&owed));
                change.append(self.kernel.now(), &[note, delivered(errand)])?;
            }
            Ok::<_, EngineError>(())
        })?;
        self.sessions.load_spans(conversation, session)?;
        Ok(!missed.is_empty())
    }

    /// Records the results that the host's summariser receives.
    pub(super) fn note_results(
        &self,
        conversation: &Conversation,
        transcript: &[Message],
    ) -> Result<(), EngineError> {
        let open = conversation.errands.iter().filter(|stored| !stored.delivered);
        let told =
            open.filter(|stored| call_in(transcript, &stored.errand) == Some(CallState::Completed));
        let events: Vec<_> = told.map(|stored| delivered(&stored.errand)).collect();
        if events.is_empty() {
            return Ok(());
        }
        Ok(self.kernel.write(|change| change.append(self.kernel.now(), &events))?)
    }
}

impl Undo {
    /// Adds to `reconcile` the consequences for errands of a session, by whether their calls are in its transcript.
    pub(super) fn follow_errands(
        &self,
        conversation: &Conversation,
        reconcile: &mut Reconcile,
        state_of: impl Fn(&Errand) -> State,
    ) -> Result<(), EngineError> {
        if conversation.errands.is_empty() {
            return Ok(());
        }
        self.kernel.read(|view| {
            for stored in &conversation.errands {
                let errand = &stored.errand;
                let detached = view.span_row(errand.span)?.detached;
                match state_of(errand) {
                    State::Gone if !detached => spans(view, errand, false, &mut reconcile.detach)?,
                    State::There if detached => spans(view, errand, true, &mut reconcile.attach)?,
                    _ => {}
                }
            }
            Ok(())
        })
    }
}

/// How the call that waits for an errand ended, if the transcript shows it.
pub(super) fn call_in(transcript: &[Message], errand: &Errand) -> Option<CallState> {
    let id = errand.call.message.as_deref()?;
    let message = transcript.iter().rfind(|message| message.id == id)?;
    message.parts.iter().rev().find_map(|part| match &part.body {
        PartBody::Tool { call, state, .. } if Some(call) == errand.call.call.as_ref() => {
            Some(*state)
        }
        _ => None,
    })
}

fn delivered(errand: &Errand) -> Event {
    Event::ErrandDelivered { span: errand.span }
}

/// Returns the spans of an errand, in its session and in those that worked for that one.
fn spans(
    view: &View<'_>,
    errand: &Errand,
    detached: bool,
    found: &mut Vec<SpanNum>,
) -> Result<(), EngineError> {
    for span in view.session_spans(&errand.session)? {
        if span.num >= errand.span && span.detached == detached && !found.contains(&span.num) {
            found.push(span.num);
        }
    }
    for inner in view.errands_of(&errand.session)? {
        if inner.errand.span > errand.span {
            spans(view, &inner.errand, detached, found)?;
        }
    }
    Ok(())
}
