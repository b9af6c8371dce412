//! A frame that is to end by a call that gives no results: they are made, and the call may wait for a
//! model that makes them.

use callstack_core::decide::Pop;
use callstack_core::dialect::Dialect;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::results::ResultsSource;
use callstack_core::transcript::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::compaction;
use super::end::end_with;
use crate::effect::{Effect, EffectOutcome, Next};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::generator::{AGAIN, Asking, Making};
use crate::operation::{Answer, Caller};

/// What is waited for.
#[derive(Deserialize, Serialize)]
struct Waiting {
    frame: FrameNum,
    status: Status,
    /// Why the host's compaction that was to give a summary did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instead_of: Option<String>,
    #[serde(flatten)]
    asking: Asking,
}

/// Ends a frame, the session's active one if none is named, with results that are made.
pub(super) fn end_unsaid(
    engine: &Engine,
    caller: &Caller,
    named: Option<Frame>,
    status: Status,
) -> Result<Answer, EngineError> {
    // What can't end is refused before anybody is asked for its results.
    let frame = engine.lifecycle.check_end(Pop {
        session: caller.session.clone(),
        frame: named.map(|frame| frame.num),
        anchor: caller.anchor.clone(),
        outcome: Outcome::without_results(status),
    })?;
    let making = engine.results.make_results(&frame, status, caller.performs)?;
    go_on(engine, caller, &frame, status, None, making)
}

/// The same for the frame of a session whose host can't compact it, for the reason that is given.
pub(super) fn end_uncompacted(
    engine: &Engine,
    caller: &Caller,
    frame: &Frame,
    status: Status,
    why: &str,
) -> Result<Answer, EngineError> {
    let making = engine.results.make_results(frame, status, caller.performs)?;
    go_on(engine, caller, frame, status, Some(why.to_owned()), making)
}

/// Goes on after a while of waiting; none where the token is not one of ours.
pub(super) fn resume(
    engine: &Engine,
    caller: &Caller,
    token: &Value,
    outcome: &EffectOutcome,
) -> Option<Result<Answer, EngineError>> {
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
    making: Making,
) -> Result<Answer, EngineError> {
    let made = match making {
        Making::Made(made) => Some(made),
        Making::Nothing => None,
        Making::Asked(asking) => {
            let token = json!(Waiting { frame: frame.num, status, instead_of, asking });
            let next = Some(Next { effect: Effect::Wait { ms: AGAIN }, token });
            return Ok(Answer { title: frame.label(), next, ..Answer::default() });
        }
    };
    let failure = made.as_ref().and_then(|made| made.failure.clone());
    let mut answer = match (instead_of, made) {
        (Some(why), made) => compaction::gave_up(engine, caller, &why, made.as_ref())?,
        (None, Some(made)) => {
            let outcome = Outcome::with(status, made.results, None, made.source);
            end_with(engine, caller, Some(frame), outcome)?
        }
        // There a summary may always be left out.
        (None, None) if engine.dialect() == Dialect::Flame => {
            let words = "No summary was given.".to_owned();
            let outcome = Outcome::with(status, words, None, ResultsSource::Callstack);
            end_with(engine, caller, Some(frame), outcome)?
        }
        // There is nothing that they could be extracted from either.
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
        answer.text = format!(
            "{}\n(The model that was to write the results did not: {failure}.)\n",
            answer.text.trim_end()
        );
        answer.data["summarizerFailure"] = failure.into();
    }
    Ok(answer)
}
