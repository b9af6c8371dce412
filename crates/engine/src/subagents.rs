//! Child sessions: the frames of those that get one, and the knowledge about each.
//!
//! A child session gets its frame with its first prompt, below the frame that its caller was working in when it began.
//! If it must prove meaningful first, it gets the frame at the model call, or at the end of the turn, at which it does.
//! Delegated sessions have their frames already.

pub(crate) mod ending;
mod tracking;

use std::sync::Arc;

use callstack_core::event::{Event, Session};
use callstack_core::frame::{FrameNum, Identity};
use callstack_core::framing::identity_of;
use callstack_core::subagent::{
    Change, REMEMBERED, SubagentSession, SubagentSettings, frame_title,
};
use callstack_core::transcript::Anchor;

use crate::closing::Endings;
use crate::conversation::framing::WorkFraming;
use crate::conversation::written::FileWrites;
use crate::effect::Reaction;
use crate::error::EngineError;
use crate::evidence::{SpanEvidence, SpanReader};
use crate::frames::Frames;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::queries::Queries;
use crate::saving::SavingReports;
use crate::sessions::Sessions;
pub(crate) use ending::Ending;
pub use tracking::{ChildStatus, SubagentFilter};

/// A host has a session that another one started.
#[derive(Clone, Debug)]
pub struct ChildSession {
    /// The session.
    pub session: String,
    /// The host.
    pub host: String,
    /// The session that started it.
    pub parent: String,
    /// Its title as it is now.
    pub title: String,
}

impl Queries {
    /// Returns the present settings of child sessions' frames.
    pub(crate) fn subagent_settings(&self) -> Result<SubagentSettings, EngineError> {
        let settings = self.kernel.read(|view| self.kernel.settings_in(view))?;
        let subagents = settings.subagents.clone();
        Ok(SubagentSettings { enabled: subagents.enabled && settings.frame_mode, ..subagents })
    }
}

/// The frames of subagents' sessions: their beginnings and ends.
pub(crate) struct Subagents {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) queries: Arc<Queries>,
    frames: Arc<Frames>,
    span_reader: Arc<SpanReader>,
    spans: Arc<SpanEvidence>,
    pub(crate) sessions: Arc<Sessions>,
    framing: Arc<WorkFraming>,
    writes: Arc<FileWrites>,
    saving: Arc<SavingReports>,
    endings: Arc<Endings>,
}

impl Subagents {
    #[expect(
        clippy::too_many_arguments,
        reason = "one for each part below it, all of different types"
    )]
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        frames: &Arc<Frames>,
        span_reader: &Arc<SpanReader>,
        spans: &Arc<SpanEvidence>,
        sessions: &Arc<Sessions>,
        framing: &Arc<WorkFraming>,
        writes: &Arc<FileWrites>,
        saving: &Arc<SavingReports>,
        endings: &Arc<Endings>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            frames: Arc::clone(frames),
            span_reader: Arc::clone(span_reader),
            spans: Arc::clone(spans),
            sessions: Arc::clone(sessions),
            framing: Arc::clone(framing),
            writes: Arc::clone(writes),
            saving: Arc::clone(saving),
            endings: Arc::clone(endings),
        }
    }

    /// Takes note of a child session, or of its new title.
    pub(crate) fn child_seen(&self, child: &ChildSession) -> Result<Reaction, EngineError> {
        let (known, tracked) = self.kernel.read(|view| {
            let tracked = view.subagent(&child.session)?;
            Ok::<_, EngineError>((view.session_row(&child.session)?.is_some(), tracked))
        })?;
        if tracked.as_ref().is_some_and(|tracked| tracked.title == child.title) {
            return Ok(Reaction::default());
        }
        let settings = self.queries.subagent_settings()?;
        let mut events = Vec::new();
        if !known {
            self.framing.frame_handing_on(&child.parent)?;
            events.push(Event::SessionOpened {
                session: Session {
                    id: child.session.clone(),
                    host: child.host.clone(),
                    parent: Some(child.parent.clone()),
                    root: None,
                    active: None,
                },
            });
        }
        if settings.enabled {
            let caller = match &tracked {
                Some(tracked) => tracked.caller,
                None => self.writes.working_frame(&child.parent)?,
            };
            let matches = settings.matches(&child.title);
            let (parent, title) = (child.parent.clone(), child.title.clone());
            events.push(event(&child.session, Change::Seen { parent, title, caller, matches }));
        }
        if !events.is_empty() {
            self.kernel.write(|change| change.append(self.kernel.now(), &events))?;
        }
        Ok(Reaction { effects: Vec::new(), wake_at: self.settle_due()? })
    }

    /// Somebody has said something to a child session.
    pub(crate) fn child_prompted(
        &self,
        child: &Session,
        words: &str,
        anchor: Anchor,
    ) -> Result<(), EngineError> {
        let tracked = self.kernel.read(|view| view.subagent(&child.id))?;
        if let Some(tracked) = &tracked
            && tracked.is_idle
        {
            self.note(&child.id, Change::Active)?;
        }
        let settings = self.queries.subagent_settings()?;
        if child.active.is_some() || !settings.enabled {
            return Ok(());
        }
        let now = self.kernel.now();
        let again = child.root.is_some();
        let deserves =
            tracked.as_ref().is_some_and(|it| settings.deserves_frame(it, it.message_count, now));
        if !again && !deserves {
            return Ok(());
        }
        // One that is asked again belongs to the session that asks now.
        let caller = match &child.parent {
            Some(parent) if again => self.writes.working_frame(parent)?,
            _ => tracked.as_ref().and_then(|tracked| tracked.caller),
        };
        let identity = child_identity(tracked.as_ref(), words);
        self.frames.ensure_root_below(&child.id, &child.host, identity, anchor, caller)?;
        Ok(())
    }

    /// Gives a child session that is about to push its own frame to push from, if it has none.
    pub(crate) fn frame_for_push(&self, session: &Session) -> Result<(), EngineError> {
        let framed = session.active.is_some() || session.root.is_some();
        if framed || session.parent.is_none() || !self.queries.subagent_settings()?.enabled {
            return Ok(());
        }
        let words = {
            let conversation = self.sessions.conversation(&session.id);
            let conversation = lock(&conversation);
            conversation.first_words()
        };
        self.frame_child(&session.id, &session.host, &words.unwrap_or_default())?;
        Ok(())
    }

    /// Gives a child session a frame from its beginning on.
    pub(crate) fn frame_child(
        &self,
        session: &str,
        host: &str,
        words: &str,
    ) -> Result<FrameNum, EngineError> {
        let tracked = self.kernel.read(|view| view.subagent(session))?;
        let caller = tracked.as_ref().and_then(|tracked| tracked.caller);
        let identity = child_identity(tracked.as_ref(), words);
        let start = Anchor { message: None, call: None };
        self.frames.ensure_root_below(session, host, identity, start, caller)
    }

    pub(crate) fn note(&self, session: &str, change: Change) -> Result<(), EngineError> {
        let events = [event(session, change)];
        Ok(self.kernel.write(|change| change.append(self.kernel.now(), &events))?)
    }

    /// Only counts those that have long been over.
    pub(crate) fn forget_subagents(&self) -> Result<(), EngineError> {
        let before = self.kernel.now().saturating_sub(REMEMBERED);
        let over = self.kernel.read(|view| view.subagents_over(before))?;
        if over.is_empty() {
            return Ok(());
        }
        let forgotten: Vec<_> =
            over.iter().map(|session| event(&session.session, Change::Forgotten)).collect();
        Ok(self.kernel.write(|change| change.append(self.kernel.now(), &forgotten))?)
    }
}

pub(crate) fn event(session: &str, change: Change) -> Event {
    Event::Subagent { session: session.to_owned(), change }
}

/// Returns the identity of a child session's frame: from its title where that was given on purpose, and from the
/// first words of its prompt.
fn child_identity(tracked: Option<&SubagentSession>, words: &str) -> Identity {
    let mut identity = identity_of(words);
    if let Some(tracked) = tracked.filter(|tracked| tracked.is_subagent) {
        frame_title(&tracked.title).clone_into(&mut identity.title);
    }
    identity
}
