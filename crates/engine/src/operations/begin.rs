//! Operations with which work in a frame begins.

use callstack_core::decide;
use callstack_core::frame::Identity;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Answer, Caller, Operate};

/// `stack_frame_push`.
pub(crate) struct Push;

/// Arguments of `stack_frame_push`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PushParams {
    /// 2-5 words
    title: String,
    /// What "done" means, verifiable
    success_criteria: String,
    /// The same, dense
    success_criteria_compacted: Option<String>,
}

impl Operate for Push {
    const NAME: &'static str = "stack_frame_push";
    const SUMMARY: &'static str = "Open a child frame for a subtask and work in it. Its steps leave \
        your context when you pop it; its results stay.";
    const LISTED: bool = true;
    type Params = PushParams;

    fn run(engine: &Engine, caller: &Caller, params: PushParams) -> Result<Answer, EngineError> {
        let identity =
            identity(&params.title, params.success_criteria, params.success_criteria_compacted)?;
        engine.open_session(caller)?;
        engine.begin(caller, |world| {
            decide::Command::Push(decide::Push {
                session: caller.session.clone(),
                anchor: caller.anchor.clone(),
                identity,
                id: world.id("frm-"),
            })
        })
    }
}

/// `stack_frame_activate`.
pub(crate) struct Activate;

/// Arguments of `stack_frame_activate` and `stack_frame_reopen`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrameParams {
    /// Handle such as f12
    #[serde(alias = "sessionID")]
    frame: String,
}

impl Operate for Activate {
    const NAME: &'static str = "stack_frame_activate";
    const SUMMARY: &'static str = "Start work in a planned frame, or take up a blocked one.";
    const LISTED: bool = true;
    type Params = FrameParams;

    fn run(engine: &Engine, caller: &Caller, params: FrameParams) -> Result<Answer, EngineError> {
        let frame = engine.resolve(&params.frame)?;
        engine.begin(caller, |world| {
            decide::Command::Activate(decide::Activate {
                frame: frame.num,
                session: caller.session.clone(),
                anchor: caller.anchor.clone(),
                id: world.id("frm-"),
            })
        })
    }
}

/// `stack_frame_reopen`.
pub(crate) struct Reopen;

impl Operate for Reopen {
    const NAME: &'static str = "stack_frame_reopen";
    const SUMMARY: &'static str = "Bring a completed, failed or invalidated frame back.";
    type Params = FrameParams;

    fn run(engine: &Engine, caller: &Caller, params: FrameParams) -> Result<Answer, EngineError> {
        let frame = engine.resolve(&params.frame)?;
        engine.begin(caller, |_| {
            decide::Command::Reopen(decide::Reopen {
                frame: frame.num,
                session: caller.session.clone(),
                anchor: caller.anchor.clone(),
            })
        })
    }
}

/// An identity from arguments; a dense version that was not given is made from the whole one.
pub(super) fn identity(
    title: &str,
    success_criteria: String,
    compacted: Option<String>,
) -> Result<Identity, EngineError> {
    let title = title.trim().to_owned();
    if title.is_empty() {
        return Err(EngineError::invalid(
            "the title is empty",
            "Give the frame a name of two to five words.",
        ));
    }
    let success_criteria_compacted = compacted
        .filter(|text| !text.trim().is_empty())
        .unwrap_or_else(|| compact(&success_criteria));
    Ok(Identity { title, success_criteria, success_criteria_compacted })
}

/// Tokens of a dense version that nobody wrote.
const COMPACT: usize = 60;

pub(super) fn compact(text: &str) -> String {
    callstack_core::text::truncate_to_token_budget(text, COMPACT, " …").into_owned()
}
