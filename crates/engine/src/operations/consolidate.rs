//! The operation that replaces many finished frames with one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inspect::target;
use crate::call::Reply;
use crate::consolidation::KEPT;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};

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

/// The frame that replaces others.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct ConsolidateOutput {
    /// Handle such as f12
    handle: String,
    /// The frame's id
    id: String,
    /// Handles of the frames that it replaces
    consolidated: Vec<String>,
}

impl Operate for Consolidate {
    const NAME: &'static str = "stack_frame_consolidate";
    const SUMMARY: &'static str = "Put one frame in the place of a frame's finished children, except the \
        newest. They stay below it with their results and logs.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = ConsolidateParams;
    type Output = ConsolidateOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: ConsolidateParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let parent = target(engine, caller, params.frame.as_deref())?;
        let keep = params.keep.unwrap_or(KEPT);
        engine.idempotency.answering(caller, |change| {
            let Some(num) =
                engine.commands.consolidate_in(change, engine.kernel.now(), parent.num, keep)?
            else {
                let mut refused = EngineError::new(
                    Kind::Conflict,
                    match keep {
                        0 => format!("{} has less than two finished children", parent.label()),
                        keep => format!(
                            "{} has less than two finished children besides the newest {keep}",
                            parent.label()
                        ),
                    },
                );
                refused.hint =
                    (keep > 0).then(|| "Give a smaller `keep` to take in newer ones.".into());
                return Err(refused);
            };
            let view = change.view();
            let frame = view.frame(num)?;
            let below = view.children(Some(num))?;
            let below: Vec<_> = below.iter().map(|child| child.num.to_string()).collect();
            let count = below.len();
            let text =
                format!("{} stands for {count} frames: {}.", frame.label(), below.join(", "));
            let handle = num.to_string();
            let data = ConsolidateOutput { handle, id: frame.id, consolidated: below };
            Ok(Reply::new(format!("consolidated {count}"), text, data))
        })
    }
}
