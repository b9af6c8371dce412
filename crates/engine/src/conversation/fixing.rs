//! Fixes the text that a frame returned at the first request after the step that ended it: by then every call of that
//! step has its result, which the author of the results had not seen.

use std::path::Path;
use std::sync::Arc;

use callstack_core::event::Event;
use callstack_core::evidence::Evidence;
use callstack_core::frame::Status;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::transcript::{Fold, Held, Span};
use callstack_store::{Change, View};

use super::Conversation;
use crate::assembly::Contexts;
use crate::assembly::open_now::Saying;
use crate::error::EngineError;
use crate::evidence::{SpanReader, taken};
use crate::kernel::Kernel;
use crate::recorder::PATIENCE;
use crate::sessions::Sessions;

/// The treatment of a text while the last step of its span is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unshown {
    /// It is fixed later: the request of the host lacks the newest steps.
    Waits,
    /// It is fixed now: the host has shown all that it will show of that step.
    IsFixed,
}

/// The knowledge of a span once its last step is over.
enum AtTheEnd {
    /// Its last step is to be shown yet.
    Waits,
    /// No call stands beside its end.
    AsKnown,
    /// Calls do, and this was seen in all of it.
    Seen(Box<Evidence>),
}

/// Fixes the texts that frames returned once the calls of the step of their pop have their results.
pub(crate) struct Fixing {
    kernel: Arc<Kernel>,
    contexts: Arc<Contexts>,
    span_reader: Arc<SpanReader>,
    sessions: Arc<Sessions>,
}

impl Fixing {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        contexts: &Arc<Contexts>,
        span_reader: &Arc<SpanReader>,
        sessions: &Arc<Sessions>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            contexts: Arc::clone(contexts),
            span_reader: Arc::clone(span_reader),
            sessions: Arc::clone(sessions),
        }
    }

    /// Fixes the texts of spans that ended in a session's last steps. Returns whether it could: false where these steps
    /// were not on the disk in time.
    pub(super) fn fix_returned(
        &self,
        conversation: &mut Conversation,
        session: &str,
        unshown: Unshown,
    ) -> Result<bool, EngineError> {
        let unfixed = conversation.spans.iter().filter(|span| is_unfixed(span));
        let unfixed: Vec<Span> = unfixed.cloned().collect();
        if unfixed.is_empty() {
            return Ok(true);
        }
        if !self.sessions.recorder()?.flush(conversation.ticket, PATIENCE) {
            return Ok(false);
        }
        let folder = conversation.folder(self.kernel.project()).to_path_buf();
        let seen = self.kernel.read(|view| {
            let seen = |span: &Span| self.seen_at_the_end(view, span, &folder, unshown);
            unfixed.iter().map(seen).collect::<Result<Vec<_>, EngineError>>()
        })?;
        self.sessions.write(conversation, session, |_, change| {
            for (span, seen) in unfixed.iter().zip(&seen) {
                // A text that another process has fixed in the meantime stays.
                if change.view().span_row(span.num)?.fold == span.fold {
                    self.fix(change, span, seen)?;
                }
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// Fixes the text of a span whose session will show no further step, if that is still to be done.
    pub(crate) fn fix_now(
        &self,
        change: &mut Change<'_>,
        span: &Span,
    ) -> Result<Option<Fold>, EngineError> {
        if !is_unfixed(span) {
            return Ok(span.fold.clone());
        }
        let seen =
            self.seen_at_the_end(&change.view(), span, self.kernel.project(), Unshown::IsFixed)?;
        self.fix(change, span, &seen)?;
        Ok(change.view().span_row(span.num)?.fold)
    }

    /// Returns the evidence of a span with its last step, whose outcome was not known when it ended.
    fn seen_at_the_end(
        &self,
        view: &View<'_>,
        span: &Span,
        folder: &Path,
        unshown: Unshown,
    ) -> Result<AtTheEnd, EngineError> {
        match self.span_reader.ends_beside_calls(view, span)? {
            None if unshown == Unshown::Waits => return Ok(AtTheEnd::Waits),
            None | Some(false) => return Ok(AtTheEnd::AsKnown),
            Some(true) => {}
        }
        let results = span.outcome.as_ref().and_then(|outcome| outcome.results.as_deref());
        let mut evidence = self.span_reader.evidence_of(view, span, results, folder)?;
        let known = view.span_evidence(span.num)?;
        evidence.remains.list = known.remains.list;
        evidence.gaps.missing |= known.gaps.missing;
        Ok(AtTheEnd::Seen(Box::new(evidence)))
    }

    fn fix(
        &self,
        change: &mut Change<'_>,
        span: &Span,
        seen: &AtTheEnd,
    ) -> Result<(), EngineError> {
        let Some(mut fold) = span.fold.clone() else { return Ok(()) };
        match seen {
            AtTheEnd::Waits => return Ok(()),
            AtTheEnd::AsKnown => {}
            AtTheEnd::Seen(evidence) => {
                let taken = taken(&change.view(), span.frame, span.num, evidence)?;
                change.append(self.kernel.now(), taken.as_slice())?;
            }
        }
        // A frame that was invalidated during the work in it has the text of that work.
        let is_own = span.outcome.as_ref().is_none_or(|it| it.status != Status::Invalidated);
        if is_own || matches!(seen, AtTheEnd::Seen(_)) {
            // Frames may have begun and ended since, with calls of the same step.
            fold.text = self.contexts.returned_again(&change.view(), span, Saying::Now)?;
            fold.renderer = RENDERER_VERSION;
        }
        fold.held = None;
        Ok(change.append(self.kernel.now(), &[Event::FoldSet { span: span.num, fold }])?)
    }
}

fn is_unfixed(span: &Span) -> bool {
    let held = span.fold.as_ref().and_then(|fold| fold.held);
    held == Some(Held::Unfixed) && !span.detached && span.live_close().is_some()
}
