//! Commands on frames: `core` decides each, and its events are appended in the transaction of its caller.

use std::sync::Arc;

use callstack_core::autonomy::{LIFETIME, SuggestionEnd, SuggestionKind};
use callstack_core::decide::{Command, Decision, decide};
use callstack_core::event::Event;
use callstack_core::frame::{FrameNum, Status};
use callstack_core::transcript::SpanOrigin;
use callstack_store::{Change, StoreError, View};

use crate::error::{EngineError, Kind};
use crate::kernel::Env;

/// Carries out commands on frames within a transaction.
pub(crate) struct Commands {
    pub(crate) env: Arc<Env>,
}

impl Commands {
    pub(crate) fn new(env: &Arc<Env>) -> Self {
        Self { env: Arc::clone(env) }
    }

    /// Decides a command and appends its events.
    pub(crate) fn carry_out(
        &self,
        change: &mut Change<'_>,
        command: &Command,
    ) -> Result<Decision, EngineError> {
        self.carry_out_at(change, self.env.now(), command)
    }

    /// Decides a command and appends its events, as of the time `at` (milliseconds since 1970).
    pub(crate) fn carry_out_at(
        &self,
        change: &mut Change<'_>,
        at: i64,
        command: &Command,
    ) -> Result<Decision, EngineError> {
        let limits = self.env.settings_in(&change.view())?.limits;
        let decision = decide(&change.view(), command, &limits, at)?;
        change.append(at, &decision.events)?;
        let followed = followed(&change.view(), &decision.events, at)?;
        change.append(at, &followed)?;
        self.env.record_outside(change, at, &decision.events, &decision.frames)?;
        Ok(decision)
    }
}

/// The frame that a command was carried out on.
pub(crate) fn first(decision: &Decision) -> Result<FrameNum, EngineError> {
    decision
        .frames
        .first()
        .copied()
        .ok_or_else(|| EngineError::new(Kind::Internal, "a command was carried out on no frame"))
}

/// Returns the events for suggestions that follow from others: a child that was opened or an end fulfils a
/// suggestion, and no suggestion waits for a frame that has ended.
fn followed(view: &View<'_>, events: &[Event], now: i64) -> Result<Vec<Event>, StoreError> {
    let mut ends = Vec::new();
    let mut end = |frame: FrameNum, of: &dyn Fn(SuggestionKind) -> Option<SuggestionEnd>| {
        for stored in view.frame_suggestions(frame, now.saturating_sub(LIFETIME), now)? {
            if let Some(end) = of(stored.suggestion.kind()).filter(|_| stored.end.is_none()) {
                let suggestion = stored.suggestion.num;
                ends.push(Event::SuggestionEnded { suggestion, end });
            }
        }
        Ok::<_, StoreError>(())
    };
    for event in events {
        match event {
            Event::SpanOpened { span }
                if matches!(span.origin, SpanOrigin::Push | SpanOrigin::Activate) =>
            {
                if let Some(parent) = view.frame(span.frame)?.parent {
                    let acted =
                        |kind| (kind == SuggestionKind::Push).then_some(SuggestionEnd::ActedOn);
                    end(parent, &acted)?;
                }
            }
            Event::FrameEnded { frame, outcome, .. } => {
                let popped = outcome.status != Status::Invalidated;
                end(*frame, &|kind| {
                    let acted = kind == SuggestionKind::Pop && popped;
                    Some(if acted { SuggestionEnd::ActedOn } else { SuggestionEnd::Cleared })
                })?;
            }
            _ => {}
        }
    }
    Ok(ends)
}
