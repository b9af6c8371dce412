//! The beginning and the end of frames on behalf of callers, with their checks.

use std::sync::Arc;

use callstack_core::decide::{Command, Pop, decide};
use callstack_core::event::Event;
use callstack_core::frame::{Frame, FrameNum};
use callstack_store::Change;

use crate::assembly::Contexts;
use crate::call::{Caller, Reply};
use crate::closing::Endings;
use crate::commands::first;
use crate::compaction::nothing_ends;
use crate::error::EngineError;
use crate::frames::Frames;
use crate::idempotency::Idempotency;
use crate::kernel::Kernel;
use crate::outputs::{BegunFrame, EndedFrame};
use crate::subagents::Subagents;
use crate::world::World;

/// Begins and ends frames on behalf of callers.
pub(crate) struct Lifecycle {
    kernel: Arc<Kernel>,
    frames: Arc<Frames>,
    contexts: Arc<Contexts>,
    endings: Arc<Endings>,
    subagents: Arc<Subagents>,
    idempotency: Arc<Idempotency>,
}

impl Lifecycle {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        frames: &Arc<Frames>,
        contexts: &Arc<Contexts>,
        endings: &Arc<Endings>,
        subagents: &Arc<Subagents>,
        idempotency: &Arc<Idempotency>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            frames: Arc::clone(frames),
            contexts: Arc::clone(contexts),
            endings: Arc::clone(endings),
            subagents: Arc::clone(subagents),
            idempotency: Arc::clone(idempotency),
        }
    }

    /// Makes sure that the calling session is known, so that a frame can begin in it.
    pub(crate) fn open_session(&self, caller: &Caller) -> Result<(), EngineError> {
        // Nearly always it is; reading takes no lock that others wait for.
        if let Some(known) = self.kernel.read(|view| view.session_row(&caller.session))? {
            return self.subagents.frame_for_push(&known);
        }
        self.kernel.write(|change| {
            if change.view().session_row(&caller.session)?.is_some() {
                return Ok(());
            }
            let session = callstack_core::event::Session {
                id: caller.session.clone(),
                host: caller.host.clone(),
                parent: None,
                root: None,
                active: None,
            };
            Ok(change.append(self.kernel.now(), &[Event::SessionOpened { session }])?)
        })
    }

    /// Begins work in a frame and returns the text that it needs. `goal_is_known` is that of [`Contexts::began`].
    pub(crate) fn begin(
        &self,
        caller: &Caller,
        goal_is_known: bool,
        command: impl FnOnce(&dyn World) -> Command,
    ) -> Result<Reply<BegunFrame>, EngineError> {
        self.check_nothing_ends(&caller.session)?;
        let command = command(self.kernel.world());
        let num = self.frames.change_and(&command, |change, decision| {
            let num = first(&decision)?;
            self.keep_begun(change, caller, num, goal_is_known, None)?;
            Ok(num)
        })?;
        self.kernel.read(|view| self.contexts.began(view, caller, num, goal_is_known))
    }

    /// Keeps the answer of a call that has begun work in a frame, where its span does not show the call: no
    /// transcript does. `last` is the last paragraph of the answer, if it has one of its own.
    pub(crate) fn keep_begun(
        &self,
        change: &mut Change<'_>,
        caller: &Caller,
        num: FrameNum,
        goal_is_known: bool,
        last: Option<&str>,
    ) -> Result<(), EngineError> {
        if caller.key.is_none() {
            return Ok(());
        }
        let mut answer = self.contexts.began(&change.view(), caller, num, goal_is_known)?;
        if let Some(last) = last {
            answer.append(last);
        }
        self.idempotency.keep_answer(change, caller, &answer)
    }

    /// Ends a frame, and makes the text that replaces its span in the same transaction. The text of a call's frame is
    /// fixed at the next request of its session.
    pub(crate) fn end(&self, caller: &Caller, pop: Pop) -> Result<Reply<EndedFrame>, EngineError> {
        self.end_at(self.kernel.now(), caller, pop)
    }

    /// The same as of the time `at` (milliseconds since 1970).
    pub(crate) fn end_at(
        &self,
        at: i64,
        caller: &Caller,
        pop: Pop,
    ) -> Result<Reply<EndedFrame>, EngineError> {
        self.end_in_turn_at(at, caller, vec![pop], |change, ended| {
            let frames: Vec<_> = ended.iter().map(|(num, _)| *num).collect();
            let answer = Contexts::last_ended(&change.view(), ended)?;
            self.idempotency.keep_answer_if_elsewhere(change, caller, &frames, &answer)?;
            Ok(answer)
        })
    }

    /// Ends frames as [`Endings::end_in_turn`] does, once the silent sessions that would keep them open are over.
    pub(crate) fn end_in_turn<T>(
        &self,
        caller: &Caller,
        pops: Vec<Pop>,
        then: impl FnOnce(&mut Change<'_>, Vec<(FrameNum, String)>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.end_in_turn_at(self.kernel.now(), caller, pops, then)
    }

    fn end_in_turn_at<T>(
        &self,
        at: i64,
        caller: &Caller,
        pops: Vec<Pop>,
        then: impl FnOnce(&mut Change<'_>, Vec<(FrameNum, String)>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        for pop in &pops {
            self.subagents.settle_before(pop)?;
        }
        self.endings.end_in_turn(at, caller, pops, then)
    }

    /// Whether a frame could end so now; the frame.
    pub(crate) fn check_end(&self, pop: Pop) -> Result<Frame, EngineError> {
        self.subagents.settle_before(&pop)?;
        self.kernel.read(|view| {
            let decision = decide(
                view,
                &Command::Pop(pop),
                &self.kernel.settings_in(view)?.limits,
                self.kernel.now(),
            )?;
            Ok(view.frame(first(&decision)?)?)
        })
    }

    /// Refuses to begin work in a session whose frame is about to end: it would begin inside that one.
    pub(crate) fn check_nothing_ends(&self, session: &str) -> Result<(), EngineError> {
        self.kernel.read(|view| nothing_ends(view, session))
    }
}
