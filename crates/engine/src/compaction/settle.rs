//! The use of a summary: a frame ends with it, or keeps it as a checkpoint. Where none comes, the frame ends without,
//! and no words of its agent are lost.

use callstack_core::compaction::{
    Compaction, CompactionType, Instead, Notice, PendingCompaction, PendingCompletion,
    checkpoint_failed, checkpoint_made, combined, frame_summary, not_completed, returned_above,
    summary_above,
};
use callstack_core::decide::{Command, Pop};
use callstack_core::event::Event;
use callstack_core::frame::{FrameNum, Status};
use callstack_core::results::{ResultsSource, dense};
use callstack_core::session_state::BrokenTurn;
use callstack_core::subagent::Trouble;
use callstack_core::transcript::Message;
use callstack_store::{Change, View};

use super::{Failure, Summary};
use crate::assembly::open_now::Saying;
use crate::compaction::Compactions;
use crate::conversation::Conversation;
use crate::effect::{Effect, Reaction};
use crate::error::{EngineError, Kind};
use crate::generator::GeneratedResults;
use crate::lock::lock;

/// Why there is no summary, where the host has not said anything.
const NEVER_CAME: &str = "the host did not compact the session";
const EMPTY: &str = "the summary was empty";

/// The outcome of a compaction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Came<'a> {
    /// A summary, perhaps an empty one.
    Summary(&'a Summary),
    /// None, for this reason.
    Nothing(&'a str),
}

impl<'a> Came<'a> {
    fn message(self) -> Option<&'a str> {
        match self {
            Came::Summary(summary) => Some(&summary.message),
            Came::Nothing(_) => None,
        }
    }

    fn text(self) -> Result<&'a str, &'a str> {
        match self {
            Came::Summary(summary) if summary.text.trim().is_empty() => Err(EMPTY),
            Came::Summary(summary) => Ok(summary.text.trim()),
            Came::Nothing(why) => Err(why),
        }
    }
}

/// Whether the outcome of a compaction was applied already, or is of none that was waited for.
fn is_settled(view: &View<'_>, session: &str, came: Came<'_>) -> Result<bool, EngineError> {
    Ok(match came.message() {
        Some(message) => view.knows_summary(session, message)?,
        None => view.pending_compaction(session)?.is_none(),
    })
}

impl Compactions {
    /// Applies the outcome of a session's compaction, once. Returns the notice for the agent, if it has asked for the
    /// compaction.
    ///
    /// Where no summary came and no results were given, the frame ends with those that were `made`, else with an
    /// extract.
    pub(crate) fn settle(
        &self,
        session: &str,
        came: Came<'_>,
        made: Option<&GeneratedResults>,
    ) -> Result<Option<Notice>, EngineError> {
        if !self.is_due(session, came)? {
            return Ok(None);
        }
        self.kernel.write(|change| self.settle_in(change, session, came, made))
    }

    /// Whether the outcome of a compaction has not been applied yet.
    pub(crate) fn is_due(&self, session: &str, came: Came<'_>) -> Result<bool, EngineError> {
        Ok(!self.kernel.read(|view| is_settled(view, session, came))?)
    }

    /// The same as [`settle`](Self::settle) within a transaction.
    pub(crate) fn settle_in(
        &self,
        change: &mut Change<'_>,
        session: &str,
        came: Came<'_>,
        made: Option<&GeneratedResults>,
    ) -> Result<Option<Notice>, EngineError> {
        if is_settled(&change.view(), session, came)? {
            return Ok(None);
        }
        let settled = if let Some(pending) = change.view().pending_compaction(session)? {
            match &pending.completion {
                Some(completion) => self.complete(change, &pending, completion, came, made)?,
                None => self.keep(change, &pending, came)?,
            }
        } else {
            let active = change.view().session_row(session)?.and_then(|it| it.active);
            if let (Some(active), Ok(summary)) = (active, came.text()) {
                self.checkpoint(change, active, summary)?;
            }
            settled(session, CompactionType::Overflow, active, came)
        };
        let notice = settled.notice.clone();
        let event = Event::CompactionSettled { compaction: Box::new(settled) };
        change.append(self.kernel.now(), &[event])?;
        Ok(notice)
    }

    /// Ends a frame with the summary that was waited for, or without it.
    fn complete(
        &self,
        change: &mut Change<'_>,
        pending: &PendingCompaction,
        completion: &PendingCompletion,
        came: Came<'_>,
        made: Option<&GeneratedResults>,
    ) -> Result<Compaction, EngineError> {
        let summary = came.text();
        let view = change.view();
        let before = view.frame(pending.frame)?;
        let bare = summary.is_err() && completion.results.is_none() && before.results.is_none();
        let extracted = match made {
            None if bare => {
                self.span_reader.extracted(&self.span_reader.activities_in(&view, &before)?)
            }
            _ => None,
        };
        let made = made.or(extracted.as_ref()).map(|it| (it.results.as_str(), it.source));
        let instead =
            Instead { checkpoint: before.results.as_deref(), made, failure: summary.err() };
        let by = match pending.anchor.call {
            Some(_) => ResultsSource::Agent,
            None => ResultsSource::User,
        };
        let outcome = combined(completion, by, summary.ok(), &instead);
        let pop = Command::Pop(Pop {
            session: pending.session.clone(),
            frame: Some(pending.frame),
            anchor: pending.anchor.clone(),
            outcome,
        });
        let mut settled =
            settled(&pending.session, CompactionType::FrameCompletion, Some(pending.frame), came);
        settled.notice = Some(
            match self.closing.end_in(
                change,
                self.kernel.now(),
                &pending.session,
                &pop,
                &completion.seen,
            ) {
                Ok(_) => self.notice_of_the_end(&change.view(), pending, completion, summary)?,
                Err(refused) if matches!(refused.kind, Kind::Unavailable | Kind::Internal) => {
                    return Err(refused);
                }
                // It was changed meanwhile in a way that forbids it to end.
                Err(refused) => {
                    if let Ok(summary) = summary {
                        self.checkpoint(change, pending.frame, summary)?;
                    }
                    settled.failure = Some(refused.message.clone());
                    let text = not_completed(&before, pending, &refused.sentence());
                    notice(pending, None, text.clone(), text)
                }
            },
        );
        Ok(settled)
    }

    fn notice_of_the_end(
        &self,
        view: &View<'_>,
        pending: &PendingCompaction,
        completion: &PendingCompletion,
        summary: Result<&str, &str>,
    ) -> Result<Notice, EngineError> {
        let mut frame = view.frame(pending.frame)?;
        let parent = match frame.parent {
            Some(parent) => Some(view.frame(parent)?),
            None => None,
        };
        let mut brief = returned_above(&frame, parent.as_ref());
        match summary {
            Ok(_) => frame.results = Some(summary_above(completion)),
            Err(why) => {
                brief = format!("{brief} (No summary could be generated: {why}.)");
                // Results that callstack wrote already contain the reason.
                if !frame.results.as_deref().is_some_and(|results| results.contains(why)) {
                    let own = frame.results.unwrap_or_default();
                    frame.results = Some(format!("{own}\n(No summary could be generated: {why}.)"));
                }
            }
        }
        let planned = match parent {
            Some(_) => Vec::new(),
            None => view.children_with(Some(frame.num), Status::Planned, 20)?,
        };
        let whole = self.contexts.returned_as(
            view,
            &frame,
            &planned,
            &completion.seen,
            (&pending.session, Saying::Now),
        )?;
        // A root is never folded: no earlier text holds its results.
        let call = pending.anchor.call.clone().filter(|_| frame.parent.is_some());
        Ok(notice(pending, call, whole, brief))
    }

    /// Keeps a summary that was asked for as a checkpoint.
    fn keep(
        &self,
        change: &mut Change<'_>,
        pending: &PendingCompaction,
        came: Came<'_>,
    ) -> Result<Compaction, EngineError> {
        let frame = change.view().frame(pending.frame)?;
        let text = match came.text() {
            Ok(summary) => {
                self.checkpoint(change, pending.frame, summary)?;
                checkpoint_made(&frame)
            }
            Err(why) => checkpoint_failed(&frame, why),
        };
        let mut settled =
            settled(&pending.session, CompactionType::ManualSummary, Some(pending.frame), came);
        settled.notice = Some(notice(pending, None, text.clone(), text));
        Ok(settled)
    }

    /// Makes a summary the results so far of an open frame. Its agent's own results from an earlier end stay.
    fn checkpoint(
        &self,
        change: &mut Change<'_>,
        num: FrameNum,
        summary: &str,
    ) -> Result<(), EngineError> {
        let view = change.view();
        let frame = view.frame(num)?;
        let own = match &frame.results {
            Some(results) => {
                let last = view.frame_summary(num)?.and_then(|it| it.summary);
                last.is_none_or(|last| frame_summary(&last) != results)
            }
            None => false,
        };
        if frame.status != Status::InProgress || frame.detached || own {
            return Ok(());
        }
        let results = frame_summary(summary).to_owned();
        let results_compacted = dense(&results);
        let event = Event::CheckpointSet { frame: num, results, results_compacted };
        Ok(change.append(self.kernel.now(), &[event])?)
    }

    /// Records why a turn of a session's agent ended early.
    pub(crate) fn session_failed(
        &self,
        session: &str,
        failure: Failure,
    ) -> Result<(), EngineError> {
        let message =
            if failure.stopped { "its turn was aborted" } else { failure.message.as_str() };
        let trouble = Trouble { aborted: failure.stopped, message: message.to_owned() };
        let now = BrokenTurn { failure: Some(failure), trouble: Some(trouble) };
        self.sessions.broken(session, |broken| now.clone_into(broken))
    }

    /// Handles an agent that has fallen silent. A compaction that was asked of the host has then come or will never
    /// come; an agent that stopped only because it had asked for one continues.
    pub(crate) fn compaction_over(&self, session: &str) -> Result<Reaction, EngineError> {
        let failure = self.sessions.broken(session, |broken| broken.failure.take())?;
        let is_asked =
            self.queries.pending_compaction(session)?.is_some_and(|pending| pending.requested);
        if is_asked {
            // Results may be extracted from the newest messages.
            self.sessions.wait_until_written(session);
        }
        let conversation = self.sessions.conversation(session);
        let conversation = lock(&conversation);
        if is_asked {
            let why = failure.as_ref().map_or(NEVER_CAME, |failure| &failure.message);
            self.settle(session, Came::Nothing(why), None)?;
        }
        let (unannounced, active) = self.kernel.read(|view| {
            let active = view.session_row(session)?.and_then(|session| session.active);
            Ok::<_, EngineError>((view.unannounced_compactions(session)?, active))
        })?;
        let awaited = unannounced.iter().filter_map(|it| it.notice.as_ref()).any(|it| it.awaited);
        // An agent that somebody stopped stays stopped, and after a root there is no work to continue: the notice
        // waits for the user's next message.
        if !awaited || active.is_none() || failure.is_some_and(|failure| failure.stopped) {
            return Ok(Reaction::default());
        }
        let text = notice_of(&unannounced, &conversation);
        self.record_announced(session)?;
        let effect = Effect::Prompt {
            session: session.to_owned(),
            text,
            agent: None,
            like: None,
            wait: false,
        };
        Ok(Reaction { effects: vec![effect], wake_at: None })
    }

    /// Records that the agent was informed of all compactions so far.
    pub(crate) fn record_announced(&self, session: &str) -> Result<(), EngineError> {
        let event = Event::CompactionTold { session: session.to_owned() };
        Ok(self.kernel.write(|change| change.append(self.kernel.now(), &[event]))?)
    }

    /// Settles the pending compaction of a session that is gone.
    pub(crate) fn compaction_gone(&self, session: &str) -> Result<(), EngineError> {
        self.settle(session, Came::Nothing("its session was deleted"), None)?;
        Ok(())
    }
}

/// Returns the notice about compactions that are over, for an agent whose transcript is given.
pub(crate) fn notice_of(compactions: &[Compaction], conversation: &Conversation) -> String {
    let texts = compactions.iter().filter_map(|compaction| {
        let notice = compaction.notice.as_ref()?;
        let shown = notice.call.as_ref().is_some_and(|call| shows(conversation, call));
        Some(if shown { notice.brief.trim() } else { notice.whole.trim() })
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn shows(conversation: &Conversation, asked: &str) -> bool {
    conversation.messages().flat_map(Message::calls).any(|call| call.id == asked)
}

fn notice(
    pending: &PendingCompaction,
    call: Option<String>,
    whole: String,
    brief: String,
) -> Notice {
    Notice { whole, brief, call, awaited: pending.requested }
}

fn settled(
    session: &str,
    kind: CompactionType,
    frame: Option<FrameNum>,
    came: Came<'_>,
) -> Compaction {
    Compaction {
        session: session.to_owned(),
        kind,
        frame,
        message: came.message().map(str::to_owned),
        summary: came.text().ok().map(str::to_owned),
        failure: came.text().err().map(str::to_owned),
        notice: None,
    }
}
