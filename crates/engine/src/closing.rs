//! Ending frames: what stands for their spans is made in the transaction that ends them.

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
use crate::kernel::{Env, Kernel};

/// Ends frames within a transaction, with what stands for their spans.
pub(crate) struct SpanClosing {
    env: Arc<Env>,
    commands: Arc<Commands>,
    contexts: Arc<Contexts>,
}

impl SpanClosing {
    pub(crate) fn new(env: &Arc<Env>, commands: &Arc<Commands>, contexts: &Arc<Contexts>) -> Self {
        Self {
            env: Arc::clone(env),
            commands: Arc::clone(commands),
            contexts: Arc::clone(contexts),
        }
    }

    /// Ends a frame in a transaction that is under way. Returns the frame, and the text that stands for it in the
    /// session `reader`.
    pub(crate) fn end_in(
        &self,
        change: &mut Change<'_>,
        reader: &str,
        command: &Command,
        evidence: &Evidence,
    ) -> Result<(FrameNum, String), EngineError> {
        let decision = self.commands.carry_out(change, command)?;
        let num = first(&decision)?;
        let view = change.view();
        let text_for =
            |reader: &str| self.contexts.returned(&view, num, &decision.left, evidence, reader);
        let text = text_for(reader)?;
        let mut folds = Vec::new();
        for event in &decision.events {
            let Event::SpanClosed { span, close, .. } = event else { continue };
            // What an errand returned is read by the session that waits for it.
            let owed = view.errand(*span)?.map(|stored| stored.errand.caller);
            let row = view.span_row(*span)?;
            let place = owed.unwrap_or_else(|| row.session.clone());
            // The text of a frame that nobody pushed stands behind the user's next words, where no next
            // step is to be told.
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
        change.append(self.env.now(), &folds)?;
        self.commands.consolidate_if_many(change, num)?;
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

    /// Ends frames one after the other, and does `then` with what stands for each of them: all in one
    /// transaction, so that nobody sees some of them ended and others not.
    pub(crate) fn end_in_turn<T>(
        &self,
        caller: &Caller,
        pops: Vec<Pop>,
        then: impl FnOnce(&mut Change<'_>, Vec<(FrameNum, String)>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let ends = pops.into_iter().map(|pop| {
            let results = pop.outcome.results.as_deref();
            let evidence = self.spans.evidence(&pop.session, pop.frame, results);
            (Command::Pop(pop), evidence)
        });
        let ends: Vec<_> = ends.collect();
        self.kernel.write(|change| {
            let mut ended = Vec::new();
            for (command, evidence) in &ends {
                ended.push(self.closing.end_in(change, &caller.session, command, evidence)?);
            }
            then(change, ended)
        })
    }
}
