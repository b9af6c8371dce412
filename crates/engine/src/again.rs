//! A call that is made again because the process that it was made to ended before it had answered.
//!
//! Everything that a call does is one transaction, so its work is done wholly or not at all. What it
//! began or ended is known by the call itself, at which a span opens or closes. What else it changed
//! does not tell by which call it was changed: what that was answered is kept with the change.

use callstack_core::decide::Neighbourhood as _;
use callstack_core::event::{Event, GivenAnswer};
use callstack_core::frame::FrameNum;
use callstack_core::transcript::Span;
use callstack_store::{Change, View};
use serde_json::Value;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Answer, Caller};
use crate::operations::begin::begun_here;
use crate::operations::go::gone_back;
use crate::operations::reach;
use crate::operations::retry::retried;
use crate::tools::Tool;

impl Engine {
    /// Does what a call asks for, and keeps its answer with that. A call that no transcript shows is
    /// never made again.
    pub(crate) fn answering(
        &self,
        caller: &Caller,
        work: impl FnOnce(&mut Change<'_>) -> Result<Answer, EngineError>,
    ) -> Result<Answer, EngineError> {
        self.store.write(|change| {
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
        Ok(change.append(self.now(), &[event])?)
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

    /// The answer of a call whose work was done before; none where it is still to be done.
    pub fn done_before(
        &self,
        caller: &Caller,
        tool: &Tool,
        arguments: &Value,
    ) -> Result<Option<Answer>, EngineError> {
        let known = |view: &View<'_>| view.answer_given(&caller.session, &caller.anchor);
        if let Some(given) = self.store.read(known)? {
            return Ok(Some(answer_of(given)));
        }
        let reached = match arguments["op"].as_str() {
            Some(op) if tool.operation().name == "stack" => reach::meant(self.dialect(), op),
            _ => None,
        };
        let (operation, arguments) = match &reached {
            Some(reached) => (reached.operation().name, &arguments["args"]),
            None => (tool.operation().name, arguments),
        };
        if let Some(begun) = self.begun(caller, operation == "stack_frame_push")? {
            return match operation {
                "stack_frame_push" | "stack_frame_activate" => {
                    begun_here(self, caller, arguments, begun)
                }
                "stack_frame_retry" => retried(self, begun),
                _ => Ok(begun),
            }
            .map(Some);
        }
        let ended = |view: &View<'_>| view.spans_closed_at(&caller.session, &caller.anchor);
        let ended = self.store.read(ended)?;
        // Where several ended, the outermost did so last.
        let Some(span) = ended.first() else { return Ok(None) };
        self.store
            .read(|view| {
                let answer = self.ended_before(view, caller, span)?;
                if operation == "stack_navigate" { gone_back(view, answer) } else { Ok(answer) }
            })
            .map(Some)
    }

    fn begun(&self, caller: &Caller, goal_is_known: bool) -> Result<Option<Answer>, EngineError> {
        self.store.read(|view| {
            let span = view.span_opened_at(&caller.session, &caller.anchor)?;
            span.map(|span| self.began(view, caller, span.frame, goal_is_known)).transpose()
        })
    }

    fn ended_before(
        &self,
        view: &View<'_>,
        caller: &Caller,
        span: &Span,
    ) -> Result<Answer, EngineError> {
        // What stands for it elsewhere is told in other words than those who ended it were.
        let told = span.fold.as_ref().filter(|_| !span.origin.is_automatic());
        let told = match view.errand(span.num)? {
            None => told,
            Some(_) => None,
        };
        let text = if let Some(fold) = told {
            fold.text.clone()
        } else {
            let left = view.planned_children(span.frame)?;
            let evidence = view.evidence(span.frame)?;
            self.returned(view, span.frame, &left, &evidence, &caller.session)?
        };
        Self::ended(view, span.frame, text)
    }
}

fn given(answer: &Answer) -> GivenAnswer {
    let Answer { title, text, data, closed, .. } = answer.clone();
    GivenAnswer { title, text, data, closed }
}

fn answer_of(given: GivenAnswer) -> Answer {
    let GivenAnswer { title, text, data, closed } = given;
    Answer { title, text, data, closed, ..Answer::default() }
}
