//! The end of a frame by a call that gives no results: they are made, and the call may wait for a model that makes
//! them.

use callstack_core::decide::Pop;
use callstack_core::dialect::Dialect;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::results::ResultsSource;
use callstack_core::transcript::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::compaction;
use super::end::{PopOutput, end_with};
use crate::call::Reply;
use crate::effect::{Effect, EffectOutcome, Next};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::generator::{AGAIN, Asking, Generation};
use crate::operation::Caller;

/// The token of a call that waits for results.
#[derive(Deserialize, Serialize)]
struct Waiting {
    frame: FrameNum,
    status: Status,
    /// The reason why the host's compaction, which was to give a summary, did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instead_of: Option<String>,
    #[serde(flatten)]
    asking: Asking,
}

/// Ends a frame, the session's active one if none is named, with results that are made.
pub(super) fn end_without_results(
    engine: &Engine,
    caller: &Caller,
    named: Option<Frame>,
    status: Status,
) -> Result<Reply<PopOutput>, EngineError> {
    // A frame that can't end is refused before a model is asked for its results.
    let frame = engine.lifecycle.check_end(Pop {
        session: caller.session.clone(),
        frame: named.map(|frame| frame.num),
        anchor: caller.anchor.clone(),
        outcome: Outcome::without_results(status),
    })?;
    let making = engine.results.make_results(&frame, status, caller.performs)?;
    go_on(engine, caller, &frame, status, None, making)
}

/// Ends a frame with results that are made, because its session's host can't compact, for the reason `why`.
pub(super) fn end_uncompacted(
    engine: &Engine,
    caller: &Caller,
    frame: &Frame,
    status: Status,
    why: &str,
) -> Result<Reply<PopOutput>, EngineError> {
    let making = engine.results.make_results(frame, status, caller.performs)?;
    go_on(engine, caller, frame, status, Some(why.to_owned()), making)
}

/// Continues a call that has waited for results; `None` if the token is not one of such a call.
pub(super) fn resume(
    engine: &Engine,
    caller: &Caller,
    token: &Value,
    outcome: &EffectOutcome,
) -> Option<Result<Reply<PopOutput>, EngineError>> {
    let waiting: Waiting = serde_json::from_value(token.clone()).ok()?;
    let Waiting { frame, status, instead_of, asking } = waiting;
    if matches!(outcome, EffectOutcome::Error { aborted: true, .. }) {
        engine.results.making_stopped(&asking);
        return Some(compaction::cancelled(engine, caller));
    }
    let goes_on = || {
        let frame = engine.frame(frame)?;
        let making = engine.results.making_goes_on(&frame, status, asking)?;
        go_on(engine, caller, &frame, status, instead_of, making)
    };
    Some(goes_on())
}

fn go_on(
    engine: &Engine,
    caller: &Caller,
    frame: &Frame,
    status: Status,
    instead_of: Option<String>,
    making: Generation,
) -> Result<Reply<PopOutput>, EngineError> {
    let made = match making {
        Generation::Done(made) => Some(made),
        Generation::Nothing => None,
        Generation::Asked(asking) => {
            let token = json!(Waiting { frame: frame.num, status, instead_of, asking });
            let next = Next { effect: Effect::Wait { ms: AGAIN }, token };
            return Ok(Reply::waiting(frame.label(), next));
        }
    };
    let failure = made.as_ref().and_then(|made| made.failure.clone());
    let mut answer = match (instead_of, made) {
        (Some(why), made) => compaction::gave_up(engine, caller, &why, made.as_ref())?,
        (None, Some(made)) => {
            let outcome = Outcome::with(status, made.results, None, made.source);
            end_with(engine, caller, Some(frame), outcome)?
        }
        // In the Flame dialect a summary may always be left out.
        (None, None) if engine.dialect() == Dialect::Flame => {
            let words = "No summary was given.".to_owned();
            let outcome = Outcome::with(status, words, None, ResultsSource::Callstack);
            end_with(engine, caller, Some(frame), outcome)?
        }
        // Nor is there anything that results could be extracted from.
        (None, None) => {
            return Err(EngineError::invalid(
                format!(
                    "no results were given, and nothing was recorded in {} that they could be made of",
                    frame.num
                ),
                "Say in `results` what was done and what later work needs to know.",
            ));
        }
    };
    if let Some(failure) = failure {
        answer.append(&format!("(The model that was to write the results did not: {failure}.)"));
        if let Some(frame) = &mut answer.data {
            frame.summarizer_failure = Some(failure);
        }
    }
    Ok(answer.map(PopOutput::Ended))
}
