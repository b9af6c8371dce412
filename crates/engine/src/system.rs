//! What stands in the system prompt: constant from a session's start, or from its last compaction, to
//! the next.

use callstack_core::context::{Parts, ScopedPin};
use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::guidance::guidance;
use callstack_core::returned::RENDERER_VERSION;
use callstack_store::View;

use crate::engine::{Engine, lock};
use crate::error::EngineError;
use crate::settings::Placement;
use crate::staleness::Looks;

const SLOT: &str = "system:";

/// Tokens that the conversation takes and may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Tokens of the last step, if the host told.
    pub used: Option<u64>,
    /// The model's limit, if the host told.
    pub limit: Option<u64>,
}

/// A host is about to send a system prompt.
#[derive(Clone, Debug)]
pub struct SystemRequest {
    /// The session.
    pub session: String,
    /// Tokens that the model takes at most, where the host knows.
    pub limit: Option<u64>,
}

impl Engine {
    /// The texts to be added to a session's system prompt.
    pub fn system(&self, request: &SystemRequest) -> Result<Vec<String>, EngineError> {
        let conversation = self.conversation(&request.session);
        let (epoch, mark) = {
            let mut conversation = lock(&conversation);
            conversation.limit = request.limit.or(conversation.limit);
            let mark = conversation.mark_for_new_system(&request.session);
            (conversation.epoch().to_owned(), mark)
        };
        let guidance = guidance(self.dialect());
        let Some(active) = self.active_or_last(&request.session)? else {
            return Ok(vec![guidance.to_owned()]);
        };
        if self.current_settings()?.placement == Placement::System {
            let context = self
                .store
                .read(|view| self.context(view, &request.session, active, Parts::full()))?;
            let mut text = context.text.clone();
            for suggestion in self.suggestions_in_system(&request.session)? {
                text.push('\n');
                text.push_str(&suggestion);
            }
            return Ok(vec![guidance.to_owned(), text]);
        }
        let slot = format!("{SLOT}{epoch}");
        if let Some(kept) = self.store.read(|view| view.render(&request.session, &slot))?
            && !kept.is_empty()
        {
            return Ok(vec![kept]);
        }
        let context = |view: &View<'_>, looks| {
            self.context_with(view, &request.session, active, Parts::for_push(), looks)
        };
        // Files are looked at while others may write. What was made then holds until somebody has.
        let (revision, prepared) = self.store.read(|view| {
            Ok::<_, EngineError>((view.revision()?, context(view, Looks::for_a_context())?))
        })?;
        self.store.write(|change| {
            let view = change.view();
            let context = if view.revision()? == revision {
                prepared
            } else {
                context(&view, Looks::none())?
            };
            let text = format!(
                "{}\n\nThe open frame when this was written; it may be another one by now:\n{}",
                guidance.trim_end(),
                context.text
            );
            let event = Event::Rendered {
                session: request.session.clone(),
                slot: slot.clone(),
                text: text.clone(),
                renderer: RENDERER_VERSION,
            };
            change.append(self.now(), &[event])?;
            change.append(self.now(), mark.as_slice())?;
            Ok(vec![text])
        })
    }

    /// Whether a session's next request shows the context of the frame that it works on, as that is
    /// when the request is made.
    pub(crate) fn shows_context(
        &self,
        view: &View<'_>,
        session: &str,
    ) -> Result<bool, EngineError> {
        let placement = self.settings_in(view)?.placement;
        Ok(placement == Placement::System || view.renders(session, SLOT)?.is_empty())
    }

    /// Whether the system prompt of a context is built.
    pub(crate) fn has_system(&self, session: &str, epoch: &str) -> Result<bool, EngineError> {
        let slot = format!("{SLOT}{epoch}");
        Ok(self.store.read(|view| view.render(session, &slot))?.is_some())
    }

    /// Gives a fork the system prompt of its original: what it took along was written behind that.
    pub(crate) fn inherit_system(
        &self,
        fork: &str,
        epoch: &str,
        original: &str,
    ) -> Result<(), EngineError> {
        let newest = self.store.read(|view| view.renders(original, SLOT))?.pop();
        let Some((_, text, _)) = newest.filter(|(_, text, _)| !text.is_empty()) else {
            return Ok(());
        };
        let event = Event::Rendered {
            session: fork.to_owned(),
            slot: format!("{SLOT}{epoch}"),
            text,
            renderer: RENDERER_VERSION,
        };
        Ok(self.store.write(|change| change.append(self.now(), &[event]))?)
    }

    /// Tokens that a session takes and may take, as its host last told.
    pub fn usage(&self, session: &str) -> TokenUsage {
        let conversation = self.conversation(session);
        let conversation = lock(&conversation);
        TokenUsage { used: conversation.used, limit: conversation.limit }
    }

    /// Pins that hold in a frame and were made after its session's system prompt was built: they are
    /// repeated in what is sent later.
    pub(crate) fn pins_since_system(
        &self,
        view: &View<'_>,
        session: &str,
        num: FrameNum,
    ) -> Result<Vec<ScopedPin>, EngineError> {
        if self.settings_in(view)?.placement == Placement::System {
            return Ok(Vec::new());
        }
        let built = view.renders(session, SLOT)?.into_iter().map(|it| it.2).max().unwrap_or(0);
        let pins = view.pins_since(num, built)?;
        Ok(pins.into_iter().map(|(owner, pin)| ScopedPin { owner, pin }).collect())
    }

    fn active_or_last(&self, session: &str) -> Result<Option<FrameNum>, EngineError> {
        self.store.read(|view| {
            Ok(view.session_row(session)?.and_then(|session| session.active.or(session.root)))
        })
    }
}
