//! Suggestions to the model: each is said once and then stands at its place for ever, so that what was
//! sent stays as it was.

use callstack_core::autonomy::Kind;
use callstack_core::event::Event;
use callstack_core::fold::{Note, Placement};
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::transcript::{Role, Span, SpanOrigin};
use callstack_store::{StoreError, View};

use super::Conversation;
use crate::autonomy::Proposal;
use crate::compaction::told;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::settings::{self, AutonomySettings, Level};

const SLOT: &str = "note:";
/// Tells the announcement that outputs will leave from other notes.
pub(super) const LEAVING: &str = "leaving";
/// Tells the note that holds a context from others.
const CONTEXT: &str = "context";

/// The notes of a session, in the order in which they were first sent.
pub(super) fn kept(view: &View<'_>, session: &str) -> Result<Vec<Note>, StoreError> {
    Ok(rows(view, session)?.into_iter().map(|(note, _)| note).collect())
}

/// The same, each with what tells it from others at its place.
pub(super) fn rows(view: &View<'_>, session: &str) -> Result<Vec<(Note, String)>, StoreError> {
    let notes = view.renders(session, SLOT)?;
    Ok(notes
        .into_iter()
        .filter_map(|(slot, text, _)| {
            let (placement, place) = slot.split_once(':')?;
            let (message, once) = place.split_once('|')?;
            let placement =
                if placement == "insert" { Placement::Insert } else { Placement::Append };
            Some((Note { message: message.to_owned(), text, placement }, once.to_owned()))
        })
        .collect())
}

/// The message at which it was last announced that outputs will leave.
pub(super) fn leaving(view: &View<'_>, session: &str) -> Result<Option<String>, StoreError> {
    let rows = rows(view, session)?;
    Ok(rows.into_iter().rfind(|(_, once)| once == LEAVING).map(|(note, _)| note.message))
}

/// The events that say the same in another session, where messages have other ids.
pub(super) fn marks(
    rows: &[(Note, String)],
    session: &str,
    moved: impl Fn(&str) -> Option<String>,
) -> Vec<Event> {
    let events = rows.iter().filter_map(|(said, once)| {
        let message = moved(&said.message)?;
        Some(note(session, (&message, said.placement), once, said.text.clone()))
    });
    events.collect()
}

/// The event that says a text behind a message from now on. `once` tells it from other notes at the
/// same place.
pub(super) fn note(session: &str, place: (&str, Placement), once: &str, text: String) -> Event {
    let (message, placement) = place;
    let placement = if placement == Placement::Insert { "insert" } else { "append" };
    Event::Rendered {
        session: session.to_owned(),
        slot: format!("{SLOT}{placement}:{message}|{once}"),
        text,
        renderer: RENDERER_VERSION,
    }
}

impl Engine {
    /// Tells of compactions that were asked for and are over, and forgets one whose call was undone.
    pub(super) fn tell_compactions(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        let (pending, untold) = self.store.read(|view| {
            Ok::<_, EngineError>((
                view.pending_compaction(session)?,
                view.untold_compactions(session)?,
            ))
        })?;
        if pending.is_some_and(|pending| conversation.has_undone(&pending.anchor)) {
            self.clear_compaction_tracking(session, "the call that asked for it was undone")?;
        }
        let Some(last) = conversation.transcript.last().filter(|_| !untold.is_empty()) else {
            return Ok(());
        };
        let placement = if last.role == Role::User { "append" } else { "insert" };
        let events = [
            Event::Rendered {
                session: session.to_owned(),
                slot: format!("{SLOT}{placement}:{}|compaction", last.id),
                text: told(&untold, conversation),
                renderer: RENDERER_VERSION,
            },
            Event::CompactionTold { session: session.to_owned() },
        ];
        self.store.write(|change| change.append(self.now(), &events))?;
        conversation.notes = self.store.read(|view| kept(view, session))?;
        Ok(())
    }

    /// Takes note that the agent was told of all compactions so far.
    pub(crate) fn told_of_compactions(&self, session: &str) -> Result<(), EngineError> {
        let event = Event::CompactionTold { session: session.to_owned() };
        Ok(self.store.write(|change| change.append(self.now(), &[event]))?)
    }

    /// Tells a session of the frame that it got later than its system prompt, once.
    pub(super) fn tell_late_context(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        let pushed = |span: &Span| span.origin != SpanOrigin::Root;
        // What a push was answered holds the context, too.
        if conversation.spans.is_empty() || conversation.spans.iter().any(pushed) {
            return Ok(());
        }
        let Some(text) = self.late_context(session, conversation.epoch())? else { return Ok(()) };
        let told = self.store.read(|view| rows(view, session))?;
        let Some(last) = conversation.last().filter(|_| told.iter().all(|it| it.1 != CONTEXT))
        else {
            return Ok(());
        };
        let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
        let event = note(session, (&last.id, placement), CONTEXT, text);
        self.store.write(|change| change.append(self.now(), &[event]))?;
        conversation.notes = self.store.read(|view| kept(view, session))?;
        Ok(())
    }

    /// Suggests what is due at this call. Whether the model is told something new.
    pub(super) fn make_notes(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<bool, EngineError> {
        let settings = self.current_settings()?;
        let autonomy = &settings.autonomy;
        if autonomy.level == Level::Manual {
            return Ok(false);
        }
        // A system prompt that is built anew with every change has them in it.
        let say = autonomy.suggest_in_context && settings.placement == settings::Placement::Output;
        let Some(proposals) = self.proposals(conversation, autonomy)? else { return Ok(false) };
        let Some(last) = conversation.last() else { return Ok(false) };
        // Two messages of a user in a row are refused by some chat templates.
        let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
        let last = last.id.clone();
        let Some((suggestion, frame)) = self.first_due(&proposals)? else { return Ok(false) };
        let made = self.store.write(|change| {
            let Some(made) = self.suggest(change, session, suggestion)? else {
                return Ok::<_, EngineError>(None);
            };
            if say {
                let text = made.text(&frame, self.dialect());
                let note = note(session, (&last, placement), &format!("s{}", made.num), text);
                change.append(self.now(), &[note])?;
            }
            Ok(Some(made))
        })?;
        if made.is_none() || !say {
            return Ok(false);
        }
        conversation.notes = self.store.read(|view| kept(view, session))?;
        Ok(true)
    }

    /// What the heuristics would have said of the frame that is worked in, the surest first; none
    /// where no frame is.
    fn proposals(
        &self,
        conversation: &mut Conversation,
        settings: &AutonomySettings,
    ) -> Result<Option<Vec<Proposal>>, EngineError> {
        let Some(span) = conversation.open_span() else { return Ok(None) };
        let signals = self.signals(conversation, &span)?;
        // A pop of what is never folded frees nothing, and what nobody pushed ends by itself.
        let pops = span.foldable && !span.origin.is_automatic();
        let kinds: &[Kind] = if pops { &[Kind::Pop, Kind::Push] } else { &[Kind::Push] };
        let proposals = Proposal::of(span.frame, kinds, settings, &signals);
        Ok(Some(proposals).filter(|proposals| !proposals.is_empty()))
    }
}

impl Conversation {
    /// The span of the frame that the current step works in.
    pub(crate) fn open_span(&self) -> Option<Span> {
        let active = self.step_frame?;
        let open = self
            .spans
            .iter()
            .rfind(|span| span.frame == active && !span.detached && span.live_close().is_none());
        open.cloned()
    }
}
