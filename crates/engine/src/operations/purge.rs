//! The operation that removes the messages of a frame or a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Reply;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::operation::{Access, Caller, CallerKind, Operate, Repeated, TERMINAL_ONLY};
use crate::purge::{PurgeOutcome, PurgePlan};

/// `stack_purge`.
pub(crate) struct Purge;

/// Arguments of `stack_purge`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PurgeParams {
    /// A frame (handle such as f12, or the beginning of an id) or a session
    what: String,
    /// Only say what would go
    #[serde(default)]
    dry_run: bool,
    /// Refuse if there are more messages than these, such as a dry run counted
    at_most: Option<u64>,
    /// On whose behalf; default: a person at a terminal
    by: Option<String>,
}

/// The plan of a purge, or its outcome.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PurgeOutput {
    Plan(PurgePlan),
    Outcome(PurgeOutcome),
}

impl Operate for Purge {
    const NAME: &'static str = "stack_purge";
    const SUMMARY: &'static str = "Remove the messages of a frame or a session for good, with what was \
        derived from them.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = PurgeParams;
    type Output = PurgeOutput;

    fn run(
        engine: &Engine,
        _: &Caller,
        params: PurgeParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let plan = engine.purge_plan(&params.what)?;
        let title = format!("purge of {}", plan.what);
        let (messages, what) = (plan.messages, plan.what.clone());
        if params.dry_run {
            let text = format!("Would remove {messages} messages of {what}.");
            return Ok(Reply::new(title, text, PurgeOutput::Plan(plan)));
        }
        if let Some(most) = params.at_most.filter(|most| messages > *most) {
            return Err(EngineError::new(
                Kind::Conflict,
                format!("{what} has {messages} messages by now, and {most} were to go"),
            )
            .with_hint("Nothing was removed. Look at it again."));
        }
        let by = params.by.unwrap_or_else(|| "a person at a terminal".to_owned());
        let outcome = engine.purge(plan, &by)?;
        let text = format!("Removed {messages} messages of {what}.");
        Ok(Reply::new(title, text, PurgeOutput::Outcome(outcome)))
    }
}
