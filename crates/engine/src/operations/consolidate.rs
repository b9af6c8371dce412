//! Many finished frames become one.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::look::target;
use crate::consolidation::KEPT;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::operation::{Answer, Caller, Operate};

/// `stack_frame_consolidate`.
pub(crate) struct Consolidate;

/// Arguments of `stack_frame_consolidate`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConsolidateParams {
    /// Handle of the frame whose children are meant; default: the open one
    #[serde(alias = "sessionID")]
    frame: Option<String>,
    /// How many of the newest stay as they are; default 10
    keep: Option<u64>,
}

impl Operate for Consolidate {
    const NAME: &'static str = "stack_frame_consolidate";
    const SUMMARY: &'static str = "Put one frame in the place of a frame's finished children, except the \
        newest. They stay below it with their results and logs.";
    type Params = ConsolidateParams;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: ConsolidateParams,
    ) -> Result<Answer, EngineError> {
        let parent = target(engine, caller, params.frame.as_deref())?;
        let keep = params.keep.unwrap_or(KEPT);
        engine.idempotency.answering(caller, |change| {
            let Some(num) = engine.commands.consolidate_in(change, parent.num, keep)? else {
                return Err(EngineError {
                    kind: Kind::Conflict,
                    message: match keep {
                        0 => format!("{} has less than two finished children", parent.label()),
                        keep => format!(
                            "{} has less than two finished children besides the newest {keep}",
                            parent.label()
                        ),
                    },
                    hint: (keep > 0)
                        .then(|| "Give a smaller `keep` to take in newer ones.".to_owned()),
                });
            };
            let view = change.view();
            let frame = view.frame(num)?;
            let below = view.children(Some(num))?;
            let below: Vec<_> = below.iter().map(|child| child.num.to_string()).collect();
            Ok(Answer {
                title: format!("consolidated {}", below.len()),
                text: format!(
                    "{} stands for {} frames: {}.",
                    frame.label(),
                    below.len(),
                    below.join(", ")
                ),
                data: json!({"handle": num.to_string(), "id": frame.id, "consolidated": below}),
                ..Answer::default()
            })
        })
    }
}
