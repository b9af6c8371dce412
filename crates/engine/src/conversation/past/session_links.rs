//! Recorded sessions that one another started, whichever of them the store had first.

use std::collections::{HashMap, HashSet};

use callstack_core::decide::Command;
use callstack_core::frame::{FrameNum, Identity};
use callstack_core::framing::{identity_of, title_of};
use callstack_core::transcript::{Anchor, Role, Span, SpanOrigin};

use super::{PastSession, Takeover};
use crate::error::EngineError;
use crate::queries::Queries;

impl Queries {
    /// Whether the store has a session, as it was recorded by that program.
    pub(crate) fn has_recorded(&self, session: &str, host: &str) -> Result<bool, EngineError> {
        let row = self.kernel.read(|view| view.session_row(session))?;
        Ok(row.is_some_and(|row| row.host == host))
    }

    /// The sessions in the store that a session started, as far as that is known of them.
    pub(crate) fn sessions_started_by(&self, session: &str) -> Result<Vec<String>, EngineError> {
        let started = self.kernel.read(|view| view.sessions_below(session))?;
        Ok(started.into_iter().map(|row| row.id).collect())
    }

    /// The outermost frames of a session, in order.
    fn outermost_frames(&self, session: &str) -> Result<Vec<FrameNum>, EngineError> {
        let spans = self.kernel.read(|view| view.session_spans(session))?;
        let mut frames: Vec<FrameNum> = spans
            .iter()
            .filter(|span| span.origin == SpanOrigin::Root && !span.detached)
            .map(|span| span.frame)
            .collect();
        frames.dedup();
        Ok(frames)
    }
}

impl Takeover<'_> {
    /// The innermost frame that was open when all of a message had been done.
    pub(super) fn frame_at(
        &self,
        session: &PastSession,
        message: usize,
    ) -> Result<Option<FrameNum>, EngineError> {
        let messages = session.messages.iter().enumerate();
        let places: HashMap<&str, usize> = messages.map(|(at, id)| (id.as_str(), at)).collect();
        let place = |anchor: &Anchor| Some(*places.get(anchor.message.as_deref()?)?);
        let began = |span: &Span| place(&span.open).is_none_or(|at| at <= message);
        // A frame that ends with a call has ended with the message that holds it.
        let ended = |span: &Span| {
            span.live_close().is_some_and(|close| match place(close) {
                Some(at) => at < message || (at == message && close.call.is_some()),
                None => false,
            })
        };
        let spans = self.parts.kernel.read(|view| view.session_spans(&session.session))?;
        let open = spans.iter().filter(|span| !span.detached && began(span) && !ended(span));
        let innermost = open.max_by_key(|span| (place(&span.open), span.num));
        Ok(innermost.map(|span| span.frame))
    }

    /// Puts the outermost frames of a session that the store has below the frame of the call that started
    /// it.
    pub(super) fn place(
        &self,
        at: i64,
        session: &PastSession,
        caller: FrameNum,
    ) -> Result<(), EngineError> {
        for frame in self.parts.queries.outermost_frames(&session.session)? {
            self.parts.frames.change_at(at, &Command::Place { frame, parent: caller })?;
        }
        Ok(())
    }

    /// Returns the identity of a session: from its title, and from the first words of its user.
    pub(super) fn identity(&self, place: usize) -> Identity {
        let session = &self.sessions[place];
        let messages = (0..session.messages.len()).filter_map(|at| (self.messages)(place, at));
        let mut by_user = messages.filter(|it| it.shown.message.role == Role::User);
        let by_user = by_user.find(|it| !it.shown.words.is_empty());
        let identity = identity_of(&by_user.map(|it| it.shown.words).unwrap_or_default());
        match title(session) {
            Some(title) => Identity { title, ..identity },
            None => identity,
        }
    }

    /// Updates the identity of a session's outermost frame from facts that became known since it was begun.
    pub(super) fn name(&self, at: i64, place: usize) -> Result<(), EngineError> {
        let session = &self.sessions[place];
        let frame = self.parts.queries.outermost_frames(&session.session)?.first().copied();
        let Some(frame) = frame else { return Ok(()) };
        let frame = self.parts.queries.frame(frame)?;
        let identity = match title(session) {
            // The store has but a part of it here.
            Some(title) if session.stored => Identity { title, ..frame.identity.clone() },
            None if session.stored => return Ok(()),
            _ => self.identity(place),
        };
        if frame.identity_derived && frame.identity != identity {
            let (frame, derived, again) = (frame.num, true, false);
            let command = Command::SetIdentity { frame, identity, derived, again };
            self.parts.frames.change_at(at, &command)?;
        }
        Ok(())
    }

    /// Takes over those that a session started in which there is nothing new.
    pub(super) fn children_of(&mut self, place: usize) -> Result<(), EngineError> {
        let session = &self.sessions[place];
        let mut children: Vec<(usize, &str)> = Vec::new();
        for (child, it) in self.sessions.iter().enumerate() {
            let caller = it.caller.as_ref().filter(|caller| caller.session == session.session);
            if let Some(call) = caller.and_then(|caller| caller.call.as_deref()) {
                children.push((child, call));
            }
        }
        let mut homeless: HashSet<&str> = HashSet::new();
        for (child, call) in &children {
            if !self.has_place(&self.sessions[*child])? {
                homeless.insert(call);
            }
        }
        let mut callers: HashMap<String, Option<FrameNum>> = HashMap::new();
        for at in 0..session.messages.len() {
            if callers.len() == homeless.len() {
                break;
            }
            let Some(message) = (self.messages)(place, at) else { continue };
            let calls = message.shown.message.calls();
            for call in calls.filter(|call| homeless.contains(call.id.as_str())) {
                callers.insert(call.id.clone(), self.frame_at(session, at)?);
            }
        }
        for (child, call) in children {
            self.session(child, callers.get(call).copied().flatten())?;
        }
        Ok(())
    }

    /// Whether the store has a session, and below another one's frame.
    fn has_place(&self, session: &PastSession) -> Result<bool, EngineError> {
        let frames = self.parts.queries.outermost_frames(&session.session)?;
        let below = |frame: FrameNum| Ok(self.parts.queries.frame(frame)?.parent.is_some());
        frames.first().copied().map_or(Ok(false), below)
    }
}

fn title(session: &PastSession) -> Option<String> {
    session.title.as_deref().filter(|it| !it.trim().is_empty()).map(title_of)
}
