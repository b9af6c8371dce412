//! The content of the system prompt: constant from a session's start, or from its last compaction, to the next.

use std::sync::Arc;

use callstack_core::context::{Parts, RenderedContext, ScopedPin};
use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::guidance::guidance;
use callstack_core::rendered_slot::{RenderedSlot, RenderedText};
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::session_state::SessionState;
use callstack_store::View;

use crate::assembly::Contexts;
use crate::autonomy::Suggestions;
use crate::changed_files::ReadBudget;
use crate::conversation::snapshot::Snapshot;
use crate::conversation::{Conversation, START};
use crate::error::EngineError;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::queries::Queries;
use crate::requests::asked_unprompted;
use crate::sessions::Sessions;
use crate::settings::Placement;

/// The text before a context in a system prompt, and in a note for a frame that came later.
const AS_WRITTEN: &str = "The open frame when this was written; it may be another one by now:";

/// Tokens that the conversation takes and may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Tokens of the last step, if the host reported them.
    pub used: Option<u64>,
    /// The model's limit, if the host reported it.
    pub limit: Option<u64>,
}

/// A host is about to send a system prompt.
#[derive(Clone, Debug)]
pub struct SystemRequest {
    /// The session.
    pub session: String,
    /// The most tokens that the model takes, where the host knows.
    pub limit: Option<u64>,
}

/// Makes the system prompts of sessions.
pub(crate) struct SystemPrompts {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    contexts: Arc<Contexts>,
    sessions: Arc<Sessions>,
    suggestions: Arc<Suggestions>,
}

impl SystemPrompts {
    /// Returns the XML context of a frame for a session, with its cost in estimated tokens. It is rendered again when
    /// anything in it has changed, and after 30 seconds.
    ///
    /// `frame` is a handle, an id or a unique prefix; `not_found` where there is none.
    pub(crate) fn generate_frame_context(
        &self,
        session: &str,
        frame: &str,
    ) -> Result<Arc<RenderedContext>, EngineError> {
        let num = self.queries.resolve(frame)?.num;
        self.kernel.read(|view| self.contexts.context(view, session, num, Parts::full()))
    }

    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        contexts: &Arc<Contexts>,
        sessions: &Arc<Sessions>,
        suggestions: &Arc<Suggestions>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            contexts: Arc::clone(contexts),
            sessions: Arc::clone(sessions),
            suggestions: Arc::clone(suggestions),
        }
    }

    /// The texts to be added to a session's system prompt.
    pub(crate) fn system(&self, request: &SystemRequest) -> Result<Vec<String>, EngineError> {
        let conversation = self.sessions.conversation(&request.session);
        let (epoch, mark) = {
            let mut conversation = lock(&conversation);
            conversation.limit = request.limit.or(conversation.limit);
            self.keep_limit(&mut conversation, &request.session)?;
            let mark = conversation.mark_for_new_system(&request.session);
            (conversation.epoch().to_owned(), mark)
        };
        let guidance = guidance(self.kernel.dialect());
        let placement = self.kernel.read(|view| self.kernel.settings_in(view))?.placement;
        let slot = RenderedSlot::System(epoch);
        if placement == Placement::Output
            && let Some(kept) = self.kernel.read(|view| view.render(&request.session, &slot))?
            && !kept.is_empty()
        {
            return Ok(vec![kept]);
        }
        let Some(active) = self.active_or_last(&request.session)? else {
            let session = self.kernel.read(|view| view.session_row(&request.session))?;
            // A child session that gets a frame later keeps the system prompt after which its steps were written.
            if placement == Placement::Output && session.is_some_and(|it| it.parent.is_some()) {
                let event = rendered(&request.session, slot, guidance.to_owned());
                let events: Vec<_> = std::iter::once(event).chain(mark).collect();
                self.kernel.write(|change| change.append(self.kernel.now(), &events))?;
            }
            return Ok(vec![guidance.to_owned()]);
        };
        if placement == Placement::System {
            let context = self.kernel.read(|view| {
                self.contexts.context(view, &request.session, active, Parts::full())
            })?;
            let asked = self
                .kernel
                .read(|view| asked_unprompted(self.kernel.env(), view, &request.session, active))?;
            let mut text = format!("{}{asked}", context.text);
            for suggestion in self.suggestions.suggestions_in_system(&request.session)? {
                text.push('\n');
                text.push_str(&suggestion);
            }
            return Ok(vec![guidance.to_owned(), text]);
        }
        let context = |view: &View<'_>, budget| {
            let parts = Parts::for_start();
            let context =
                self.contexts.context_with(view, &request.session, active, parts, budget)?;
            let asked = asked_unprompted(self.kernel.env(), view, &request.session, active)?;
            Ok::<_, EngineError>(format!("{}{asked}", context.text))
        };
        // Files are read while others may write. The context made then holds until there is a write.
        let (revision, prepared) = self.kernel.read(|view| {
            Ok::<_, EngineError>((view.revision()?, context(view, ReadBudget::for_a_context())?))
        })?;
        self.kernel.write(|change| {
            let view = change.view();
            let context = if view.revision()? == revision {
                prepared
            } else {
                context(&view, ReadBudget::none())?
            };
            let text = format!("{}\n\n{AS_WRITTEN}\n{context}", guidance.trim_end());
            let event = rendered(&request.session, slot.clone(), text.clone());
            change.append(self.kernel.now(), &[event])?;
            change.append(self.kernel.now(), mark.as_slice())?;
            Ok(vec![text])
        })
    }

    /// Stores the limit of the session's model, for processes that show it.
    fn keep_limit(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        let Some(tokens) =
            conversation.limit.filter(|_| conversation.limit != conversation.kept_limit)
        else {
            return Ok(());
        };
        let (is_known, kept) = self.kernel.read(|view| {
            Ok::<_, EngineError>((view.session_row(session)?.is_some(), view.model_limit(session)?))
        })?;
        if is_known && kept != Some(tokens) {
            let state = SessionState::ModelLimit { tokens };
            let event = Event::SessionStateSet { session: session.to_owned(), state };
            self.kernel.write(|change| change.append(self.kernel.now(), &[event]))?;
        }
        if is_known {
            conversation.kept_limit = Some(tokens);
        }
        Ok(())
    }

    /// Returns the event that gives a fork the system prompt of its original, after which the copied steps were
    /// written. `summary` is the one that the fork begins with, by its id in the original.
    pub(crate) fn inherited(
        view: &View<'_>,
        (fork, epoch): (&str, &str),
        original: &str,
        summary: Option<&str>,
    ) -> Result<Option<Event>, EngineError> {
        let Some(written) = summary.or((epoch == START).then_some(START)) else { return Ok(None) };
        let text = view.render(original, &RenderedSlot::System(written.to_owned()))?;
        let text = text.filter(|text| !text.is_empty());
        Ok(text.map(|text| rendered(fork, RenderedSlot::System(epoch.to_owned()), text)))
    }

    /// Returns the context that a session lacks: it got its frame after its system prompt was built. A note brings
    /// it.
    pub(crate) fn late_context(
        &self,
        session: &str,
        snapshot: &Snapshot,
    ) -> Result<Option<String>, EngineError> {
        let lacks = |text: &String| !text.is_empty() && !text.contains(AS_WRITTEN);
        if snapshot.settings.placement == Placement::System
            || !snapshot.system.as_ref().is_some_and(lacks)
        {
            return Ok(None);
        }
        let Some(active) = snapshot.active().or(snapshot.root()) else { return Ok(None) };
        let (context, asked) = self.kernel.read(|view| {
            let (parts, budget) = (Parts::for_start(), ReadBudget::for_a_context());
            let context = self.contexts.context_with(view, session, active, parts, budget)?;
            Ok::<_, EngineError>((
                context,
                asked_unprompted(self.kernel.env(), view, session, active)?,
            ))
        })?;
        let context = &context.text;
        Ok(Some(format!("[callstack] This session has a frame. {AS_WRITTEN}\n{context}{asked}")))
    }

    /// Returns the tokens that a session takes and may take, as last reported by its host.
    pub(crate) fn usage(&self, session: &str) -> TokenUsage {
        let conversation = self.sessions.conversation(session);
        let conversation = lock(&conversation);
        TokenUsage { used: conversation.used, limit: conversation.limit }
    }

    fn active_or_last(&self, session: &str) -> Result<Option<FrameNum>, EngineError> {
        self.kernel.read(|view| {
            Ok(view.session_row(session)?.and_then(|session| session.active.or(session.root)))
        })
    }
}

impl Contexts {
    /// Whether a session's next request shows the context of the frame that it works on, as it is when the request is
    /// made.
    pub(crate) fn shows_context(
        &self,
        view: &View<'_>,
        session: &str,
    ) -> Result<bool, EngineError> {
        let placement = self.env.settings_in(view)?.placement;
        Ok(placement == Placement::System
            || view.renders(session, Some(RenderedText::System))?.is_empty())
    }

    /// Whether a session's system prompt contains the frames around the one that it began with.
    pub(crate) fn begins_with_context(view: &View<'_>, session: &str) -> Result<bool, EngineError> {
        Ok(view
            .renders(session, Some(RenderedText::System))?
            .iter()
            .any(|(_, text, _)| text.contains(AS_WRITTEN)))
    }

    /// Returns the pins of a frame that were made after its session's system prompt was built: later texts repeat
    /// them.
    pub(crate) fn pins_since_system(
        &self,
        view: &View<'_>,
        session: &str,
        num: FrameNum,
    ) -> Result<Vec<ScopedPin>, EngineError> {
        if self.env.settings_in(view)?.placement == Placement::System {
            return Ok(Vec::new());
        }
        let built = view
            .renders(session, Some(RenderedText::System))?
            .into_iter()
            .map(|it| it.2)
            .max()
            .unwrap_or(0);
        let pins = view.pins_since(num, built)?;
        Ok(pins.into_iter().map(|(owner, pin)| ScopedPin { owner, pin }).collect())
    }
}

fn rendered(session: &str, slot: RenderedSlot, text: String) -> Event {
    Event::Rendered { session: session.to_owned(), slot, text, renderer: RENDERER_VERSION }
}
