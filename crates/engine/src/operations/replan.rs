//! Operations that change plans.

use callstack_core::decide::Command;
use callstack_core::frame::{Frame, Identity, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Reply;
use crate::dense::compact;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};

/// `stack_frame_replan`.
pub(crate) struct Replan;

/// Arguments of `stack_frame_replan`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReplanParams {
    /// Handle of a planned frame
    #[serde(alias = "sessionID")]
    frame: String,
    /// Its new title
    title: Option<String>,
    /// What "done" means now
    success_criteria: Option<String>,
    /// The same, dense
    #[schemars(extend("x-full" = true))]
    success_criteria_compacted: Option<String>,
    /// Handle of the planned sibling that it is to come before
    before: Option<String>,
}

/// A planned frame as it is now.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplanOutput {
    /// Handle such as f12
    handle: String,
    title: String,
    success_criteria: String,
}

impl Operate for Replan {
    const NAME: &'static str = "stack_frame_replan";
    const SUMMARY: &'static str = "Change a planned frame: its title, its criteria, its place among what is planned beside it.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = ReplanParams;
    type Output = ReplanOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: ReplanParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = planned(engine, &params.frame)?;
        let before = params.before.as_deref().map(|it| planned(engine, it)).transpose()?;
        let changes = params.title.is_some() || params.success_criteria.is_some();
        if !changes && params.success_criteria_compacted.is_none() && before.is_none() {
            return Err(EngineError::invalid(
                "there is nothing to change",
                "Give `title`, `successCriteria` or `before`.",
            ));
        }
        let title = params.title.map_or(frame.identity.title.clone(), |it| it.trim().to_owned());
        if title.is_empty() {
            return Err(EngineError::invalid(
                "the title is empty",
                "Give the frame a name of two to five words.",
            ));
        }
        let dense = match (&params.success_criteria, params.success_criteria_compacted) {
            (_, Some(dense)) => dense,
            (Some(criteria), None) => compact(criteria),
            (None, None) => frame.identity.success_criteria_compacted.clone(),
        };
        let identity = Identity {
            title,
            success_criteria: params
                .success_criteria
                .unwrap_or_else(|| frame.identity.success_criteria.clone()),
            success_criteria_compacted: dense,
        };
        engine.idempotency.answering(caller, |change| {
            if identity != frame.identity {
                let command = Command::SetIdentity {
                    frame: frame.num,
                    identity,
                    derived: false,
                    again: true,
                };
                engine.commands.carry_out(change, &command)?;
            }
            if let Some(before) = &before {
                let command = Command::OrderPlan { frame: frame.num, before: before.num };
                engine.commands.carry_out(change, &command)?;
            }
            let now = change.view().frame(frame.num)?;
            let place =
                before.map_or_else(String::new, |it| format!(", and comes before {}", it.num));
            let text = format!("{} is changed{place}.", now.label());
            let data = ReplanOutput {
                handle: now.num.to_string(),
                title: now.identity.title,
                success_criteria: now.identity.success_criteria,
            };
            Ok(Reply::new(format!("changed {}", now.num), text, data))
        })
    }
}

/// `stack_frame_unplan`.
pub(crate) struct Unplan;

/// Arguments of `stack_frame_unplan`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnplanParams {
    /// Handle of a planned frame
    #[serde(alias = "sessionID")]
    frame: String,
}

/// The frames that were removed from the plan.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct UnplanOutput {
    /// Their handles, the named one first
    removed: Vec<String>,
}

impl Operate for Unplan {
    const NAME: &'static str = "stack_frame_unplan";
    const SUMMARY: &'static str = "Take a planned frame out of the plan, with what is planned below it. \
        To keep it in sight with a reason, use stack_frame_invalidate.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = UnplanParams;
    type Output = UnplanOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: UnplanParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = planned(engine, &params.frame)?;
        engine.idempotency.answering(caller, |change| {
            let decision =
                engine.commands.carry_out(change, &Command::Unplan { frame: frame.num })?;
            let gone: Vec<_> = decision.frames.iter().map(ToString::to_string).collect();
            let below = gone.len().saturating_sub(1);
            let with = if below == 0 { String::new() } else { format!(", with {below} below it") };
            let text = format!("{} is out of the plan{with}.", frame.label());
            let data = UnplanOutput { removed: gone };
            Ok(Reply::new(format!("removed {}", frame.num), text, data))
        })
    }
}

fn planned(engine: &Engine, reference: &str) -> Result<Frame, EngineError> {
    let frame = engine.resolve(reference)?;
    if frame.status != Status::Planned {
        return Err(EngineError::new(
            Kind::Conflict,
            format!("frame {} is {} and no plan any more", frame.label(), frame.status),
        )
        .with_hint("Only planned frames can be changed."));
    }
    Ok(frame)
}
