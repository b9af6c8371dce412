//! The `auto` level: units of work that are found in a session's transcript become frames without a push, and end
//! with the agent's last words in them.
//!
//! Frames are found by their anchors, so that neither a restart nor a second process makes any twice.

pub(crate) mod carry;

use std::collections::HashSet;
use std::sync::Arc;

use callstack_core::framing::{Framer, FramingMessage, Taken, WorkKind};
use callstack_core::transcript::{Anchor, Span, SpanOrigin};
use callstack_store::Change;

use self::carry::{Due, DueChanges};
use super::entry::framing_message;
use super::state::framing::Framing;
use super::{Conversation, HostMessage};
use crate::assembly::Contexts;
use crate::commands::Commands;
use crate::error::EngineError;
use crate::evidence::SpanReader;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::queries::Queries;
use crate::sessions::Sessions;
use crate::settings::{Level, Settings};

/// Begins and ends automatic frames, under the level `auto`.
pub(crate) struct WorkFraming {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    sessions: Arc<Sessions>,
    span_reader: Arc<SpanReader>,
    contexts: Arc<Contexts>,
    commands: Arc<Commands>,
}

impl WorkFraming {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        sessions: &Arc<Sessions>,
        span_reader: &Arc<SpanReader>,
        contexts: &Arc<Contexts>,
        commands: &Arc<Commands>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            sessions: Arc::clone(sessions),
            span_reader: Arc::clone(span_reader),
            contexts: Arc::clone(contexts),
            commands: Arc::clone(commands),
        }
    }

    /// Reads the new messages of a session's work. Returns whether frames begin or end with them.
    pub(super) fn follow_work(
        &self,
        conversation: &mut Conversation,
        session: &str,
        settings: &Settings,
    ) -> Result<bool, EngineError> {
        if !self.frames_by_itself(conversation, session, settings)? {
            conversation.framing.framer = None;
            return Ok(false);
        }
        if conversation.framing.framer.is_none()
            || conversation.framing.revision != conversation.revision
        {
            let taken = conversation.taken();
            let Conversation { framing, transcript, revision, .. } = &mut *conversation;
            framing.know(taken, *revision, transcript);
        }
        if conversation.framing.framer.is_none() {
            let framer = self.framer(conversation)?;
            let framing = &mut conversation.framing;
            framing.framer = Some(framer);
            (framing.read, framing.done, framing.waiting) = (0, 0, 0);
        }
        let transcript = &conversation.transcript;
        let Framing { framer: Some(framer), taken, read, .. } = &mut conversation.framing else {
            return Ok(false);
        };
        for entry in transcript.iter().skip(*read) {
            framer.read(&entry.framing, taken);
        }
        *read = transcript.len();
        Ok(conversation.framing.is_due())
    }

    /// Finds out which frames a session's work begins and ends.
    pub(super) fn due_frames(
        &self,
        conversation: &mut Conversation,
        session: &str,
        settings: &Settings,
    ) -> Result<Option<DueChanges>, EngineError> {
        self.follow_work(conversation, session, settings)?;
        let framing = &conversation.framing;
        let Some(framer) = &framing.framer else { return Ok(None) };
        let all = framer.changes().len();
        if framing.done == all {
            return Ok(None);
        }
        let due = self.due(conversation, framer, framing.done, settings.autonomy.level);
        let framing = &mut conversation.framing;
        Ok(match due {
            Due::Nothing(done) => {
                framing.carried_out(done);
                None
            }
            Due::Later(done) => {
                (framing.done, framing.waiting) = (done, 0);
                None
            }
            Due::Changes(due) => Some(due),
        })
    }

    /// Begins and ends these frames, as far as that is possible. Returns how many of the framer's changes the store
    /// has then.
    pub(super) fn frame(
        &self,
        change: &mut Change<'_>,
        conversation: &Conversation,
        session: &str,
        due: &DueChanges,
    ) -> Result<usize, EngineError> {
        match &conversation.framing.framer {
            Some(framer) => self.carry_out(change, conversation, session, framer, due),
            None => Ok(conversation.framing.done),
        }
    }

    /// Begins and ends the frames that a session's work asks for, beside its requests. Whether there were any.
    pub(super) fn frame_work(
        &self,
        conversation: &mut Conversation,
        session: &str,
        settings: &Settings,
    ) -> Result<bool, EngineError> {
        let Some(due) = self.due_frames(conversation, session, settings)? else {
            return Ok(false);
        };
        let done = self.kernel.write(|change| self.frame(change, conversation, session, &due))?;
        conversation.framing.carried_out(done);
        Ok(true)
    }

    /// Ends finished work in a session that has fallen silent, without waiting for the user's next words. The framer
    /// itself ends it when the host shows them.
    pub(crate) fn frame_resting(&self, session: &str) -> Result<(), EngineError> {
        let conversation = self.sessions.conversation(session);
        let mut conversation = lock(&conversation);
        self.sessions.load_spans(&mut conversation, session)?;
        self.follow_work(
            &mut conversation,
            session,
            &*self.kernel.read(|view| self.kernel.settings_in(view))?,
        )?;
        self.rest(&mut conversation, session)
    }

    /// Takes account of a message that came late: the session rests already.
    pub(super) fn frame_late_message(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        if conversation.framing.resting { self.rest(conversation, session) } else { Ok(()) }
    }

    fn rest(&self, conversation: &mut Conversation, session: &str) -> Result<(), EngineError> {
        conversation.framing.resting = true;
        let framing = &conversation.framing;
        let Some(framer) = &framing.framer else { return Ok(()) };
        let mut resting = framer.clone();
        for message in &framing.recorded {
            resting.read(message, &framing.taken);
        }
        resting.rest();
        if resting.changes().len() <= framing.done {
            return Ok(());
        }
        let level = self.kernel.read(|view| self.kernel.settings_in(view))?.autonomy.level;
        if let Due::Changes(due) = self.due(conversation, &resting, framing.done, level) {
            self.kernel
                .write(|change| self.carry_out(change, conversation, session, &resting, &due))?;
        }
        Ok(())
    }

    /// Makes a frame of a turn from which work is being delegated, so that the delegated frame stands below it.
    pub(crate) fn frame_handing_on(&self, session: &str) -> Result<(), EngineError> {
        let conversation = self.sessions.conversation(session);
        let mut conversation = lock(&conversation);
        self.sessions.load_spans(&mut conversation, session)?;
        let settings = self.kernel.read(|view| self.kernel.settings_in(view))?;
        self.follow_work(&mut conversation, session, &settings)?;
        let Some(framer) = &mut conversation.framing.framer else { return Ok(()) };
        framer.hand_on();
        if self.frame_work(&mut conversation, session, &settings)? {
            // The step that hands on belongs to the turn that it stands in.
            conversation.step_frame = self.queries.active(session)?;
        }
        Ok(())
    }

    /// Whether automatic frames begin, or at least have to end, in a session.
    fn frames_by_itself(
        &self,
        conversation: &mut Conversation,
        session: &str,
        settings: &Settings,
    ) -> Result<bool, EngineError> {
        let open = |span: &Span| {
            span.origin.is_automatic() && !span.detached && span.live_close().is_none()
        };
        let past = conversation.is_past();
        let begins = past || settings.autonomy.level == Level::Auto;
        if !(past || settings.frame_mode) || (!begins && !conversation.spans.iter().any(open)) {
            return Ok(false);
        }
        if let Some(led_by_user) = conversation.framing.led_by_user {
            return Ok(led_by_user);
        }
        // A child session's root is the one thing that it was started for.
        let row = self.kernel.read(|view| view.session_row(session))?;
        let led_by_user = row.map(|row| row.parent.is_none());
        conversation.framing.led_by_user = led_by_user;
        Ok(led_by_user == Some(true))
    }

    /// Returns a framer for the transcript as it is shown, which knows the stretches that are open where a compaction
    /// hides it.
    fn framer(&self, conversation: &Conversation) -> Result<Framer, EngineError> {
        let taken = &conversation.framing.taken;
        if !conversation.is_compacted() {
            return Ok(Framer::new(taken));
        }
        let shown = conversation.shown_ids();
        let hidden = |span: &&Span| {
            let message = span.open.message.as_deref();
            message.is_none_or(|message| !shown.contains(message))
        };
        let mut open = Vec::new();
        for span in conversation.spans.iter().filter(hidden) {
            let kind = match span.origin {
                SpanOrigin::Turn | SpanOrigin::FirstTurn => WorkKind::Turn,
                SpanOrigin::Todo => WorkKind::Todo,
                _ => continue,
            };
            if !span.detached && span.live_close().is_none() {
                open.push((kind, self.queries.frame(span.frame)?.identity, span.open.clone()));
            }
        }
        Ok(Framer::resume(taken, open))
    }
}

impl Conversation {
    /// Keeps a message that the host reports before it shows it.
    pub(super) fn record_framing_message(&mut self, shown: &HostMessage) {
        let message = framing_message(shown);
        let is_new =
            self.framing_messages().rev().take(2).all(|known| known.message != message.message);
        let recorded = &mut self.framing.recorded;
        recorded.retain(|known| known.message != message.message);
        recorded.extend(is_new.then_some(message));
    }

    /// Returns the messages after the place where a root begins and before a turn.
    fn framing_messages_between(
        &self,
        begins: &Anchor,
        turn: &Anchor,
    ) -> impl Iterator<Item = &FramingMessage> {
        let place = |anchor: &Anchor| {
            let id = anchor.message.as_ref()?;
            self.framing_messages().position(|it| it.message == *id)
        };
        let end = place(turn).unwrap_or(self.transcript.len());
        self.framing_messages().take(end).skip(place(begins).map_or(0, |last| last + 1))
    }

    fn shown_ids(&self) -> HashSet<&str> {
        self.messages().map(|message| message.id.as_str()).collect()
    }

    fn taken(&self) -> Taken {
        if !self.is_compacted() {
            return Taken::of(&self.spans, |_| true);
        }
        let shown = self.shown_ids();
        Taken::of(&self.spans, |message| shown.contains(message))
    }
}
