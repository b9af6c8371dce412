//! Suggestions to the model: each is sent once and then stands at its place for ever, so that requests stay as they
//! were.

use std::sync::Arc;

use callstack_core::autonomy::SuggestionKind;
use callstack_core::event::Event;
use callstack_core::fold::Placement;
use callstack_core::frame::Frame;
use callstack_core::named_steps::is_ours;
use callstack_core::rendered_slot::NoteKey;
use callstack_core::transcript::{CallState, Message, Role, Span, SpanOrigin, ToolCall};
use callstack_store::Change;

use super::snapshot::Snapshot;
use super::stored_notes::{note, rows};
use super::{Conversation, outside};
use crate::autonomy::{Boundary, Proposal, Suggestions};
use crate::compaction::notice_of;
use crate::delegations::Delegation;
use crate::error::EngineError;
use crate::kernel::Kernel;
use crate::queries::Queries;
use crate::sessions::Sessions;
use crate::settings::{self, AutonomySettings, Level, Settings};
use crate::system::SystemPrompts;

/// Adds notes to requests.
pub(crate) struct Notes {
    pub(crate) kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) delegation: Arc<Delegation>,
    suggestions: Arc<Suggestions>,
    system: Arc<SystemPrompts>,
}

impl Notes {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        sessions: &Arc<Sessions>,
        delegation: &Arc<Delegation>,
        suggestions: &Arc<Suggestions>,
        system: &Arc<SystemPrompts>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            sessions: Arc::clone(sessions),
            delegation: Arc::clone(delegation),
            suggestions: Arc::clone(suggestions),
            system: Arc::clone(system),
        }
    }

    /// Returns the notes that are due at the end of a request.
    pub(super) fn due(
        &self,
        conversation: &mut Conversation,
        session: &str,
        snapshot: &Snapshot,
    ) -> Result<DueNotes, EngineError> {
        let mut events = announced_compactions(conversation, session, snapshot);
        events.extend(self.late_context(conversation, session, snapshot)?);
        events.extend(outside::notes(&self.queries, conversation, session, snapshot)?);
        let suggestion = self.suggestion(conversation, &snapshot.settings)?;
        Ok(DueNotes { events, suggestion })
    }

    /// Stores notes.
    pub(super) fn store(
        &self,
        change: &mut Change<'_>,
        session: &str,
        due: DueNotes,
    ) -> Result<(), EngineError> {
        change.append(self.kernel.now(), &due.events)?;
        if let Some(due) = due.suggestion {
            self.suggest(change, session, due)?;
        }
        Ok(())
    }

    /// Returns the note about the frame that a session got later than its system prompt, once.
    fn late_context(
        &self,
        conversation: &Conversation,
        session: &str,
        snapshot: &Snapshot,
    ) -> Result<Option<Event>, EngineError> {
        let pushed = |span: &Span| span.origin != SpanOrigin::Root;
        // The answer of a push contains the context, too.
        if conversation.spans.is_empty() || conversation.spans.iter().any(pushed) {
            return Ok(None);
        }
        let Some(text) = self.system.late_context(session, snapshot)? else { return Ok(None) };
        let notes = self.kernel.read(|view| rows(view, session))?;
        let Some(last) =
            conversation.last().filter(|_| notes.iter().all(|it| it.1 != NoteKey::Context))
        else {
            return Ok(None);
        };
        let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
        Ok(Some(note(session, (&last.id, placement), NoteKey::Context, text)))
    }

    /// Makes the suggestion that is due at this call, if one is. Returns whether the model learns something new.
    pub(super) fn make_suggestion(
        &self,
        conversation: &mut Conversation,
        session: &str,
        settings: &Settings,
    ) -> Result<bool, EngineError> {
        let Some(due) = self.suggestion(conversation, settings)? else { return Ok(false) };
        let is_said = due.place.is_some();
        let is_made = self
            .sessions
            .write(conversation, session, |_, change| self.suggest(change, session, due))?;
        Ok(is_made && is_said)
    }

    /// Returns the suggestion that is due at this call.
    fn suggestion(
        &self,
        conversation: &mut Conversation,
        settings: &Settings,
    ) -> Result<Option<DueSuggestion>, EngineError> {
        let autonomy = &settings.autonomy;
        if autonomy.level == Level::Manual {
            return Ok(None);
        }
        // A system prompt that is rebuilt with every change contains them.
        let say = autonomy.suggest_in_context && settings.placement == settings::Placement::Output;
        let place = conversation.newest_output();
        // The user's message is no place for our words: they wait for the next call that returns something.
        if say && place.is_none() {
            return Ok(None);
        }
        let Some(proposals) = self.proposals(conversation, autonomy)? else { return Ok(None) };
        let due = self.suggestions.first_due(&proposals)?;
        let place = place.filter(|_| say);
        Ok(due.map(|(proposal, frame)| DueSuggestion { proposal, frame, place }))
    }

    /// Stores a suggestion, with the note that contains it, unless another process was faster. Returns whether it did.
    /// The store gives the suggestion the number that the note names.
    fn suggest(
        &self,
        change: &mut Change<'_>,
        session: &str,
        due: DueSuggestion,
    ) -> Result<bool, EngineError> {
        let DueSuggestion { proposal, frame, place } = due;
        let Some(made) = self.suggestions.suggest(change, session, proposal)? else {
            return Ok(false);
        };
        if let Some((message, call)) = place {
            let text = made.text(&frame, self.kernel.dialect());
            let name = format!("suggestion {}", made.num);
            let key = NoteKey::About { name, message: message.clone() };
            let note = note(session, (&message, Placement::Output(call)), key, text);
            change.append(self.kernel.now(), &[note])?;
        }
        Ok(true)
    }

    /// Returns the suggestions of the heuristics for the open frame, the surest first; none where no frame is open.
    fn proposals(
        &self,
        conversation: &mut Conversation,
        settings: &AutonomySettings,
    ) -> Result<Option<Vec<Proposal>>, EngineError> {
        let Some(span) = conversation.open_span() else { return Ok(None) };
        let signals = self.suggestions.signals(conversation, &span)?;
        // A pop of a frame that is never folded frees nothing, and automatic frames end by themselves.
        let pops = span.foldable && !span.origin.is_automatic();
        let kinds: &[SuggestionKind] = if pops {
            &[SuggestionKind::Pop, SuggestionKind::Push]
        } else {
            &[SuggestionKind::Push]
        };
        let mut proposals = Proposal::of(span.frame, kinds, settings, &signals);
        let boundary = conversation.boundary();
        proposals.retain(|proposal| proposal.belongs_at(boundary));
        Ok(Some(proposals).filter(|proposals| !proposals.is_empty()))
    }
}

/// Notes that are due at the end of a request.
pub(super) struct DueNotes {
    /// The events that store them.
    events: Vec<Event>,
    suggestion: Option<DueSuggestion>,
}

impl DueNotes {
    pub(super) fn is_nothing(&self) -> bool {
        self.events.is_empty() && self.suggestion.is_none()
    }
}

/// A suggestion that is due, with its frame.
struct DueSuggestion {
    proposal: Proposal,
    frame: Frame,
    /// The message and the call after whose output the model reads it, if it does.
    place: Option<(String, String)>,
}

/// Returns the events that tell of compactions that were asked for and are over, and forget one whose call was undone.
fn announced_compactions(
    conversation: &Conversation,
    session: &str,
    snapshot: &Snapshot,
) -> Vec<Event> {
    let Snapshot { pending, unannounced, .. } = snapshot;
    let mut events = Vec::new();
    if pending.as_ref().is_some_and(|pending| conversation.has_undone(&pending.anchor)) {
        let reason = "the call that asked for it was undone".to_owned();
        events.push(Event::CompactionDropped { session: session.to_owned(), reason });
    }
    if let Some(last) = conversation.last().filter(|_| !unannounced.is_empty()) {
        let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
        let text = notice_of(unannounced, conversation);
        events.push(note(session, (&last.id, placement), NoteKey::Compaction, text));
        events.push(Event::CompactionTold { session: session.to_owned() });
    }
    events
}

impl Conversation {
    /// Returns the newest call with output that is sent unchanged, with its message: not one of ours, whose output
    /// may be replaced by the text of a frame.
    fn newest_output(&self) -> Option<(String, String)> {
        let newest = self.last()?;
        let is_sent =
            |call: &&Arc<ToolCall>| call.state == CallState::Completed && !is_ours(&call.tool);
        Some((newest.id.clone(), newest.calls().rfind(is_sent)?.id.clone()))
    }

    /// Where in the work the newest message stands.
    fn boundary(&self) -> Boundary {
        let said = self.messages().rposition(Message::is_user_turn);
        let user = said.map(|at| self.transcript[at].message.id.as_str());
        let open = self.listed_items(user);
        if open.as_ref().is_some_and(Vec::is_empty) {
            return Boundary::Done;
        }
        let steps = self.transcript.len() - said.map_or(0, |at| at + 1);
        if steps <= 1 || self.newest_list().is_some() {
            return Boundary::Begins;
        }
        Boundary::Within
    }
}
