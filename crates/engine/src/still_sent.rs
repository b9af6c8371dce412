//! Finished work that its session's model is still sent step by step, since folding it was not worth it.

use std::collections::BTreeMap;

use callstack_core::cost::PAUSE;
use callstack_core::frame::FrameNum;
use callstack_core::text::format_duration;
use callstack_core::transcript::{Held, Span, SpanOrigin};
use callstack_store::View;

use crate::error::EngineError;

/// The cost of folding a finished frame that is still sent step by step. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StillSent {
    /// Tokens of its steps.
    pub(crate) tokens: usize,
    /// Tokens of the texts that would replace them and of the replies that would stay.
    pub(crate) folded: usize,
}

impl StillSent {
    /// Returns the cost in words.
    pub(crate) fn sentence(self) -> String {
        format!(
            "its steps, of about {} tokens, for which {} would stand; they leave with a frame around it, or \
             after a pause of {}",
            self.tokens,
            self.folded,
            format_duration(PAUSE)
        )
    }
}

/// The finished frames, all or the one asked for, that are still sent step by step.
pub(crate) fn still_sent(
    view: &View<'_>,
    frame: Option<FrameNum>,
) -> Result<BTreeMap<FrameNum, StillSent>, EngineError> {
    let mut found = BTreeMap::new();
    for span in view.light_spans(frame)? {
        let held = span.fold.as_ref().and_then(|fold| fold.held);
        let Some(Held::Light { span: tokens, stands: folded }) = held else { continue };
        // A root that goes on is not finished work.
        let goes_on = !view.frame(span.frame)?.status.is_finished();
        if !goes_on && !has_gone_with_another(view, &span)? {
            found.insert(span.frame, StillSent { tokens, folded });
        }
    }
    Ok(found)
}

/// Whether a frame around it was sent folded.
fn has_gone_with_another(view: &View<'_>, span: &Span) -> Result<bool, EngineError> {
    for around in view.ancestors(span.frame)? {
        for it in view.frame_spans(around.num)? {
            let was_sent = it.fold.as_ref().is_some_and(|fold| fold.settled_at.is_some());
            let folded =
                it.session == span.session && it.live_close().is_some() && !it.detached && was_sent;
            // The first turn of a root does not contain everything below the root.
            let is_around = it.origin != SpanOrigin::FirstTurn
                || view.span_begins(span.num)? < view.span_ends(it.num)?.map_or(0, |end| end.seq);
            if folded && is_around {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
