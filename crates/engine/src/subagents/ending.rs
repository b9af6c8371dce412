//! Ends of the frames of a child session: when it has been silent for long enough, when the call that started it
//! returns, or by hand. The deadline is in the store, so that no restart loses it.

use callstack_core::decide::{Neighbourhood as _, Pop};
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::results::{ResultsSource, dense};
use callstack_core::subagent::{AtIdle, Change as Noted, Completion, SubagentSession, Trouble};
use callstack_core::transcript::{Anchor, Outcome};
use callstack_store::Change;

use crate::call::Caller;
use crate::conversation::ReturnedTask;
use crate::delegations::{SILENT, WORDLESS};
use crate::effect::Reaction;
use crate::error::{EngineError, Kind};
use crate::lock::lock;
use crate::log;
use crate::subagents::{Subagents, event};

/// The number of messages that are searched for a session's last words.
const LAST: u32 = 8;
/// Milliseconds until a failed end is tried again, at least.
const AGAIN: i64 = 5_000;

/// The end of a session's frames.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) status: Status,
    pub(crate) results: String,
    pub(crate) compacted: Option<String>,
    pub(crate) source: ResultsSource,
}

impl Subagents {
    /// Does the work that is due by now.
    pub(crate) fn wake(&self) -> Result<Reaction, EngineError> {
        Ok(Reaction { effects: Vec::new(), wake_at: self.settle_due()? })
    }

    /// Handles a session that has fallen silent. The frames of a child session end a little later, unless it works
    /// again, with its last words as results.
    pub(crate) fn session_idle(&self, session: &str) -> Result<Reaction, EngineError> {
        let Some(known) = self.kernel.read(|view| view.session_row(session))? else {
            return Ok(Reaction::default());
        };
        if known.parent.is_none() {
            self.framing.frame_resting(session)?;
            return Ok(Reaction { effects: Vec::new(), wake_at: self.settle_due()? });
        }
        let trouble = self.sessions.broken(session, |broken| broken.trouble.take())?;
        let words = {
            let conversation = self.sessions.conversation(session);
            let conversation = lock(&conversation);
            // Its last message counts, and is read again after a restart.
            self.sessions.written(&conversation)?;
            conversation.first_words()
        };
        let Some(mut tracked) = self.kernel.read(|view| view.subagent(session))? else {
            return Ok(Reaction::default());
        };
        // A host may say so twice.
        if !tracked.is_idle {
            let settings = self.queries.subagent_settings()?;
            let now = self.kernel.now();
            let deserves = settings.deserves_frame(&tracked, tracked.message_count, now);
            if !tracked.has_frame && deserves {
                let words = words.unwrap_or_default();
                let frame = self.frame_child(session, &known.host, &words)?;
                tracked.has_frame = true;
                tracked.frame = Some(frame);
            }
            let awaited = self.queries.is_delegation(session)?;
            let fate = settings.at_idle(&tracked, awaited, now);
            let until = match fate {
                AtIdle::CompleteAt(until) => Some(until),
                AtIdle::Complete => Some(now),
                AtIdle::Nothing | AtIdle::Stays => None,
            };
            self.note(session, Noted::Idle { until, trouble })?;
        }
        Ok(Reaction { effects: Vec::new(), wake_at: self.settle_due()? })
    }

    /// Handles a session that its host has deleted and nobody will continue.
    pub(crate) fn session_deleted(&self, session: &str) -> Result<(), EngineError> {
        let tracked = self.kernel.read(|view| view.subagent(session))?;
        if let Some(tracked) = tracked.filter(|tracked| !tracked.is_completed) {
            let message = "its session was deleted".to_owned();
            let trouble = Trouble { aborted: true, message };
            let ending = self.last_words(&SubagentSession { trouble: Some(trouble), ..tracked })?;
            self.complete_session(session, Completion::Auto, &ending)?;
        }
        self.saving.sum_up(session);
        self.sessions.forget(session);
        Ok(())
    }

    /// Ends the frames of sessions that have been silent for long enough. Returns the time at which the next one will
    /// have been.
    pub(crate) fn settle_due(&self) -> Result<Option<i64>, EngineError> {
        if self.kernel.is_read_only() {
            return Ok(None);
        }
        let now = self.kernel.now();
        let settings = self.queries.subagent_settings()?;
        // If the feature is switched on again, it continues where it was.
        if !settings.enabled {
            return Ok(None);
        }
        for tracked in self.kernel.read(|view| view.subagents_due(now))? {
            let trouble = tracked.trouble.clone();
            if !settings.auto_complete {
                self.note(&tracked.session, Noted::Idle { until: None, trouble })?;
                continue;
            }
            let worked = tracked.idle_since.is_some_and(|since| tracked.last_activity_at > since);
            let settled = if worked { Ok(false) } else { self.end_silent(&tracked) };
            match settled {
                Ok(true) => {}
                Err(error) if matches!(error.kind, Kind::Unavailable | Kind::Internal) => {
                    return Err(error);
                }
                // It works again without a report of that, or something below it still works.
                Ok(false) | Err(_) => {
                    let delay = i64::try_from(settings.idle_delay).unwrap_or(i64::MAX).max(AGAIN);
                    let until = Some(now.saturating_add(delay));
                    self.note(&tracked.session, Noted::Idle { until, trouble })?;
                }
            }
        }
        self.forget_subagents()?;
        self.kernel.read(|view| Ok(view.next_subagent()?))
    }

    /// Ends the frames of silent sessions below a frame that is about to end, so that it need not wait
    /// for them.
    pub(crate) fn settle_before(&self, pop: &Pop) -> Result<(), EngineError> {
        let frame = match pop.frame {
            Some(frame) => Some(frame),
            None => self.queries.active(&pop.session)?,
        };
        let Some(frame) = frame else { return Ok(()) };
        loop {
            let silent = self.kernel.read(|view| {
                let own = view.frame(frame)?.session;
                let mut silent = Vec::new();
                for child in view.running_children(frame)? {
                    if let Some(session) = child.session.filter(|it| Some(it) != own.as_ref()) {
                        silent.extend(
                            view.subagent(&session)?.filter(|it| it.completes_at.is_some()),
                        );
                    }
                }
                Ok::<_, EngineError>(silent)
            })?;
            if silent.is_empty() || !self.queries.subagent_settings()?.auto_complete {
                return Ok(());
            }
            for tracked in &silent {
                if !self.end_silent(tracked)? {
                    return Ok(());
                }
            }
        }
    }

    /// Ends the frames of sessions whose calls have returned in messages that a session is about to be sent for the
    /// first time.
    pub(crate) fn tasks_returned(
        &self,
        request: &crate::conversation::SyncRequest,
    ) -> Result<(), EngineError> {
        if request.shown.iter().all(|shown| shown.tasks.is_empty()) {
            return Ok(());
        }
        let settings = self.queries.subagent_settings()?;
        if !settings.enabled || !settings.auto_complete {
            return Ok(());
        }
        for ReturnedTask { session, outcome } in self.fresh_tasks(request)? {
            let Some(tracked) = self.kernel.read(|view| view.subagent(&session))? else { continue };
            if tracked.is_completed || tracked.parent != request.session {
                continue;
            }
            let ending = match outcome {
                Ok(results) => Ending {
                    status: Status::Completed,
                    results,
                    compacted: None,
                    source: ResultsSource::LastWords,
                },
                Err(trouble) => {
                    self.last_words(&SubagentSession { trouble: Some(trouble), ..tracked })?
                }
            };
            match self.complete_session(&session, Completion::Returned, &ending) {
                // The deadline waits for work that goes on below it.
                Err(error) if !matches!(error.kind, Kind::Unavailable | Kind::Internal) => {}
                outcome => drop(outcome?),
            }
        }
        Ok(())
    }

    /// Ends a silent session's frames with its last words. Returns whether none is open afterwards.
    fn end_silent(&self, tracked: &SubagentSession) -> Result<bool, EngineError> {
        let ending = self.last_words(tracked)?;
        self.complete_session(&tracked.session, Completion::Auto, &ending)?;
        Ok(self.queries.active(&tracked.session)?.is_none())
    }

    /// Ends all frames of a child session, the innermost first and all or none; returns them.
    pub(crate) fn complete_session(
        &self,
        session: &str,
        by: Completion,
        ending: &Ending,
    ) -> Result<Vec<FrameNum>, EngineError> {
        self.complete_session_and(session, by, ending, |_, ended| Ok(ended))
    }

    /// The same, with something that is to be done in the same step.
    pub(crate) fn complete_session_and<T>(
        &self,
        session: &str,
        by: Completion,
        ending: &Ending,
        and: impl Fn(&mut Change<'_>, Vec<FrameNum>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let (host, message) = self.kernel.read(|view| {
            let host = view.session_row(session)?.map(|known| known.host);
            Ok::<_, EngineError>((host, view.last_message(session)?))
        })?;
        let caller = Caller {
            session: session.to_owned(),
            host: host.unwrap_or_default(),
            anchor: Anchor { message, call: None },
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        loop {
            let stack = self.queries.stack(session)?;
            let own = |frame: &&Frame| frame.session.as_deref() == Some(session);
            let outermost = stack.iter().find(own).map(|frame| frame.num);
            let open = stack.iter().rev().take_while(own);
            let open = open.filter(|frame| frame.status == Status::InProgress);
            let pops: Vec<_> = open
                .map(|frame| Pop {
                    session: session.to_owned(),
                    frame: Some(frame.num),
                    anchor: caller.anchor.clone(),
                    outcome: outcome(ending, outermost.filter(|it| *it != frame.num)),
                })
                .collect();
            let settled = pops.iter().try_for_each(|pop| self.settle_before(pop));
            let end = |change: &mut Change<'_>, ended: Vec<(FrameNum, String)>| {
                let noted = if !ended.is_empty() || by == Completion::Manual {
                    Noted::Completed { by }
                } else {
                    Noted::Idle { until: None, trouble: None }
                };
                change.append(self.kernel.now(), &[event(session, noted)])?;
                and(change, ended.into_iter().map(|(num, _)| num).collect())
            };
            let completed = settled
                .and_then(|()| self.endings.end_in_turn(self.kernel.now(), &caller, pops, end));
            match completed {
                // Another process was faster.
                Err(_) if self.queries.active(session)? != stack.last().map(|frame| frame.num) => {}
                completed => return completed,
            }
        }
    }

    /// Returns the end of a session, from its last words and the failure of its last turn.
    pub(crate) fn last_words(&self, tracked: &SubagentSession) -> Result<Ending, EngineError> {
        let known = {
            let conversation = self.sessions.conversation(&tracked.session);
            let conversation = lock(&conversation);
            conversation.closing.clone()
        };
        let said = match known {
            Some(words) => Some(words),
            None => self
                .kernel
                .read(|view| view.last_messages(&tracked.session, LAST))?
                .iter()
                .find_map(|message| log::said(&message.json)),
        };
        Ok(match (&tracked.trouble, said) {
            (None, Some(said)) => Ending {
                status: Status::Completed,
                results: format!("{said}\n\n{SILENT}"),
                compacted: Some(dense(&said)),
                source: ResultsSource::LastWords,
            },
            (None, None) => {
                let made = match tracked.frame {
                    Some(frame) => self
                        .span_reader
                        .extracted(&self.spans.activities_of(&self.queries.frame(frame)?)?),
                    None => None,
                };
                let (results, source) = made.map_or_else(
                    || (WORDLESS.to_owned(), ResultsSource::Callstack),
                    |made| (made.results, made.source),
                );
                Ending { status: Status::Completed, results, compacted: None, source }
            }
            (Some(trouble), said) => {
                let what = if trouble.aborted { "It was stopped" } else { "It failed" };
                let last =
                    said.map_or_else(String::new, |said| format!("\n\nIts last words: {said}"));
                Ending {
                    status: if trouble.aborted { Status::Blocked } else { Status::Failed },
                    results: format!("{what}: {}.{last}", trouble.message.trim_end_matches('.')),
                    compacted: None,
                    source: ResultsSource::Callstack,
                }
            }
        })
    }
}

/// Returns the outcome of a frame when its session ends. One that was left open inside another points to that.
fn outcome(ending: &Ending, within: Option<FrameNum>) -> Outcome {
    let Ending { status, results, compacted, source } = ending.clone();
    match within {
        Some(outer) => {
            let pointer =
                format!("It was still open when its session ended; see the results of {outer}.");
            Outcome::with(status, pointer, None, ResultsSource::Callstack)
        }
        None => Outcome::with(status, results, compacted, source),
    }
}
