//! A call that is made again because the process that it was made to ended before it had answered.
//!
//! Everything that a call does is one transaction, so its work is done wholly or not at all. What it
//! began or ended is known by the call itself; the rest by its words, which the repetition has too.

use callstack_core::decide::Neighbourhood as _;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_store::View;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Answer, Caller};
use crate::operations::plan::{parent_of_plans, planned_answer};
use crate::operations::preset::as_plan;
use crate::operations::reach;
use crate::operations::record::{noted, pinned};
use crate::operations::retry::retried;
use crate::tools::Tool;

impl Engine {
    /// The answer of a call whose work was done before; none where it is still to be done.
    pub fn done_before(
        &self,
        caller: &Caller,
        tool: &Tool,
        arguments: &Value,
    ) -> Result<Option<Answer>, EngineError> {
        let reached = match arguments["op"].as_str() {
            Some(op) if tool.operation().name == "stack" => reach::meant(self.dialect(), op),
            _ => None,
        };
        let (tool, arguments) = match &reached {
            Some(reached) => (reached, &arguments["args"]),
            None => (tool, arguments),
        };
        if let Some(answer) = self.begun_or_ended(caller)? {
            let is_retry = tool.operation().name == "stack_frame_retry";
            return if is_retry { retried(self, answer) } else { Ok(answer) }.map(Some);
        }
        // What is wrong with them is told when it is carried out.
        let Ok(arguments) = tool.translated(arguments.clone()) else { return Ok(None) };
        let text = |name: &str| arguments[name].as_str();
        match tool.operation().name {
            "stack_pin" => {
                let Some(frame) = self.meant(caller, text("frame"))? else { return Ok(None) };
                let known = frame.pins.iter().rfind(|pin| Some(pin.text.as_str()) == text("text"));
                Ok(known.map(|pin| pinned(frame.num, Some(pin.num))))
            }
            "stack_add_decision" => {
                let Some(frame) = self.meant(caller, text("frame"))? else { return Ok(None) };
                let known = frame.decisions.last().map(String::as_str) == text("decision");
                Ok(known.then(|| noted(frame.num, "decision")))
            }
            "stack_frame_plan" | "stack_frame_plan_children" => {
                self.planned_before(caller, &arguments)
            }
            "stack_preset" => match as_plan(self.project(), &arguments) {
                Ok(Some(plan)) => self.planned_before(caller, &plan),
                Ok(None) | Err(_) => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn planned_before(
        &self,
        caller: &Caller,
        arguments: &Value,
    ) -> Result<Option<Answer>, EngineError> {
        let named = arguments["parent"].as_str().or(arguments["parentSessionID"].as_str());
        let parent = match named {
            Some(reference) => Some(self.resolve(reference)?.num),
            None => parent_of_plans(self, caller)?,
        };
        let planned = self.store.read(|view| planned(view, parent, arguments))?;
        planned.map(|frames| planned_answer(self, &frames)).transpose()
    }

    fn begun_or_ended(&self, caller: &Caller) -> Result<Option<Answer>, EngineError> {
        self.store.read(|view| {
            if let Some(span) = view.span_opened_at(&caller.session, &caller.anchor)? {
                return Ok(Some(self.began(view, caller, span.frame)?));
            }
            let Some(span) = view.span_closed_at(&caller.session, &caller.anchor)? else {
                return Ok(None);
            };
            let text = if let Some(fold) = span.fold {
                fold.text
            } else {
                let left = view.planned_children(span.frame)?;
                let evidence = view.evidence(span.frame)?;
                self.returned(view, span.frame, &left, &evidence, &caller.session)?
            };
            Ok(Some(Self::ended(view, span.frame, text)?))
        })
    }

    fn meant(
        &self,
        caller: &Caller,
        reference: Option<&str>,
    ) -> Result<Option<Frame>, EngineError> {
        match reference {
            Some(reference) => Ok(Some(self.resolve(reference)?)),
            None => self.active(&caller.session)?.map(|num| self.frame(num)).transpose(),
        }
    }
}

/// The frames that were planned last below `parent`, with all below them, if they are those that the
/// arguments ask for.
fn planned(
    view: &View<'_>,
    parent: Option<FrameNum>,
    arguments: &Value,
) -> Result<Option<Vec<FrameNum>>, EngineError> {
    let single = arguments["title"].as_str().is_some().then_some(arguments);
    let children = arguments["children"].as_array().into_iter().flatten();
    let wanted: Vec<&Value> = single.into_iter().chain(children).collect();
    let known = view.children_with(parent, Status::Planned, u32::MAX)?;
    let Some(first) = known.len().checked_sub(wanted.len()) else { return Ok(None) };
    let mut frames = Vec::new();
    for (frame, wanted) in known[first..].iter().zip(&wanted) {
        let identity = &frame.identity;
        let given = |name: &str| wanted[name].as_str().unwrap_or_default();
        let same = given("title").trim() == identity.title
            && given("successCriteria") == identity.success_criteria;
        if !same {
            return Ok(None);
        }
        frames.push(frame.num);
        frames.extend(view.descendants(frame.num, Status::Planned)?.iter().map(|it| it.num));
    }
    Ok((!frames.is_empty()).then_some(frames))
}
