//! Frames that sessions of their own work on: one is started or resumed, prompted, waited for, and its results are
//! the answer of the call that asked for it.
//!
//! Each step can be taken by another process than the one before, and can be taken twice: its state is in the store
//! and in the token.

use std::sync::Arc;

use callstack_core::decide::{Command, Delegate, Plan, PlannedChild, Pop, decide};
use callstack_core::event::Event;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::results::{ResultsSource, dense};
use callstack_core::returned::{Entrusted, entrusted};
use callstack_core::transcript::{Anchor, Outcome, SpanNum};
use callstack_store::{Change, StoredDelegation, View};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::assembly::Contexts;
use crate::call::{Caller, Reply};
use crate::closing::SpanClosing;
use crate::commands::Commands;
use crate::conversation::fixing::Fixing;
use crate::effect::{Effect, EffectOutcome, Next};
use crate::error::{EngineError, Kind};
use crate::evidence::{SpanEvidence, SpanReader};
use crate::kernel::Kernel;
use crate::outputs::ReturnedFrame;
use crate::queries::Queries;
use crate::requests::asked;
use crate::sessions::Sessions;
use crate::work_tree::FileStates;

/// A session to wait for: one for the frame, or the session's end.
#[derive(Deserialize, Serialize)]
struct Waiting {
    frame: FrameNum,
    session: Option<String>,
}

/// Has other sessions work on frames.
pub(crate) struct Delegation {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    commands: Arc<Commands>,
    contexts: Arc<Contexts>,
    span_reader: Arc<SpanReader>,
    spans: Arc<SpanEvidence>,
    sessions: Arc<Sessions>,
    files: Arc<FileStates>,
    fixing: Arc<Fixing>,
    closing: Arc<SpanClosing>,
}

impl Delegation {
    #[expect(
        clippy::too_many_arguments,
        reason = "one for each part below it, all of different types"
    )]
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        commands: &Arc<Commands>,
        contexts: &Arc<Contexts>,
        span_reader: &Arc<SpanReader>,
        spans: &Arc<SpanEvidence>,
        sessions: &Arc<Sessions>,
        files: &Arc<FileStates>,
        fixing: &Arc<Fixing>,
        closing: &Arc<SpanClosing>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            commands: Arc::clone(commands),
            contexts: Arc::clone(contexts),
            span_reader: Arc::clone(span_reader),
            spans: Arc::clone(spans),
            sessions: Arc::clone(sessions),
            files: Arc::clone(files),
            fixing: Arc::clone(fixing),
            closing: Arc::clone(closing),
        }
    }

    /// Delegates a frame to a session of its own. Answers once it has returned.
    pub(crate) fn delegate(
        &self,
        caller: &Caller,
        num: FrameNum,
    ) -> Result<Reply<ReturnedFrame>, EngineError> {
        let (frame, known) = self.kernel.read(|view| {
            self.may_delegate(view, caller, num)?;
            Ok::<_, EngineError>((view.frame(num)?, own_session(view, num)?))
        })?;
        match known {
            Some(session) => self.entrust(caller, num, &session),
            None => Ok(starting(caller, &frame)),
        }
    }

    /// Plans a frame and delegates it: if no session is started, the plan remains.
    pub(crate) fn delegate_new(
        &self,
        caller: &Caller,
        child: PlannedChild,
    ) -> Result<Reply<ReturnedFrame>, EngineError> {
        let frame = self.kernel.write(|change| {
            let parent =
                change.view().session_row(&caller.session)?.and_then(|session| session.active);
            let plan = Command::Plan(Plan { parent, children: vec![child] });
            let planned = self.commands.carry_out(change, &plan)?;
            let num = crate::commands::first(&planned)?;
            let view = change.view();
            self.may_delegate(&view, caller, num)?;
            Ok::<_, EngineError>(view.frame(num)?)
        })?;
        Ok(starting(caller, &frame))
    }

    /// Goes on once the host has performed an effect.
    pub(crate) fn delegation_goes_on(
        &self,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Reply<ReturnedFrame>, EngineError> {
        let Waiting { frame, session } =
            serde_json::from_value(token).map_err(|error| unreadable("token", error))?;
        let Some(session) = session else {
            let session = started(&self.queries.frame(frame)?, outcome)?;
            return self.entrust(caller, frame, &session);
        };
        self.delegation_ended(caller, frame, &session, outcome)
    }

    fn may_delegate(
        &self,
        view: &View<'_>,
        caller: &Caller,
        frame: FrameNum,
    ) -> Result<(), EngineError> {
        let session = own_session(view, frame)?.unwrap_or_default();
        let command = Command::Delegate(Self::delegation(view, caller, frame, &session)?);
        let limits = self.kernel.settings_in(view)?.limits;
        decide(view, &command, &limits, self.kernel.now())?;
        Ok(())
    }

    fn delegation(
        view: &View<'_>,
        caller: &Caller,
        frame: FrameNum,
        session: &str,
    ) -> Result<Delegate, EngineError> {
        Ok(Delegate {
            frame,
            session: session.to_owned(),
            host: caller.host.clone(),
            after: view.last_message(session)?,
            caller: caller.session.clone(),
            call: caller.anchor.clone(),
        })
    }

    /// Gives a frame to a session, and has it prompted.
    fn entrust(
        &self,
        caller: &Caller,
        num: FrameNum,
        session: &str,
    ) -> Result<Reply<ReturnedFrame>, EngineError> {
        self.kernel.write(|change| {
            let view = change.view();
            let given = view.delegation_in(session)?.is_some_and(|it| {
                let delegation = it.delegation;
                let same = delegation.caller == caller.session && delegation.call == caller.anchor;
                same && delegation.frame == num && !it.delivered
            });
            if !given {
                let command = Self::delegation(&view, caller, num, session)?;
                self.commands.carry_out(change, &Command::Delegate(command))?;
            }
            Ok::<_, EngineError>(())
        })?;
        self.sessions.wait_until_written(&caller.session);
        let text = self.kernel.read(|view| self.prompt_for(view, num, session))?;
        self.files.record_begin(num);
        let effect = Effect::Prompt {
            session: session.to_owned(),
            text,
            agent: caller.agent.clone(),
            like: Some(caller.session.clone()),
            wait: true,
        };
        let token = json!(Waiting { frame: num, session: Some(session.to_owned()) });
        Ok(Reply::waiting("", Next { effect, token }))
    }

    fn prompt_for(
        &self,
        view: &View<'_>,
        num: FrameNum,
        session: &str,
    ) -> Result<String, EngineError> {
        let frame = view.frame(num)?;
        let parent = frame.parent.map(|parent| view.frame(parent)).transpose()?;
        let context = if self.contexts.shows_context(view, session)? {
            String::new()
        } else {
            let parts = callstack_core::context::Parts::for_start();
            self.contexts.context(view, session, num, parts)?.text.clone()
        };
        Ok(entrusted(&Entrusted {
            frame: &frame,
            parent: parent.as_ref(),
            asked: &asked(self.kernel.env(), view, session, num)?,
            context: &context,
            dialect: self.kernel.dialect(),
        }))
    }

    fn delegation_ended(
        &self,
        caller: &Caller,
        num: FrameNum,
        session: &str,
        outcome: EffectOutcome,
    ) -> Result<Reply<ReturnedFrame>, EngineError> {
        let failed = matches!(outcome, EffectOutcome::Error { aborted: false, .. });
        let outcome = match outcome {
            EffectOutcome::Ok(said) => self.last_outcome(
                &self.queries.frame(num)?,
                said["text"].as_str().unwrap_or_default(),
            )?,
            EffectOutcome::Error { aborted: true, .. } => {
                cut_off("It was stopped together with the call that waited for it.")
            }
            EffectOutcome::Error { message, .. } => {
                let message = message.trim_end_matches('.');
                cut_off(&format!("Its session ended with an error: {message}."))
            }
        };
        self.sessions.wait_until_written(session);
        let mut ended = Vec::new();
        let answer = self.kernel.write(|change| {
            if failed && let Some(unheard) = unheard(&change.view(), num, session)? {
                // A session that was worked in before may be gone by now.
                ended = self.end_all(change, num, &outcome)?;
                change
                    .append(self.kernel.now(), &[Event::DelegationDelivered { span: unheard }])?;
                return Ok(starting(caller, &change.view().frame(num)?));
            }
            if works_in(&change.view().frame(num)?, session) {
                ended = self.end_all(change, num, &outcome)?;
            }
            let frame = change.view().frame(num)?;
            let text = self.owed(change, &frame, &caller.session)?;
            let title = format!("{} {}", frame.label(), frame.status);
            let mut reply = Reply::new(title, text, ReturnedFrame::of(&frame));
            reply.answer.returned = Some(num);
            Ok::<_, EngineError>(reply)
        })?;
        self.files.record_ends(&ended);
        Ok(answer)
    }

    /// Returns the outcome of a frame whose session fell silent without a pop.
    fn last_outcome(&self, frame: &Frame, said: &str) -> Result<Outcome, EngineError> {
        let said = said.trim();
        if said.is_empty() {
            let made = self.span_reader.extracted(&self.spans.activities_of(frame)?);
            return Ok(match made {
                Some(made) => Outcome::with(Status::Completed, made.results, None, made.source),
                None => Outcome::with(
                    Status::Completed,
                    WORDLESS.to_owned(),
                    None,
                    ResultsSource::Callstack,
                ),
            });
        }
        let results = format!("{said}\n\n{SILENT}");
        let source = ResultsSource::LastWords;
        Ok(Outcome::with(Status::Completed, results, Some(dense(said)), source))
    }

    /// Returns the result of a delegation for its caller, which is fixed by now.
    pub(crate) fn owed(
        &self,
        change: &mut Change<'_>,
        frame: &Frame,
        caller: &str,
    ) -> Result<String, EngineError> {
        let span = change.view().frame_spans(frame.num)?.pop();
        let fold = span.map(|span| self.fixing.fix_now(change, &span)).transpose()?.flatten();
        let view = change.view();
        match fold {
            Some(fold) if frame.status.is_finished() => Ok(fold.text),
            _ => self.contexts.returned(&view, frame.num, &[], &view.evidence(frame.num)?, caller),
        }
    }

    /// Ends a frame that nobody will end, and all frames below it that are still in progress; returns them.
    pub(crate) fn end_all(
        &self,
        change: &mut Change<'_>,
        num: FrameNum,
        outcome: &Outcome,
    ) -> Result<Vec<FrameNum>, EngineError> {
        let frame = change.view().frame(num)?;
        let mut ended = Vec::new();
        while let Some(child) = change.view().running(num)? {
            if child.session == frame.session {
                ended.extend(self.end_all(change, child.num, outcome)?);
            } else {
                let cut = cut_off("It was cut off together with the session that waited for it.");
                ended.extend(self.end_all(change, child.num, &cut)?);
            }
        }
        let session = frame.session.unwrap_or_default();
        let message = change.view().last_message(&session)?;
        let results = outcome.results.as_deref();
        let evidence =
            self.span_reader.evidence_now(&change.view(), &session, Some(num), results)?;
        let command = Command::Pop(Pop {
            session: session.clone(),
            frame: Some(num),
            anchor: Anchor { message, call: None },
            outcome: outcome.clone(),
        });
        self.closing.end_in(change, self.kernel.now(), &session, &command, &evidence)?;
        ended.push(num);
        Ok(ended)
    }
}

impl Queries {
    /// Whether the session that had the parent open has worked on a frame itself meanwhile.
    pub(crate) fn worked_in_place(&self, frame: &Frame) -> Result<bool, EngineError> {
        let Some(session) = &frame.session else { return Ok(false) };
        let delegation = self.kernel.read(|view| view.delegation_in(session))?;
        Ok(delegation.is_none_or(|stored| stored.delegation.frame != frame.num))
    }

    /// Whether a call waits for the results of a session, and will end its frame with the session's last words.
    pub(crate) fn is_delegation(&self, session: &str) -> Result<bool, EngineError> {
        self.kernel.read(|view| match view.delegation_in(session)? {
            Some(StoredDelegation { delegation, delivered: false }) => {
                Ok(works_in(&view.frame(delegation.frame)?, session))
            }
            _ => Ok(false),
        })
    }
}

/// Whether a session is at work on a frame.
pub(crate) fn works_in(frame: &Frame, session: &str) -> bool {
    frame.status == Status::InProgress && frame.session.as_deref() == Some(session)
}

/// The addition after the last words of a session.
pub(crate) const SILENT: &str =
    "(Its session fell silent without a pop; these are its last words.)";
/// The replacement of last words that are missing.
pub(crate) const WORDLESS: &str = "It ended without a word.";

/// Returns the outcome of a frame that was cut off: it can be taken up again.
pub(crate) fn cut_off(why: &str) -> Outcome {
    let results = format!("{why} What was done until then is in its log.");
    Outcome::with(Status::Blocked, results, Some(dense(why)), ResultsSource::Callstack)
}

/// Returns the session that worked on a frame, and on nothing else, before the frame was blocked.
pub(crate) fn own_session(view: &View<'_>, num: FrameNum) -> Result<Option<String>, EngineError> {
    let Some(session) = view.frame(num)?.session else { return Ok(None) };
    let delegation = view.delegation_in(&session)?;
    let busy = view.session_row(&session)?.is_some_and(|known| known.active.is_some());
    Ok(delegation.filter(|stored| stored.delegation.frame == num && !busy).map(|_| session))
}

/// Returns the span in which a session was to take up its earlier frame again, if the prompt never reached it.
fn unheard(view: &View<'_>, num: FrameNum, session: &str) -> Result<Option<SpanNum>, EngineError> {
    let Some(span) = view.frame_spans(num)?.pop().filter(|it| it.session == session) else {
        return Ok(None);
    };
    let again = span.open.message.is_some() && span.live_close().is_none();
    let heard = view.last_message(session)? != span.open.message;
    Ok((again && !heard).then_some(span.num))
}

fn starting(caller: &Caller, frame: &Frame) -> Reply<ReturnedFrame> {
    let effect = Effect::CreateSession {
        parent: caller.session.clone(),
        title: frame.identity.title.clone(),
    };
    let token = json!(Waiting { frame: frame.num, session: None });
    Reply::waiting("", Next { effect, token })
}

fn started(frame: &Frame, outcome: EffectOutcome) -> Result<String, EngineError> {
    let why = match outcome {
        EffectOutcome::Ok(made) => match made["session"].as_str() {
            Some(session) if !session.is_empty() => return Ok(session.to_owned()),
            _ => "the host gave it no name".to_owned(),
        },
        EffectOutcome::Error { message, .. } => message,
    };
    Err(EngineError::new(
        Kind::Conflict,
        format!("no session could be started for {}: {why}", frame.label()),
    )
    .with_hint(format!(
        "{} stays {}; activate it with in `here` to work on it yourself.",
        frame.num, frame.status
    )))
}

fn unreadable(what: &str, error: serde_json::Error) -> EngineError {
    EngineError::invalid(
        format!("the {what} can't be read: {error}"),
        "Restart the host after an update of callstack.",
    )
    .caused_by(error)
}
