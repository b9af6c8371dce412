//! Compactions of sessions: the request to the summariser, pending compactions, and the use of the summary.
//! Everything pending is in the store.

mod settle;

use std::sync::Arc;

use callstack_core::compaction::{
    CompactionType, PendingCompaction, PendingCompletion, PromptInput,
    generate_frame_compaction_prompt,
};
use callstack_core::context::Parts;
use callstack_core::decide::{self, decide};
use callstack_core::event::Event;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::transcript::Outcome;
use callstack_store::View;

use crate::assembly::Contexts;
use crate::call::Caller;
use crate::closing::SpanClosing;
use crate::conversation::broken::Failure;
use crate::error::{EngineError, Kind};
use crate::evidence::{SpanEvidence, SpanReader};
use crate::hint::Hint;
use crate::kernel::Kernel;
use crate::queries::Queries;
use crate::sessions::Sessions;
pub(crate) use settle::{Came, notice_of};

/// Finished siblings in the prompt of a summariser.
const SIBLINGS: u32 = 9;

/// A summary that a host's compaction produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The host's id of the message that holds it.
    pub message: String,
    /// Its text; empty where the summariser said nothing.
    pub text: String,
}

/// The prompt of a summariser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionPrompt {
    /// Additions to the host's own prompt.
    pub context: Vec<String>,
    /// The replacement of the host's own prompt. The summariser then sees the whole conversation, including messages
    /// that the host keeps word for word after the summary.
    pub prompt: Option<String>,
}

/// A frame that its session wants to end with a summary.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    /// The frame; the session's active one if none is named.
    pub(crate) frame: Option<FrameNum>,
    /// Completed, failed or blocked.
    pub(crate) status: Status,
    /// Results in the caller's own words.
    pub(crate) results: Option<String>,
    /// The dense version of the results.
    pub(crate) results_compacted: Option<String>,
}

/// Compactions of sessions, and the frames that end with them.
pub(crate) struct Compactions {
    pub(crate) kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    contexts: Arc<Contexts>,
    span_reader: Arc<SpanReader>,
    spans: Arc<SpanEvidence>,
    sessions: Arc<Sessions>,
    closing: Arc<SpanClosing>,
}

impl Compactions {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        contexts: &Arc<Contexts>,
        span_reader: &Arc<SpanReader>,
        spans: &Arc<SpanEvidence>,
        sessions: &Arc<Sessions>,
        closing: &Arc<SpanClosing>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            contexts: Arc::clone(contexts),
            span_reader: Arc::clone(span_reader),
            spans: Arc::clone(spans),
            sessions: Arc::clone(sessions),
            closing: Arc::clone(closing),
        }
    }

    /// Registers that the active frame of the calling session ends with the summary of the session's
    /// next compaction. With `requested`, the host is asked to compact at once.
    ///
    /// Errors: the frame is not the one that the session works in, or has open children (which are
    /// named), or could not end so for another reason.
    pub(crate) fn register_pending_completion(
        &self,
        caller: &Caller,
        ending: Ending,
        requested: bool,
    ) -> Result<Frame, EngineError> {
        let frame = self.open_frame(caller, ending.frame)?;
        let pop = decide::Command::Pop(decide::Pop {
            session: caller.session.clone(),
            frame: Some(frame.num),
            anchor: caller.anchor.clone(),
            outcome: Outcome::without_results(ending.status),
        });
        let completion = PendingCompletion {
            status: ending.status,
            results: ending.results,
            results_compacted: ending.results_compacted,
            seen: self.spans.evidence(&caller.session, Some(frame.num), None),
        };
        let asked = asked(caller, &frame, Some(completion), None, requested);
        self.kernel.write(|change| {
            // A frame that could not end now could not end with a summary either.
            decide(
                &change.view(),
                &pop,
                &self.kernel.settings_in(&change.view())?.limits,
                self.kernel.now(),
            )?;
            Ok::<_, EngineError>(change.append(self.kernel.now(), &[asked])?)
        })?;
        Ok(frame)
    }

    /// Marks the calling session's next compaction as a checkpoint of its active frame. `note` is the focus of the
    /// summary. With `requested`, the host is asked to compact at once.
    ///
    /// Errors: no frame is open, or it is already ending with a summary.
    pub(crate) fn mark_pending_compaction(
        &self,
        caller: &Caller,
        note: Option<String>,
        requested: bool,
    ) -> Result<Frame, EngineError> {
        let frame = self.open_frame(caller, None)?;
        let asked = asked(caller, &frame, None, note, requested);
        self.kernel.write(|change| {
            let before = change.view().pending_compaction(&caller.session)?;
            if before.is_some_and(|it| it.completion.is_some()) {
                return Err(EngineError::new(
                    Kind::Conflict,
                    format!("frame {} is already ending with a summary", frame.label()),
                )
                .with_hint("That one is enough: it is made at the next compaction."));
            }
            Ok(change.append(self.kernel.now(), &[asked])?)
        })?;
        Ok(frame)
    }

    /// Returns the prompt for the summariser of a session that its host is about to compact.
    pub(crate) fn compacting(&self, session: &str) -> Result<CompactionPrompt, EngineError> {
        self.kernel.read(|view| {
            let pending = view.pending_compaction(session)?;
            let active = view.session_row(session)?.and_then(|session| session.active);
            let Some(num) = pending.as_ref().map(|pending| pending.frame).or(active) else {
                return Ok(CompactionPrompt::default());
            };
            let frame = view.frame(num)?;
            let kind = pending.as_ref().map_or(CompactionType::Overflow, PendingCompaction::kind);
            let around = self.contexts.context(view, session, num, Parts::for_start())?;
            let mut siblings = match frame.parent {
                Some(parent) => view.finished_children(parent, SIBLINGS)?,
                None => Vec::new(),
            };
            siblings.retain(|sibling| sibling.num != num);
            let completion = pending.as_ref().and_then(|pending| pending.completion.as_ref());
            let earlier = view.last_summary(session)?.and_then(|it| it.summary);
            let text = generate_frame_compaction_prompt(&PromptInput {
                dialect: self.kernel.dialect(),
                kind,
                now: self.kernel.now(),
                frame: &frame,
                ancestors: &view.ancestors(num)?,
                siblings: &siblings,
                ending: completion.map(|it| it.status),
                results: completion.and_then(|it| it.results.as_deref()),
                note: pending.as_ref().and_then(|it| it.note.as_deref()),
                earlier: earlier.as_deref(),
                around: &around.text,
            });
            Ok(if kind.replaces_prompt() {
                CompactionPrompt { context: Vec::new(), prompt: Some(text) }
            } else {
                CompactionPrompt { context: vec![text], prompt: None }
            })
        })
    }

    /// Returns the frame that the calling session works in. Fails where another one is `named`.
    fn open_frame(&self, caller: &Caller, named: Option<FrameNum>) -> Result<Frame, EngineError> {
        let active = self.queries.active(&caller.session)?;
        let Some(num) = named.or(active) else {
            return Err(decide::Refusal::NothingOpen::<callstack_store::StoreError> {
                session: caller.session.clone(),
            }
            .into());
        };
        let frame = self.queries.frame(num)?;
        if active == Some(num) {
            return Ok(frame);
        }
        self.check_children(&frame)?;
        Err(EngineError::new(
            Kind::Conflict,
            format!("frame {} is not the one that this session works in", frame.label()),
        )
        .with_hint("A summary is generated for the open frame only; pop this one with results."))
    }

    /// A frame with open children is refused because of these, whatever else is wrong.
    fn check_children(&self, frame: &Frame) -> Result<(), EngineError> {
        let open = self
            .kernel
            .read(|view| view.children_with(Some(frame.num), Status::InProgress, SIBLINGS))?;
        if open.is_empty() {
            return Ok(());
        }
        let frame = Box::new(frame.clone());
        Err(decide::Refusal::OpenChildren::<callstack_store::StoreError> { frame, open }.into())
    }
}

impl Queries {
    /// Returns the purpose of the next compaction of a session.
    pub(crate) fn compaction_type(&self, session: &str) -> Result<CompactionType, EngineError> {
        let pending = self.pending_compaction(session)?;
        Ok(pending.map_or(CompactionType::Overflow, |pending| pending.kind()))
    }

    /// The compaction that a session waits for.
    pub(crate) fn pending_compaction(
        &self,
        session: &str,
    ) -> Result<Option<PendingCompaction>, EngineError> {
        Ok(self.kernel.read(|view| view.pending_compaction(session))?)
    }

    /// Waits no longer for a compaction of a session; its frame stays as it is.
    pub(crate) fn clear_compaction_tracking(
        &self,
        session: &str,
        reason: &str,
    ) -> Result<(), EngineError> {
        if self.pending_compaction(session)?.is_none() {
            return Ok(());
        }
        let dropped =
            Event::CompactionDropped { session: session.to_owned(), reason: reason.to_owned() };
        Ok(self.kernel.write(|change| change.append(self.kernel.now(), &[dropped]))?)
    }
}

/// Refuses where the frame that a session works in is about to end with a summary.
pub(crate) fn nothing_ends(view: &View<'_>, session: &str) -> Result<(), EngineError> {
    let pending = view.pending_compaction(session)?;
    let Some(pending) = pending.filter(|it| it.requested && it.completion.is_some()) else {
        return Ok(());
    };
    Err(EngineError::new(
        Kind::Conflict,
        format!(
            "frame {} is ending: its summary is generated first",
            view.frame(pending.frame)?.label()
        ),
    )
    .with_hint(
        Hint::from("Begin the next frame behind the summary, or end this one at once with ")
            .and("stack_frame_pop")
            .then(" and results."),
    ))
}

fn asked(
    caller: &Caller,
    frame: &Frame,
    completion: Option<PendingCompletion>,
    note: Option<String>,
    requested: bool,
) -> Event {
    Event::CompactionAsked {
        compaction: Box::new(PendingCompaction {
            session: caller.session.clone(),
            frame: frame.num,
            completion,
            note,
            anchor: caller.anchor.clone(),
            requested,
        }),
    }
}
