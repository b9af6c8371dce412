//! A call that is made again because the process that it was made to ended before it had answered.
//!
//! Everything that a call does is one transaction, so its work is done wholly or not at all. What it
//! began or ended is known by the call itself, at which a span opens or closes. What else it changed
//! does not tell by which call it was changed: what that was answered is kept with the change.

use std::sync::Arc;

use callstack_core::event::{Event, GivenAnswer};
use callstack_core::frame::FrameNum;
use callstack_store::Change;

use crate::call::{Answer, Caller};
use crate::error::EngineError;
use crate::kernel::Kernel;

/// Answers calls that are made again as they were answered before.
pub(crate) struct Idempotency {
    kernel: Arc<Kernel>,
}

impl Idempotency {
    pub(crate) fn new(kernel: &Arc<Kernel>) -> Self {
        Self { kernel: Arc::clone(kernel) }
    }

    /// Does what a call asks for, and keeps its answer with that. A call that no transcript shows is
    /// never made again.
    pub(crate) fn answering(
        &self,
        caller: &Caller,
        work: impl FnOnce(&mut Change<'_>) -> Result<Answer, EngineError>,
    ) -> Result<Answer, EngineError> {
        self.kernel.write(|change| {
            let answer = work(change)?;
            self.keep_answer(change, caller, &answer)?;
            Ok(answer)
        })
    }

    /// Keeps the answer of a call with what it has changed.
    pub(crate) fn keep_answer(
        &self,
        change: &mut Change<'_>,
        caller: &Caller,
        answer: &Answer,
    ) -> Result<(), EngineError> {
        if caller.anchor.call.is_none() {
            return Ok(());
        }
        let event = Event::CallAnswered {
            session: caller.session.clone(),
            call: caller.anchor.clone(),
            answer: Box::new(given(answer)),
        };
        Ok(change.append(self.kernel.now(), &[event])?)
    }

    /// The same for a call that has ended frames, if one was not worked on in the calling session: its span
    /// does not close at the call.
    pub(crate) fn keep_answer_if_elsewhere(
        &self,
        change: &mut Change<'_>,
        caller: &Caller,
        ended: &[FrameNum],
        answer: &Answer,
    ) -> Result<(), EngineError> {
        for num in ended {
            if change.view().frame(*num)?.session.as_ref() != Some(&caller.session) {
                return self.keep_answer(change, caller, answer);
            }
        }
        Ok(())
    }
}

fn given(answer: &Answer) -> GivenAnswer {
    let Answer { title, text, data, closed, .. } = answer.clone();
    GivenAnswer { title, text, data, closed }
}

pub(crate) fn answer_of(given: GivenAnswer) -> Answer {
    let GivenAnswer { title, text, data, closed } = given;
    Answer { title, text, data, closed, ..Answer::default() }
}
