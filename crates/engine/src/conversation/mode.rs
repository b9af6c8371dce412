//! Frame mode off: a session's requests go out as they would without callstack, except for reasoning that was written
//! after texts of ours.

use callstack_core::event::Event;
use callstack_core::fold::{Input, fold};
use callstack_core::rendered_slot::RenderedText;
use callstack_core::session_state::SessionState;

use super::Conversation;
use super::sync_request::{SyncAnswer, common};
use crate::error::{EngineError, Kind};
use crate::kernel::Kernel;
use crate::queries::Queries;

impl Queries {
    /// Whether agents work in frames in this project.
    pub(crate) fn frame_mode(&self) -> Result<bool, EngineError> {
        Ok(self.kernel.read(|view| self.kernel.settings_in(view))?.frame_mode)
    }
}

/// Follows a change of the mode: with it the prefix of everything that was written so far is
/// another one.
pub(super) fn follow_mode(
    kernel: &Kernel,
    conversation: &mut Conversation,
    session: &str,
    framed: bool,
) -> Result<(), EngineError> {
    if conversation.framed == Some(framed) {
        return Ok(());
    }
    let (kept, any) = kernel.read(|view| {
        let any = !view.renders(session, Some(RenderedText::System))?.is_empty();
        Ok::<_, EngineError>((view.kept_frame_mode(session)?, any))
    })?;
    let settled = |span: &callstack_core::transcript::Span| {
        span.fold.as_ref().is_some_and(|fold| fold.settled_at.is_some())
    };
    let any =
        any || conversation.spans.iter().any(settled) || !conversation.masking.lines().is_empty();
    if any && kept.unwrap_or(true) != framed {
        let state = SessionState::FrameMode { on: framed };
        let mode = Event::SessionStateSet { session: session.to_owned(), state };
        let mark = conversation.mark_for_new_system(session);
        let events: Vec<_> = std::iter::once(mode).chain(mark).collect();
        kernel.write(|change| change.append(kernel.now(), &events))?;
        conversation.go_stale();
    }
    conversation.steady_since = None;
    conversation.framed = Some(framed);
    Ok(())
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
