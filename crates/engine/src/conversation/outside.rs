//! A session's agent is told what a person changed from outside: at the next request, once.

use callstack_core::fold::Placement;
use callstack_core::outside::told_from_outside;
use callstack_core::transcript::{Anchor, Role};
use callstack_store::{StoreError, View};

use super::{Conversation, notes};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::outside::SLOT;

/// Tells the note of changes from others at its place; behind it stands the event of the newest one.
const NOTE: &str = "outside";

/// The changes of a session that a person made from outside, and how far its agent was told of them.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// Each with the event that holds it, in order.
    changes: Vec<(i64, String)>,
    /// The messages with a note, each with the newest event that it tells of.
    told: Vec<(String, i64)>,
}

impl Outside {
    pub(super) fn kept(view: &View<'_>, session: &str) -> Result<Self, StoreError> {
        let changes = view.renders(session, SLOT)?.into_iter();
        let changes: Vec<_> = changes.map(|(_, text, seq)| (seq, text)).collect();
        if changes.is_empty() {
            return Ok(Self::default());
        }
        let told = notes::rows(view, session)?.into_iter().filter_map(|(note, once)| {
            Some((note.message, once.strip_prefix(NOTE)?.parse().ok()?))
        });
        Ok(Self { changes, told: told.collect() })
    }
}

impl Conversation {
    /// Whether the agent has still to be told of a change.
    pub(super) fn has_outside_to_tell(&self) -> bool {
        !self.outside_to_tell().is_empty()
    }

    /// The changes that the agent was not told of. What was said at a message that was undone was not.
    fn outside_to_tell(&self) -> &[(i64, String)] {
        let Outside { changes, told } = &self.outside;
        let undone = |message: &str| {
            !self.transcript.iter().any(|shown| shown.id == message)
                && self.has_undone(&Anchor { message: Some(message.to_owned()), call: None })
        };
        let until = told.iter().filter(|(message, _)| !undone(message)).map(|(_, until)| *until);
        let until = until.max().unwrap_or(0);
        let known = changes.iter().take_while(|(seq, _)| *seq <= until).count();
        &changes[known..]
    }
}

impl Engine {
    /// Tells of the changes that the agent does not know of, with the frame that is open now.
    pub(super) fn tell_outside(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        let changes = conversation.outside_to_tell();
        let (Some((newest, _)), Some(last)) = (changes.last(), conversation.last()) else {
            return Ok(());
        };
        let lines: Vec<_> = changes.iter().map(|(_, line)| line.clone()).collect();
        let open = self.active(session)?.map(|num| self.frame(num)).transpose()?;
        let placement = if last.role == Role::User { Placement::Append } else { Placement::Insert };
        let text = told_from_outside(&lines, open.as_ref());
        let note = notes::note(session, (&last.id, placement), &format!("{NOTE}{newest}"), text);
        self.store.write(|change| change.append(self.now(), &[note]))?;
        self.load_spans(conversation, session)
    }
}
