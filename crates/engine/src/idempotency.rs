//! Repeated calls: a host repeats a call if the process that received it ended before it had answered.
//!
//! Everything that a call does is one transaction, so its work is done wholly or not at all. Frames that it began or
//! ended are found by the call, at which a span opens or closes. Other changes don't show which call made them: their
//! answer is stored with them.

use std::sync::Arc;

use callstack_core::event::{Event, GivenAnswer};
use callstack_core::frame::FrameNum;
use callstack_store::Change;
use serde::Serialize;

use crate::call::{Answer, Caller, Reply};
use crate::error::{EngineError, Kind};
use crate::kernel::Kernel;

/// Answers repeated calls as they were answered before.
pub(crate) struct Idempotency {
    kernel: Arc<Kernel>,
}

impl Idempotency {
    pub(crate) fn new(kernel: &Arc<Kernel>) -> Self {
        Self { kernel: Arc::clone(kernel) }
    }

    /// Carries out a call, and stores its answer with the changes. A call that no transcript shows is never repeated.
    pub(crate) fn answering<D: Clone + Serialize>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&mut Change<'_>) -> Result<Reply<D>, EngineError>,
    ) -> Result<Reply<D>, EngineError> {
        self.kernel.write(|change| {
            let answer = work(change)?;
            self.keep_answer(change, caller, &answer)?;
            Ok(answer)
        })
    }

    /// Stores the answer of a call with its changes.
    pub(crate) fn keep_answer<D: Clone + Serialize>(
        &self,
        change: &mut Change<'_>,
        caller: &Caller,
        answer: &Reply<D>,
    ) -> Result<(), EngineError> {
        let Some(call) = caller.kept_at() else { return Ok(()) };
        // Only a call with a key can have been made twice at the same time: one in a transcript is made by one
        // process.
        if caller.key.is_some() && change.view().answer_given(&caller.session, &call)?.is_some() {
            return Err(EngineError::new(
                Kind::Conflict,
                "the same call was made at the same time",
            )
            .with_hint("Make it again: it is answered as the other one was."));
        }
        let event = Event::CallAnswered {
            session: caller.session.clone(),
            call,
            answer: Box::new(given(answer)?),
        };
        Ok(change.append(self.kernel.now(), &[event])?)
    }

    /// The same for a call that has ended frames, if their spans don't show the call: a frame was not worked on in
    /// the calling session, so its span does not close at the call, or no transcript shows the call.
    pub(crate) fn keep_answer_if_elsewhere<D: Clone + Serialize>(
        &self,
        change: &mut Change<'_>,
        caller: &Caller,
        ended: &[FrameNum],
        answer: &Reply<D>,
    ) -> Result<(), EngineError> {
        if caller.key.is_some() {
            return self.keep_answer(change, caller, answer);
        }
        for num in ended {
            if change.view().frame(*num)?.session.as_ref() != Some(&caller.session) {
                return self.keep_answer(change, caller, answer);
            }
        }
        Ok(())
    }
}

fn given<D: Clone + Serialize>(answer: &Reply<D>) -> Result<GivenAnswer, EngineError> {
    let Answer { title, text, data, closed, .. } = answer.clone().erased()?;
    Ok(GivenAnswer { title, text, data, closed })
}

pub(crate) fn answer_of(given: GivenAnswer) -> Answer {
    let GivenAnswer { title, text, data, closed } = given;
    Answer { title, text, data, closed, ..Answer::default() }
}
