//! The state of a session in the store when its host is about to call its model.

use std::sync::Arc;

use callstack_core::compaction::{Compaction, PendingCompaction};
use callstack_core::event::{Event, Session};
use callstack_core::fold::Note;
use callstack_core::frame::FrameNum;
use callstack_core::named_steps::NamedSteps;
use callstack_core::rendered_slot::RenderedSlot;
use callstack_core::session_state::BrokenTurn;
use callstack_core::transcript::Span;
use callstack_store::{Change, StoredDelegation, StoredMask, View};

use super::state::outside::Outside;
use super::state::stale::Stale;
use super::{Conversation, stored_notes};
use crate::error::EngineError;
use crate::sessions::Sessions;
use crate::settings::Settings;

/// The state of a session, read in one transaction: the stages of a request ask it instead of the store. Data that
/// stay until the session changes, such as its spans, are in its conversation.
pub(crate) struct Snapshot {
    /// The settings as they count now.
    pub(crate) settings: Arc<Settings>,
    /// The session, where the store has it.
    pub(crate) session: Option<Session>,
    /// The number of the newest event.
    pub(super) newest: u64,
    /// The failure that broke its last turn off.
    pub(super) broken: BrokenTurn,
    /// The compaction that it waits for.
    pub(super) pending: Option<PendingCompaction>,
    /// Compactions that its agent does not know of.
    pub(super) unannounced: Vec<Compaction>,
    /// The system prompt of the context that the request continues, where it is built.
    pub(crate) system: Option<String>,
}

impl Snapshot {
    /// The frame that the session works in.
    pub(crate) fn active(&self) -> Option<FrameNum> {
        self.session.as_ref()?.active
    }

    /// The session's root frame.
    pub(crate) fn root(&self) -> Option<FrameNum> {
        self.session.as_ref()?.root
    }
}

impl Sessions {
    /// Reads the state of a session, and updates `conversation` with it. `epoch` is the context that the
    /// request continues.
    pub(super) fn look(
        &self,
        conversation: &mut Conversation,
        session: &str,
        epoch: &str,
    ) -> Result<Snapshot, EngineError> {
        self.kernel.read(|view| {
            conversation.load(view, session)?;
            conversation.load_spans(view, session)?;
            self.snapshot(view, session, epoch)
        })
    }

    fn snapshot(
        &self,
        view: &View<'_>,
        session: &str,
        epoch: &str,
    ) -> Result<Snapshot, EngineError> {
        let slot = RenderedSlot::System(epoch.to_owned());
        Ok(Snapshot {
            settings: self.kernel.settings_in(view)?,
            session: view.session_row(session)?,
            newest: view.newest_event()?.seq,
            broken: view.broken_turn(session)?,
            pending: view.pending_compaction(session)?,
            unannounced: view.unannounced_compactions(session)?,
            system: view.render(session, &slot)?,
        })
    }

    /// Updates `conversation` with the state of its session.
    pub(super) fn load(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        self.kernel.read(|view| {
            conversation.load(view, session)?;
            conversation.load_spans(view, session)
        })
    }

    /// The same, but for the messages that were shown before.
    pub(super) fn load_spans(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        self.kernel.read(|view| conversation.load_spans(view, session))
    }

    /// Changes the store, and updates `conversation` with the state of its session after that, in one transaction.
    pub(super) fn write<T>(
        &self,
        conversation: &mut Conversation,
        session: &str,
        write: impl FnOnce(&Conversation, &mut Change<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let (outcome, ()) = self.write_and_read(conversation, session, write, |_| Ok(()))?;
        Ok(outcome)
    }

    /// Changes the store, and reads the state of the session after that, in one transaction. `epoch` is the context
    /// that the request continues.
    pub(super) fn write_and_look<T>(
        &self,
        conversation: &mut Conversation,
        session: &str,
        epoch: &str,
        write: impl FnOnce(&Conversation, &mut Change<'_>) -> Result<T, EngineError>,
    ) -> Result<(T, Snapshot), EngineError> {
        let look = |view: &View<'_>| self.snapshot(view, session, epoch);
        self.write_and_read(conversation, session, write, look)
    }

    fn write_and_read<T, R>(
        &self,
        conversation: &mut Conversation,
        session: &str,
        write: impl FnOnce(&Conversation, &mut Change<'_>) -> Result<T, EngineError>,
        read: impl FnOnce(&View<'_>) -> Result<R, EngineError>,
    ) -> Result<(T, R), EngineError> {
        // The conversation keeps nothing of a transaction that fails.
        let (outcome, kept, state) = self.kernel.write(|change| {
            let outcome = write(conversation, change)?;
            let view = change.view();
            let kept = Kept::after(conversation.revision, &view, session)?;
            Ok::<_, EngineError>((outcome, kept, read(&view)?))
        })?;
        conversation.keep(kept);
        Ok((outcome, state))
    }

    /// Appends events that happen at a time, and updates `conversation` with the state of its session after that, in
    /// one transaction.
    pub(super) fn append(
        &self,
        conversation: &mut Conversation,
        session: &str,
        at: i64,
        events: &[Event],
    ) -> Result<(), EngineError> {
        self.write(conversation, session, |_, change| Ok(change.append(at, events)?))
    }
}

impl Conversation {
    /// Reads once which messages the session has shown, to whichever process.
    fn load(&mut self, view: &View<'_>, session: &str) -> Result<(), EngineError> {
        if self.loaded {
            return Ok(());
        }
        let order = view.message_order(session)?;
        let known = order.len() as u64;
        self.masking.load(view, session, known)?;
        self.naming.looked.looked(self.transcript.len(), known);
        self.serial = self.serial.max(view.newest_recording(session)?.unwrap_or_default());
        self.order = order.into_iter().zip(0..).collect();
        self.purged = view.purged_messages(session)?;
        self.loaded = true;
        Ok(())
    }

    /// Reads the spans and texts of the session, where they have changed.
    fn load_spans(&mut self, view: &View<'_>, session: &str) -> Result<(), EngineError> {
        let kept = Kept::after(self.revision, view, session)?;
        self.keep(kept);
        Ok(())
    }

    fn keep(&mut self, kept: Option<Kept>) {
        let Some(kept) = kept else { return };
        self.revision = kept.revision;
        self.spans = kept.spans;
        self.notes = kept.notes;
        self.outside = kept.outside;
        self.leaving = kept.leaving;
        self.masking.know(kept.masks);
        self.naming.know(kept.named);
        self.delegations = kept.delegations;
        self.stale.know(kept.stale);
        // Somebody else may have loaded them since the last answer.
        self.steady_since = None;
        self.serial = self.serial.max(self.settled_serial());
    }
}

/// The spans and texts of a session, at a revision of it.
struct Kept {
    revision: i64,
    spans: Vec<Span>,
    notes: Vec<Note>,
    outside: Outside,
    leaving: Option<String>,
    masks: Vec<StoredMask>,
    named: Vec<NamedSteps>,
    delegations: Vec<StoredDelegation>,
    stale: Stale,
}

impl Kept {
    /// Reads them, unless they are as they were at a known revision.
    fn after(known: i64, view: &View<'_>, session: &str) -> Result<Option<Self>, EngineError> {
        let revision = view.session_revision(session)?;
        // One without any frame has no revision, but may have marks and masks.
        if revision == known && revision != 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            revision,
            spans: view.session_spans(session)?,
            notes: stored_notes::kept(view, session)?,
            outside: Outside::kept(view, session)?,
            leaving: stored_notes::leaving(view, session)?,
            masks: view.session_masks(session)?,
            named: view.named_steps(session)?,
            delegations: view.delegations_of(session)?,
            stale: Stale::kept(view, session)?,
        }))
    }
}
