//! The answers of calls that are repeated and whose work was already done.

use callstack_core::decide::Neighbourhood as _;
use callstack_core::transcript::Span;
use callstack_store::View;
use serde_json::Value;

use crate::assembly::Contexts;
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::idempotency::answer_of;
use crate::operation::{Answer, Caller, Repeated};
use crate::operations::begin::begun_here;
use crate::operations::go::gone_back;
use crate::operations::retry::retried;
use crate::operations::stack;
use crate::outputs::{BegunFrame, EndedFrame};
use crate::tools::Tool;

/// Returns the answer of a call whose work was already done; `None` if it is still to be done.
pub(crate) fn done_before(
    engine: &Engine,
    caller: &Caller,
    tool: &Tool,
    arguments: &Value,
) -> Result<Option<Answer>, EngineError> {
    let reached = match arguments["op"].as_str() {
        Some(op) if tool.operation().name == "stack" => stack::meant(engine.dialect(), op),
        _ => None,
    };
    let (operation, arguments) = match &reached {
        Some(reached) => (reached.operation(), &arguments["args"]),
        None => (tool.operation(), arguments),
    };
    if operation.repeated == Repeated::Runs {
        return Ok(None);
    }
    let Some(kept_at) = caller.kept_at() else { return Ok(None) };
    let known = |view: &View<'_>| view.answer_given(&caller.session, &kept_at);
    if let Some(given) = engine.kernel.read(known)? {
        return Ok(Some(answer_of(given)));
    }
    if caller.anchor.call.is_none() {
        return Ok(None);
    }
    let operation = operation.name;
    if let Some(begun) = begun(engine, caller, operation == "stack_frame_push")? {
        return match operation {
            "stack_frame_push" | "stack_frame_activate" => {
                begun_here(engine, caller, arguments, begun)
            }
            "stack_frame_retry" => retried(engine, begun),
            _ => Ok(begun),
        }
        .and_then(Reply::erased)
        .map(Some);
    }
    let ended = |view: &View<'_>| view.spans_closed_at(&caller.session, &caller.anchor);
    let ended = engine.kernel.read(ended)?;
    // Where several ended, the outermost did so last.
    let Some(span) = ended.first() else { return Ok(None) };
    engine
        .kernel
        .read(|view| {
            let answer = ended_before(engine, view, caller, span)?;
            if operation == "stack_navigate" {
                gone_back(view, answer)?.erased()
            } else {
                answer.erased()
            }
        })
        .map(Some)
}

fn begun(
    engine: &Engine,
    caller: &Caller,
    goal_is_known: bool,
) -> Result<Option<Reply<BegunFrame>>, EngineError> {
    engine.kernel.read(|view| {
        let span = view.span_opened_at(&caller.session, &caller.anchor)?;
        span.map(|span| engine.contexts.began(view, caller, span.frame, goal_is_known)).transpose()
    })
}

fn ended_before(
    engine: &Engine,
    view: &View<'_>,
    caller: &Caller,
    span: &Span,
) -> Result<Reply<EndedFrame>, EngineError> {
    // The text that replaces a frame which ended by itself, or which another session worked on, differs from the answer
    // of the call that ended it.
    let replacement = span.fold.as_ref().filter(|_| !span.origin.is_automatic());
    let replacement = match view.delegation(span.num)? {
        None => replacement,
        Some(_) => None,
    };
    let text = if let Some(fold) = replacement {
        fold.text.clone()
    } else {
        let left = view.planned_children(span.frame)?;
        let evidence = view.evidence(span.frame)?;
        engine.contexts.returned(view, span.frame, &left, &evidence, &caller.session)?
    };
    Contexts::ended(view, span.frame, text)
}
