//! Decides which finished spans go out folded: those that are worth it, and are on the disk.

use std::sync::Arc;

use callstack_core::event::Event;
use callstack_core::fold::{Folded, Input, Weighed, fold, weigh};
use callstack_core::transcript::{Fold, Held, Span, SpanNum};

use super::Conversation;
use super::entry::Entry;
use super::fixing::Unshown;
use crate::conversation::fixing::Fixing;
use crate::error::EngineError;
use crate::evidence::SpanReader;
use crate::kernel::Kernel;
use crate::recorder::PATIENCE;
use crate::sessions::Sessions;

impl Conversation {
    pub(super) fn input<'a>(&'a self, live: &'a [Span]) -> Input<'a, Entry> {
        Input {
            transcript: &self.transcript,
            spans: live,
            notes: &self.notes,
            masks: self.masking.lines(),
            reasoning: self.reasoning,
            stale_until: self.stale_until(),
            stale: &self.stale.steps,
        }
    }

    /// Folds the spans as they count now, but for those that are not on the disk yet.
    pub(super) fn fold(&self) -> Folded {
        self.fold_spans(&without(&live(&self.spans), &self.left_out))
    }

    fn fold_spans(&self, live: &[Span]) -> Folded {
        fold(&self.input(live))
    }

    /// Weighs the spans that wait for it, and sets the verdicts in `live`. They depend on the transcript, the store
    /// and the clock alone, so that another process would decide the same.
    fn weigh(&self, live: &mut [Span], now: i64) -> Vec<Weighed> {
        let is_cached = !self.masking.has_paused(now);
        let weighed = weigh(&self.input(live), self.weights(), is_cached);
        for (num, held) in &weighed {
            let span = live.iter_mut().find(|span| span.num == *num);
            if let Some(fold) = span.and_then(|span| span.fold.as_mut()) {
                fold.held = *held;
            }
        }
        weighed
    }

    /// Whether the provider's cache has expired, and there is a span that was too light to be folded before.
    pub(super) fn weighs_again(&self, now: i64) -> bool {
        let light = |fold: &Fold| matches!(fold.held, Some(Held::Light { .. }));
        self.masking.has_paused(now)
            && self.spans.iter().any(|span| span.fold.as_ref().is_some_and(light))
    }
}

/// Folds finished work and masks outputs that were replaced.
pub(crate) struct Folding {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) span_reader: Arc<SpanReader>,
    pub(crate) sessions: Arc<Sessions>,
    fixing: Arc<Fixing>,
}

impl Folding {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        span_reader: &Arc<SpanReader>,
        sessions: &Arc<Sessions>,
        fixing: &Arc<Fixing>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            span_reader: Arc::clone(span_reader),
            sessions: Arc::clone(sessions),
            fixing: Arc::clone(fixing),
        }
    }

    /// Folds the spans that are worth it, once they are on the disk.
    pub(super) fn folded(
        &self,
        conversation: &mut Conversation,
        session: &str,
        applied: i64,
    ) -> Result<Folded, EngineError> {
        let is_fixed = self.fixing.fix_returned(conversation, session, Unshown::IsFixed)?;
        conversation.is_disk_slow = !is_fixed;
        conversation.left_out.clear();
        let now = self.kernel.now();
        let mut live = live(&conversation.spans);
        let mut weighed = conversation.weigh(&mut live, now);
        let mut folded = conversation.fold_spans(&live);
        if !folded.unsettled.is_empty()
            && !self.sessions.recorder()?.flush(conversation.ticket, PATIENCE)
        {
            weighed.clear();
            conversation.is_disk_slow = true;
            // A fold that is left out may uncover one inside it that is not settled either.
            while !folded.unsettled.is_empty() {
                conversation.left_out.append(&mut folded.unsettled);
                folded = conversation.fold();
            }
        }
        // The span of a fold whose answer never arrived is on the disk already. It settles again in any case, since the
        // newest steps were written after the unfolded span.
        let settles = |span: &Span| {
            folded.unsettled.contains(&span.num)
                || (folded.in_effect.contains(&span.num) && never_arrived(span, applied))
        };
        let is_weighed = |span: &Span| weighed.iter().any(|(num, _)| *num == span.num);
        let Some(last) = conversation.last().map(|message| message.id.clone()) else {
            return Ok(folded);
        };
        if !live.iter().any(settles) && weighed.is_empty() {
            return Ok(folded);
        }
        self.sessions.write(conversation, session, |conversation, change| {
            let mut events = Vec::new();
            for span in live.iter().filter(|span| settles(span) || is_weighed(span)) {
                let known = conversation.spans.iter().find(|known| known.num == span.num);
                // A decision of another process in the meantime stands.
                let stands = change.view().span_row(span.num)?.fold;
                let Some(mut fold) = span.fold.clone() else { continue };
                if known.is_none_or(|known| known.fold != stands) {
                    continue;
                }
                if settles(span) {
                    fold.settled_at = Some(last.clone());
                    fold.settled_serial = Some(conversation.serial);
                }
                events.push(Event::FoldSet { span: span.num, fold });
            }
            Ok(change.append(now, &events)?)
        })?;
        Ok(conversation.fold())
    }
}

/// Returns the spans as they count now: without those that were undone.
pub(super) fn live(spans: &[Span]) -> Vec<Span> {
    spans
        .iter()
        .filter(|span| !span.detached)
        .map(|span| {
            let mut span = span.clone();
            if span.close_undone {
                span.close = None;
                span.fold = None;
            }
            span
        })
        .collect()
}

/// Whether the first answer with the fold of the span never went into a request of the host.
fn never_arrived(span: &Span, applied: i64) -> bool {
    let serial = span.fold.as_ref().and_then(|fold| fold.settled_serial);
    applied > 0 && serial.is_some_and(|serial| serial > applied)
}

/// Returns the spans, some of them without their folds.
fn without(live: &[Span], left_out: &[SpanNum]) -> Vec<Span> {
    live.iter()
        .map(|span| {
            let mut span = span.clone();
            if left_out.contains(&span.num) {
                span.fold = None;
            }
            span
        })
        .collect()
}
