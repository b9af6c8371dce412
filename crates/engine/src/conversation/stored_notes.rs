//! Notes of a session as the store has them.

use callstack_core::event::Event;
use callstack_core::fold::{Note, Placement};
use callstack_core::rendered_slot::{NoteKey, NoteSlot, RenderedSlot, RenderedText};
use callstack_core::returned::RENDERER_VERSION;
use callstack_store::{StoreError, View};

/// The notes of a session, in the order in which they were first sent.
pub(crate) fn kept(view: &View<'_>, session: &str) -> Result<Vec<Note>, StoreError> {
    Ok(rows(view, session)?.into_iter().map(|(note, _)| note).collect())
}

/// Returns them with the key that distinguishes each from others at its place.
pub(super) fn rows(view: &View<'_>, session: &str) -> Result<Vec<(Note, NoteKey)>, StoreError> {
    let notes = view.renders(session, Some(RenderedText::Note))?;
    let notes = notes.into_iter().filter_map(|(slot, text, _)| match slot {
        RenderedSlot::Note(NoteSlot { placement, message, key }) => {
            Some((Note { message, text, placement }, key))
        }
        _ => None,
    });
    Ok(notes.collect())
}

/// The message at which it was last announced that outputs will leave.
pub(super) fn leaving(view: &View<'_>, session: &str) -> Result<Option<String>, StoreError> {
    let rows = rows(view, session)?;
    Ok(rows.into_iter().rfind(|(_, key)| *key == NoteKey::Leaving).map(|(note, _)| note.message))
}

/// The events that say the same in another session, where messages have other ids.
pub(super) fn marks(
    rows: &[(Note, NoteKey)],
    session: &str,
    moved: impl Fn(&str) -> Option<String>,
) -> Vec<Event> {
    let events = rows.iter().filter_map(|(said, key)| {
        let message = moved(&said.message)?;
        let place = (message.as_str(), said.placement.clone());
        // Of steps that are named the first one is known, so that the name goes with it.
        let key = match key {
            NoteKey::About { name, message } => {
                NoteKey::About { name: name.clone(), message: moved(message)? }
            }
            key => key.clone(),
        };
        Some(note(session, place, key, said.text.clone()))
    });
    events.collect()
}

/// Returns the event that adds a text after a message from now on. `key` distinguishes it from other notes at the
/// same place.
pub(super) fn note(session: &str, place: (&str, Placement), key: NoteKey, text: String) -> Event {
    let (message, placement) = place;
    Event::Rendered {
        session: session.to_owned(),
        slot: RenderedSlot::Note(NoteSlot { placement, message: message.to_owned(), key }),
        text,
        renderer: RENDERER_VERSION,
    }
}
