//! Notes of a session as the store has them.

use callstack_core::event::Event;
use callstack_core::fold::{Note, Placement};
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::session_state::RenderedText;
use callstack_store::{StoreError, View};

/// The slots of notes begin with this.
pub(super) const SLOT: &str = RenderedText::Note.prefix();
/// Tells the announcement that outputs will leave from other notes.
pub(super) const LEAVING: &str = "leaving";

/// The notes of a session, in the order in which they were first sent.
pub(crate) fn kept(view: &View<'_>, session: &str) -> Result<Vec<Note>, StoreError> {
    Ok(rows(view, session)?.into_iter().map(|(note, _)| note).collect())
}

/// Returns them with the key that distinguishes each from others at its place.
pub(super) fn rows(view: &View<'_>, session: &str) -> Result<Vec<(Note, String)>, StoreError> {
    let notes = view.renders(session, SLOT)?;
    Ok(notes
        .into_iter()
        .filter_map(|(slot, text, _)| {
            let (placement, place) = slot.split_once(':')?;
            let (message, once) = place.split_once('|')?;
            let placement = match placement {
                "insert" => Placement::Insert,
                "output" => Placement::Output(once.split('|').next()?.to_owned()),
                _ => Placement::Append,
            };
            Some((Note { message: message.to_owned(), text, placement }, once.to_owned()))
        })
        .collect())
}

/// The message at which it was last announced that outputs will leave.
pub(super) fn leaving(view: &View<'_>, session: &str) -> Result<Option<String>, StoreError> {
    let rows = rows(view, session)?;
    Ok(rows.into_iter().rfind(|(_, once)| once == LEAVING).map(|(note, _)| note.message))
}

/// The events that say the same in another session, where messages have other ids.
pub(super) fn marks(
    rows: &[(Note, String)],
    session: &str,
    moved: impl Fn(&str) -> Option<String>,
) -> Vec<Event> {
    let events = rows.iter().filter_map(|(said, once)| {
        let message = moved(&said.message)?;
        let place = (message.as_str(), said.placement.clone());
        // Of steps that are named the first one is known, so that the name goes with it.
        let once = match (once.rsplit_once('|'), &said.placement) {
            (Some((name, first)), Placement::Output(_)) => format!("{name}|{}", moved(first)?),
            _ => once.clone(),
        };
        Some(note(session, place, &once, said.text.clone()))
    });
    events.collect()
}

/// Returns the event that adds a text after a message from now on. `once` distinguishes it from other notes at the
/// same place.
pub(super) fn note(session: &str, place: (&str, Placement), once: &str, text: String) -> Event {
    let (message, placement) = place;
    let placement = match placement {
        Placement::Insert => "insert",
        Placement::Append => "append",
        Placement::Output(_) => "output",
    };
    Event::Rendered {
        session: session.to_owned(),
        slot: format!("{SLOT}{placement}:{message}|{once}"),
        text,
        renderer: RENDERER_VERSION,
    }
}
