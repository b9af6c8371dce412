//! Ending frames: the texts that replace their spans are made in the transaction that ends them.

use std::sync::Arc;

use callstack_core::decide::{Command, Pop};
use callstack_core::event::Event;
use callstack_core::evidence::Evidence;
use callstack_core::frame::FrameNum;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::transcript::Fold;
use callstack_store::Change;

use crate::assembly::Contexts;
use crate::call::Caller;
use crate::commands::{Commands, first};
use crate::error::EngineError;
use crate::evidence;
use crate::evidence::SpanEvidence;
use crate::kernel::Kernel;

/// Ends frames within a transaction, and makes the texts that replace their spans.
pub(crate) struct SpanClosing {
    commands: Arc<Commands>,
    contexts: Arc<Contexts>,
}

impl SpanClosing {
    pub(crate) fn new(commands: &Arc<Commands>, contexts: &Arc<Contexts>) -> Self {
        Self { commands: Arc::clone(commands), contexts: Arc::clone(contexts) }
    }

    /// Ends a frame in a transaction that is under way. Returns the frame, and the text that replaces it in the
    /// session `reader`.
    pub(crate) fn end_in(
        &self,
        change: &mut Change<'_>,
        at: i64,
        reader: &str,
        command: &Command,
        evidence: &Evidence,
    ) -> Result<(FrameNum, String), EngineError> {
        let decision = self.commands.carry_out_at(change, at, command)?;
        let num = first(&decision)?;
        let view = change.view();
        let text_for =
            |reader: &str| self.contexts.returned(&view, num, &decision.left, evidence, reader);
        let text = text_for(reader)?;
        let mut folds = Vec::new();
        for event in &decision.events {
            let Event::SpanClosed { span, close, .. } = event else { continue };
            // The session that waits for a delegation reads its result.
            let owed = view.delegation(*span)?.map(|stored| stored.delegation.caller);
            let row = view.span_row(*span)?;
            let place = owed.unwrap_or_else(|| row.session.clone());
            // The text of a frame that nobody pushed follows the user's next words, where no next step is named.
            let text = if row.origin.is_automatic() {
                self.contexts.unpushed(&view, &row, evidence, false)?
            } else if place == reader {
                text.clone()
            } else {
                text_for(&place)?
            };
            // Calls of the same step may still be going on.
            let fold = match close.call {
                Some(_) if !row.origin.is_automatic() => Fold::unfixed(text, RENDERER_VERSION),
                _ => Fold::new(text, RENDERER_VERSION),
            };
            folds.push(Event::FoldSet { span: *span, fold });
            if row.frame == num {
                folds.extend(evidence::taken(&view, num, *span, evidence)?);
            }
        }
        change.append(at, &folds)?;
        self.commands.consolidate_if_many(change, at, num)?;
        Ok((num, text))
    }
}

/// Ends frames, each set of them in one transaction.
pub(crate) struct Endings {
    kernel: Arc<Kernel>,
    spans: Arc<SpanEvidence>,
    closing: Arc<SpanClosing>,
}

impl Endings {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        spans: &Arc<SpanEvidence>,
        closing: &Arc<SpanClosing>,
    ) -> Self {
        Self { kernel: Arc::clone(kernel), spans: Arc::clone(spans), closing: Arc::clone(closing) }
    }

    /// Ends frames one after the other, and calls `then` with the text that replaces each of them: all in one
    /// transaction, so that nobody sees only some of them ended.
    pub(crate) fn end_in_turn<T>(
        &self,
        at: i64,
        caller: &Caller,
        pops: Vec<Pop>,
        then: impl FnOnce(&mut Change<'_>, Vec<(FrameNum, String)>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let since = self.kernel.read(|view| Ok::<_, EngineError>(view.newest_event()?))?.seq;
        let ends = pops.into_iter().map(|pop| {
            let results = pop.outcome.results.as_deref();
            let evidence = self.spans.evidence(&pop.session, pop.frame, results);
            (Command::Pop(pop), evidence)
        });
        let mut ends: Vec<_> = ends.collect();
        self.kernel.write(|change| {
            if !change.view().purges_after(since)?.is_empty() {
                // `then` may list them.
                for (command, evidence) in &mut ends {
                    let Command::Pop(pop) = command else { continue };
                    let results = pop.outcome.results.as_deref();
                    let reader = &self.spans.span_reader;
                    *evidence =
                        reader.evidence_now(&change.view(), &pop.session, pop.frame, results)?;
                }
            }
            let mut ended = Vec::new();
            for (command, evidence) in &ends {
                ended.push(self.closing.end_in(change, at, &caller.session, command, evidence)?);
            }
            then(change, ended)
        })
    }
}
