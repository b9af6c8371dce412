//! Reminders: each is said once and then stands at its place for ever, so that what was sent stays as
//! it was.

use callstack_core::event::Event;
use callstack_core::fold::{Note, Placement};
use callstack_core::returned::{LIMIT_PERCENT, RENDERER_VERSION, limit_suggestion, reminder};
use callstack_core::transcript::{Message, PartBody, Role, Span, Standing};
use callstack_store::{StoreError, View};

use super::Conversation;
use crate::engine::Engine;
use crate::error::EngineError;

/// User turns after which a frame counts as forgotten.
const FORGOTTEN: usize = 3;

const SLOT: &str = "note:";

/// The notes of a session, in the order in which they were first sent.
pub(super) fn kept(view: &View<'_>, session: &str) -> Result<Vec<Note>, StoreError> {
    let notes = view.renders(session, SLOT)?;
    Ok(notes
        .into_iter()
        .filter_map(|(slot, text, _)| {
            let (placement, place) = slot.split_once(':')?;
            let (message, _) = place.split_once('|')?;
            let placement =
                if placement == "insert" { Placement::Insert } else { Placement::Append };
            Some(Note { message: message.to_owned(), text, placement })
        })
        .collect())
}

impl Engine {
    /// Says what is due at this call. Whether anything was.
    pub(super) fn make_notes(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<bool, EngineError> {
        let Some(active) = conversation.step_frame else { return Ok(false) };
        let open = conversation.spans.iter().rfind(|span| {
            span.frame == active && span.foldable && !span.detached && span.live_close().is_none()
        });
        let (Some(span), Some(last)) = (open, conversation.transcript.last()) else {
            return Ok(false);
        };
        let turns = user_turns_behind(&conversation.transcript, span);
        let forgotten = is_user_turn(last) && turns >= FORGOTTEN;
        let used = conversation.used.zip(conversation.limit);
        let full = used.is_some_and(|(used, limit)| {
            used.saturating_mul(100) >= limit.saturating_mul(LIMIT_PERCENT as u64)
        });
        if !forgotten && !full {
            return Ok(false);
        }
        let placement = if last.role == Role::User { "append" } else { "insert" };
        let (span, place) = (span.num, last.id.clone());
        let known: Vec<String> = self
            .store
            .read(|view| view.renders(session, SLOT))?
            .into_iter()
            .map(|it| it.0)
            .collect();
        let frame = self.frame(active)?;
        let say = |kind: &str, text: String| -> Result<(), EngineError> {
            let once = format!("|{}|{kind}", span.0);
            if known.iter().any(|slot| slot.ends_with(&once)) {
                return Ok(());
            }
            let event = Event::Rendered {
                session: session.to_owned(),
                slot: format!("{SLOT}{placement}:{place}{once}"),
                text,
                renderer: RENDERER_VERSION,
            };
            Ok(self.store.write(|change| change.append(self.now(), &[event]))?)
        };
        if forgotten {
            say(
                "reminder",
                reminder(&[&frame], u32::try_from(turns).unwrap_or(u32::MAX), self.dialect()),
            )?;
        }
        let suggestion = used.and_then(|(used, limit)| {
            limit_suggestion(
                &frame,
                usize::try_from(used).ok()?,
                usize::try_from(limit).ok()?,
                self.dialect(),
            )
        });
        if let Some(suggestion) = suggestion {
            say("limit", suggestion)?;
        }
        let before = conversation.notes.len();
        conversation.notes = self.store.read(|view| kept(view, session))?;
        Ok(conversation.notes.len() > before)
    }
}

fn user_turns_behind(transcript: &[Message], span: &Span) -> usize {
    let from = span
        .open
        .message
        .as_ref()
        .and_then(|id| transcript.iter().position(|message| message.id == *id))
        .map_or(0, |at| at + 1);
    transcript.iter().skip(from).filter(|message| is_user_turn(message)).count()
}

fn is_user_turn(message: &Message) -> bool {
    message.role == Role::User
        && message.standing == Standing::Normal
        && message
            .parts
            .iter()
            .any(|part| matches!(part.body, PartBody::Text { synthetic: false, .. }))
}
