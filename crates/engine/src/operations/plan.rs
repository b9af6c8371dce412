//! Operations that plan frames.

use std::fmt::Write as _;

use callstack_core::decide;
use callstack_core::dialect::Dialect;
use callstack_core::frame::FrameNum;
use callstack_store::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::begin::{give, identity};
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::world::World;

/// `stack_frame_plan`.
pub(crate) struct Plan;

/// A frame to be planned.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Child {
    title: String,
    #[serde(alias = "criteria")]
    success_criteria: String,
    /// The same, dense
    #[schemars(extend("x-full" = true))]
    success_criteria_compacted: Option<String>,
    /// Read by whoever works on the frame, when it begins: facts, paths and names that title and criteria leave out
    /// and that may have left the conversation by then
    context: Option<String>,
    /// Frames below it
    #[schemars(with = "Vec<Inner>")]
    #[serde(default)]
    children: Vec<Child>,
}

/// A frame below a planned one; it may have `children`, too.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
struct Inner {
    title: String,
    success_criteria: String,
    /// The same, dense
    #[schemars(extend("x-full" = true))]
    success_criteria_compacted: Option<String>,
    context: Option<String>,
}

/// Arguments of `stack_frame_plan`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PlanParams {
    /// In working order
    #[schemars(extend("x-required-in-brief" = true))]
    children: Option<Vec<Child>>,
    /// Handle of the frame to plan below; default: the open one
    #[serde(alias = "parentSessionID")]
    parent: Option<String>,
    /// Of a single frame, in the place of `children`
    #[schemars(extend("x-full" = true))]
    title: Option<String>,
    /// Of that frame: what "done" means, so that it can be checked
    #[schemars(extend("x-full" = true))]
    success_criteria: Option<String>,
    /// The same, dense
    #[schemars(extend("x-full" = true))]
    success_criteria_compacted: Option<String>,
}

/// A frame that was planned.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct PlannedFrame {
    /// Handle such as f12
    handle: String,
    /// The frame's id
    #[serde(rename = "sessionID")]
    id: String,
    title: String,
}

impl Operate for Plan {
    const NAME: &'static str = "stack_frame_plan";
    const SUMMARY: &'static str =
        "Plan child frames for later; start each with stack_frame_activate.";
    const LISTED: bool = true;
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = PlanParams;
    type Output = Vec<PlannedFrame>;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: PlanParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let mut children = params.children.unwrap_or_default();
        if let Some(title) = params.title {
            children.insert(
                0,
                Child {
                    title,
                    success_criteria: params.success_criteria.unwrap_or_default(),
                    success_criteria_compacted: params.success_criteria_compacted,
                    context: None,
                    children: Vec::new(),
                },
            );
        }
        plan(engine, caller, params.parent.as_deref(), children)
    }
}

/// `stack_frame_plan_children`.
pub(crate) struct PlanChildren;

/// Arguments of `stack_frame_plan_children`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanChildrenParams {
    /// Handle of the frame to plan below; default: the open one
    #[serde(rename = "parentSessionID", alias = "parent")]
    parent: Option<String>,
    /// In working order
    children: Vec<Child>,
}

impl Operate for PlanChildren {
    const NAME: &'static str = "stack_frame_plan_children";
    const SUMMARY: &'static str = "Plan several child frames for later; start each with \
        stack_frame_activate.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = PlanChildrenParams;
    type Output = Vec<PlannedFrame>;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: PlanChildrenParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        plan(engine, caller, params.parent.as_deref(), params.children)
    }
}

fn plan(
    engine: &Engine,
    caller: &Caller,
    parent: Option<&str>,
    children: Vec<Child>,
) -> Result<Reply<Vec<PlannedFrame>>, EngineError> {
    let parent = match parent {
        Some(reference) => Some(engine.resolve(reference)?.num),
        None => parent_of_plans(engine, caller)?,
    };
    if children.is_empty() {
        return Err(EngineError::invalid(
            "there is nothing to plan",
            "Give `children`, each with title and successCriteria.",
        ));
    }
    let mut facts = Vec::new();
    gather(&children, &mut facts);
    let children = planned(engine.world(), caller, children)?;
    let command = decide::Command::Plan(decide::Plan { parent, children });
    engine.idempotency.answering(caller, |change| {
        let decision = engine.commands.carry_out(change, &command)?;
        for (frame, facts) in decision.frames.iter().zip(&facts) {
            give(engine, change, *frame, facts)?;
        }
        planned_answer(&change.view(), engine.dialect(), &decision.frames)
    })
}

/// Returns the answer for frames that were planned.
fn planned_answer(
    view: &View<'_>,
    dialect: Dialect,
    frames: &[FrameNum],
) -> Result<Reply<Vec<PlannedFrame>>, EngineError> {
    let mut text = String::from("Planned:\n");
    let mut data = Vec::new();
    for num in frames {
        let frame = view.frame(*num)?;
        let indent = "  ".repeat(frame.depth.saturating_sub(1) as usize);
        // Writing to a string can't fail.
        let _ = writeln!(text, "{indent}- {}", frame.label());
        let (handle, title) = (num.to_string(), frame.identity.title);
        data.push(PlannedFrame { handle, id: frame.id, title });
    }
    // Writing to a string can't fail.
    let _ = write!(text, "Start one with {}.", dialect.tool("stack_frame_activate"));
    Ok(Reply::new(format!("planned {}", data.len()), text, data))
}

/// Returns the frame below which a session plans if it names none: its active one, or the nearest one around that was
/// chosen, since a frame that began by itself ends before the planned ones; else its root while that can still be
/// worked in. `None` means that roots are planned.
pub(super) fn parent_of_plans(
    engine: &Engine,
    caller: &Caller,
) -> Result<Option<FrameNum>, EngineError> {
    if let Some(active) = engine.active(&caller.session)? {
        return Ok(engine.kernel.read(|view| decide::nearest_chosen(view, Some(active)))?);
    }
    let known = engine.kernel.read(|view| view.session_row(&caller.session))?;
    let Some(root) = known.and_then(|session| session.root) else { return Ok(None) };
    Ok(Some(root).filter(|root| {
        engine.frame(*root).is_ok_and(|root| !root.status.is_terminal() && !root.detached)
    }))
}

/// Collects the facts of frames in the order in which these are planned: each frame before those below it.
fn gather(children: &[Child], facts: &mut Vec<String>) {
    for child in children {
        facts.push(child.context.clone().unwrap_or_default());
        gather(&child.children, facts);
    }
}

fn planned(
    world: &dyn World,
    caller: &Caller,
    children: Vec<Child>,
) -> Result<Vec<decide::PlannedChild>, EngineError> {
    children
        .into_iter()
        .map(|child| {
            Ok(decide::PlannedChild {
                id: world.id("plan-"),
                identity: identity(
                    caller,
                    &child.title,
                    child.success_criteria,
                    child.success_criteria_compacted,
                )?,
                children: planned(world, caller, child.children)?,
            })
        })
        .collect()
}
