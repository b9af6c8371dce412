//! Frame mode off: a session's requests go out as they would without callstack, except for reasoning that was written
//! after texts of ours.

use callstack_core::event::Event;
use callstack_core::fold::{Input, fold};
use callstack_core::rendered_slot::RenderedText;
use callstack_core::session_state::SessionState;
use callstack_core::transcript::Span;
use callstack_store::{StoreError, View};

use super::Conversation;
use super::sync_request::{SyncAnswer, common};
use crate::error::{EngineError, Kind};
use crate::queries::Queries;

impl Queries {
    /// Whether agents work in frames in this project.
    pub(crate) fn frame_mode(&self) -> Result<bool, EngineError> {
        Ok(self.kernel.read(|view| self.kernel.settings_in(view))?.frame_mode)
    }
}

/// Returns the events that keep a change of the mode, where it counts: with the mode, the prefix of everything that was
/// written so far is another one.
pub(super) fn changed(
    view: &View<'_>,
    conversation: &Conversation,
    session: &str,
    framed: bool,
) -> Result<Vec<Event>, StoreError> {
    let settled = |span: &Span| span.fold.as_ref().is_some_and(|fold| fold.settled_at.is_some());
    let any = conversation.spans.iter().any(settled)
        || !conversation.masking.lines().is_empty()
        || !view.renders(session, Some(RenderedText::System))?.is_empty();
    if !any || view.kept_frame_mode(session)?.unwrap_or(true) == framed {
        return Ok(Vec::new());
    }
    let state = SessionState::FrameMode { on: framed };
    let mode = Event::SessionStateSet { session: session.to_owned(), state };
    Ok(std::iter::once(mode).chain(conversation.mark_for_new_system(session)).collect())
}

/// The answer to a call while the mode is off.
pub(super) fn unframed(
    conversation: &mut Conversation,
    now: i64,
    held: usize,
    last_serial: i64,
) -> SyncAnswer {
    conversation.step_frame = None;
    conversation.number_answer(now, last_serial);
    let folded = fold(&Input {
        transcript: &conversation.transcript,
        spans: &[],
        notes: &[],
        masks: &[],
        reasoning: conversation.reasoning,
        stale_until: conversation.stale_until(),
        stale: &conversation.stale.steps,
    });
    let keep = common(&conversation.sent, &folded.ops).min(held);
    let ops = folded.ops[keep..].to_vec();
    conversation.sent = folded.ops;
    SyncAnswer::Ops { serial: conversation.serial, keep, ops }
}

/// Returns the refusal of an operation that needs frames where their mode is off.
pub fn off() -> EngineError {
    EngineError::new(Kind::Conflict, "frame mode is off in this project").with_hint(
        "Go on without frames; `callstack config frame-mode on` in a terminal turns it on.",
    )
}
