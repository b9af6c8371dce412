//! Changes by a person from outside, and how far a session's agent knows them.

use callstack_core::fold::Note;
use callstack_core::rendered_slot::{NoteKey, RenderedSlot, RenderedText};
use callstack_store::{StoreError, View};

use crate::conversation::stored_notes::rows;
use crate::kernel::outside::still_matters;

/// The changes of a session that a person made from outside, and how far its agent knows them.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    pub(crate) changes: Vec<Changed>,
    /// The messages with a note, each with the newest event in it.
    pub(crate) noted: Vec<(String, i64)>,
    /// All notes about changes, first and repeated.
    pub(crate) notes: Vec<Note>,
}

/// A change, with the line that describes it.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The event that holds it.
    pub(crate) seq: i64,
    pub(crate) line: String,
    /// Whether the note is repeated after it has left.
    pub(crate) matters: bool,
}

impl Outside {
    pub(crate) fn kept(view: &View<'_>, session: &str) -> Result<Self, StoreError> {
        let mut changes = Vec::new();
        for (slot, line, seq) in view.renders(session, Some(RenderedText::Outside))? {
            let RenderedSlot::Outside(slot) = slot else { continue };
            changes.push(Changed { seq, line, matters: still_matters(view, &slot)? });
        }
        let mut outside = Self { changes, ..Self::default() };
        if outside.changes.is_empty() {
            return Ok(outside);
        }
        for (note, key) in rows(view, session)? {
            let NoteKey::Outside { until, again } = key else { continue };
            if !again {
                outside.noted.push((note.message.clone(), until));
            }
            outside.notes.push(note);
        }
        Ok(outside)
    }
}
