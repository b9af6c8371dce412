//! Tells a session's agent about changes that a person made from outside. Each is announced in a note at the next
//! request, and again if that note was folded away with a finished frame while the change still matters.

use callstack_core::event::Event;
use callstack_core::fold::{Note, Placement};
use callstack_core::outside::{changes_note, note_contains};
use callstack_core::rendered_slot::NoteKey;
use callstack_core::transcript::{Anchor, FoldOp, Role};

use super::Conversation;
use super::snapshot::Snapshot;
use super::state::outside::{Changed, Outside};
use super::stored_notes::note;
use crate::error::EngineError;
use crate::queries::Queries;

impl Conversation {
    /// Whether there is a change that the agent does not know.
    pub(super) fn has_outside_to_announce(&self) -> bool {
        !self.unannounced_outside().is_empty() || !self.outside_that_left(&self.sent).is_empty()
    }

    /// Returns the changes that the agent does not know. A note at a message that was undone does not count.
    fn unannounced_outside(&self) -> &[Changed] {
        let Outside { changes, noted, .. } = &self.outside;
        let undone = |message: &str| {
            !self.messages().any(|shown| shown.id == message)
                && self.has_undone(&Anchor { message: Some(message.to_owned()), call: None })
        };
        let until = noted.iter().filter(|(message, _)| !undone(message)).map(|(_, until)| *until);
        let until = until.max().unwrap_or(0);
        let known = changes.iter().take_while(|change| change.seq <= until).count();
        &changes[known..]
    }

    /// Returns the changes that still matter, and whose notes are in the transcript but leave by these operations.
    fn outside_that_left(&self, ops: &[FoldOp]) -> Vec<&Changed> {
        let shown = |note: &&Note| self.messages().any(|shown| shown.id == note.message);
        let notes: Vec<_> = self.outside.notes.iter().filter(shown).collect();
        let is_sent = |note: &Note| {
            ops.iter().any(|op| match op {
                FoldOp::Append { text, .. } | FoldOp::Insert { text, .. } => {
                    text.contains(&note.text)
                }
                _ => false,
            })
        };
        let has_left = |change: &&Changed| {
            let mut mentions = notes.iter().filter(|note| note_contains(&note.text, &change.line));
            mentions.clone().next().is_some() && mentions.all(|note| !is_sent(note))
        };
        let changes = self.outside.changes.iter();
        changes.filter(|change| change.matters).filter(has_left).collect()
    }
}

/// Returns the notes of the changes that the agent does not know of, or whose note has left, with the frame that is
/// open now.
pub(super) fn notes(
    queries: &Queries,
    conversation: &Conversation,
    session: &str,
    snapshot: &Snapshot,
) -> Result<Vec<Event>, EngineError> {
    let Some(last) = conversation.last() else { return Ok(Vec::new()) };
    if conversation.outside.changes.is_empty() {
        return Ok(Vec::new());
    }
    let ops = conversation.fold().ops;
    let due = [
        (conversation.outside_that_left(&ops), true),
        (conversation.unannounced_outside().iter().collect(), false),
    ];
    let open = snapshot.active().map(|num| queries.frame(num)).transpose()?;
    let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
    let mut events = Vec::new();
    for (changes, again) in &due {
        let Some(newest) = changes.last() else { continue };
        let lines: Vec<_> = changes.iter().map(|change| change.line.as_str()).collect();
        let text = changes_note(&lines, open.as_ref(), *again);
        let key = NoteKey::Outside { until: newest.seq, again: *again };
        events.push(note(session, (&last.id, placement.clone()), key, text));
    }
    Ok(events)
}
