//! The state of masking.

use callstack_core::cost::PAUSE;
use callstack_core::fold::Mask;
use callstack_store::{StoreError, StoredMask, View};

use crate::conversation::entry::Looked;

/// The state of masking in this process.
#[derive(Debug, Default)]
pub(crate) struct Masking {
    /// When due outputs were last determined.
    pub(crate) looked: Looked,
    /// Whether something was due that was not on the disk yet.
    pub(crate) waits: bool,
    /// When the host called its model last.
    pub(crate) called_at: Option<i64>,
    pub(crate) lines: Vec<Mask>,
    /// For each line the serial of the answer with which it was first sent.
    pub(crate) serials: Vec<i64>,
}

impl Masking {
    pub(crate) fn know(&mut self, stored: Vec<StoredMask>) {
        let stored = stored.into_iter().map(|it| (it.mask, it.settled_serial));
        (self.lines, self.serials) = stored.unzip();
    }

    pub(crate) fn lines(&self) -> &[Mask] {
        &self.lines
    }

    /// The serial of the last answer with which lines were first sent.
    pub(crate) fn settled(&self) -> i64 {
        self.serials.iter().copied().max().unwrap_or_default()
    }

    /// Whether the provider's cache has expired.
    pub(crate) fn has_paused(&self, now: i64) -> bool {
        self.called_at.is_none_or(|before| now - before > PAUSE)
    }

    /// Takes note of a call of the model, or of the end of one.
    pub(crate) fn called(&mut self, now: i64) {
        self.called_at = Some(now);
    }

    /// Takes over a session that shows `known` messages: other processes have followed them.
    pub(crate) fn load(
        &mut self,
        view: &View<'_>,
        session: &str,
        known: u64,
    ) -> Result<(), StoreError> {
        self.called_at = view.last_recorded(session)?;
        self.looked.know(known);
        Ok(())
    }
}
