//! Suggestions to the model: each is sent once and then stands at its place for ever, so that requests stay as they
//! were.

use std::sync::Arc;

use callstack_core::autonomy::SuggestionKind;
use callstack_core::event::Event;
use callstack_core::fold::Placement;
use callstack_core::named_steps::is_ours;
use callstack_core::rendered_slot::NoteKey;
use callstack_core::transcript::{CallState, Message, Role, Span, SpanOrigin, ToolCall};

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

    /// Adds notes about events beside the session since its last request.
    pub(super) fn add_news(
        &self,
        conversation: &mut Conversation,
        session: &str,
        snapshot: &Snapshot,
    ) -> Result<(), EngineError> {
        self.announce_compactions(conversation, session, snapshot)?;
        self.add_late_context(conversation, session, snapshot)?;
        outside::announce_outside(&self.queries, &self.sessions, conversation, session, snapshot)
    }

    /// Tells of compactions that were asked for and are over, and forgets one whose call was undone.
    fn announce_compactions(
        &self,
        conversation: &mut Conversation,
        session: &str,
        snapshot: &Snapshot,
    ) -> Result<(), EngineError> {
        let Snapshot { pending, unannounced, .. } = snapshot;
        if pending.as_ref().is_some_and(|pending| conversation.has_undone(&pending.anchor)) {
            self.queries
                .clear_compaction_tracking(session, "the call that asked for it was undone")?;
        }
        let Some(last) = conversation.last().filter(|_| !unannounced.is_empty()) else {
            return Ok(());
        };
        let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
        let text = notice_of(unannounced, conversation);
        let events = [
            note(session, (&last.id, placement), NoteKey::Compaction, text),
            Event::CompactionTold { session: session.to_owned() },
        ];
        self.sessions.append(conversation, session, self.kernel.now(), &events)
    }

    /// Tells a session of the frame that it got later than its system prompt, once.
    fn add_late_context(
        &self,
        conversation: &mut Conversation,
        session: &str,
        snapshot: &Snapshot,
    ) -> Result<(), EngineError> {
        let pushed = |span: &Span| span.origin != SpanOrigin::Root;
        // The answer of a push contains the context, too.
        if conversation.spans.is_empty() || conversation.spans.iter().any(pushed) {
            return Ok(());
        }
        let Some(text) = self.system.late_context(session, snapshot)? else { return Ok(()) };
        let notes = self.kernel.read(|view| rows(view, session))?;
        let Some(last) =
            conversation.last().filter(|_| notes.iter().all(|it| it.1 != NoteKey::Context))
        else {
            return Ok(());
        };
        let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
        let event = note(session, (&last.id, placement), NoteKey::Context, text);
        self.sessions.append(conversation, session, self.kernel.now(), &[event])
    }

    /// Makes the suggestions that are due at this call. Returns whether the model learns something new.
    pub(super) fn make_notes(
        &self,
        conversation: &mut Conversation,
        session: &str,
        settings: &Settings,
    ) -> Result<bool, EngineError> {
        let autonomy = &settings.autonomy;
        if autonomy.level == Level::Manual {
            return Ok(false);
        }
        // A system prompt that is rebuilt with every change contains them.
        let say = autonomy.suggest_in_context && settings.placement == settings::Placement::Output;
        let place = conversation.newest_output();
        // The user's message is no place for our words: they wait for the next call that returns something.
        if say && place.is_none() {
            return Ok(false);
        }
        let Some(proposals) = self.proposals(conversation, autonomy)? else { return Ok(false) };
        let Some((suggestion, frame)) = self.suggestions.first_due(&proposals)? else {
            return Ok(false);
        };
        let made = self.sessions.write(conversation, session, |_, change| {
            let Some(made) = self.suggestions.suggest(change, session, suggestion)? else {
                return Ok(None);
            };
            if let Some((message, call)) = place.filter(|_| say) {
                let text = made.text(&frame, self.kernel.dialect());
                let name = format!("suggestion {}", made.num);
                let key = NoteKey::About { name, message: message.clone() };
                let note = note(session, (&message, Placement::Output(call)), key, text);
                change.append(self.kernel.now(), &[note])?;
            }
            Ok(Some(made))
        })?;
        Ok(made.is_some() && say)
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
