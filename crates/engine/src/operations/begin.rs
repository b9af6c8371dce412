//! Operations with which work in a frame begins.

use callstack_core::decide;
use callstack_core::frame::{FrameNum, Identity, given};
use callstack_store::Change;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::dense::compact;
use crate::effect::EffectOutcome;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Answer, Caller, Operate};
use crate::settings::FrameSessions;

/// `stack_frame_push`.
pub(crate) struct Push;

/// Arguments of `stack_frame_push`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PushParams {
    /// 2-5 words
    title: String,
    /// What "done" means, so that it can be checked
    success_criteria: String,
    /// The same, dense
    #[schemars(extend("x-full" = true))]
    success_criteria_compacted: Option<String>,
    /// Default here; see `stack_frame_activate`
    #[serde(rename = "in")]
    place: Option<Where>,
}

/// Which session works on a frame: one of its own, for which the caller waits, or the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Where {
    Session,
    Here,
}

impl Where {
    /// Where a frame is worked on by the caller's wish, else as is usual. With why not as wished.
    fn settled(
        sessions: FrameSessions,
        caller: &Caller,
        wish: Option<Self>,
        usual: Self,
    ) -> (Self, Option<&'static str>) {
        let why = if sessions == FrameSessions::Never {
            "STACK_FRAME_SESSIONS is `never`"
        } else if !caller.performs {
            "there is no agent's program here that could run another one"
        } else {
            return (wish.unwrap_or(usual), None);
        };
        (Self::Here, Some(why).filter(|_| wish == Some(Self::Session)))
    }
}

/// The answer of a frame's beginning, with why it was begun here although the call's arguments say
/// otherwise.
pub(crate) fn begun_here(
    engine: &Engine,
    caller: &Caller,
    arguments: &Value,
    begun: Answer,
) -> Result<Answer, EngineError> {
    let wish = Option::<Where>::deserialize(&arguments["in"]).unwrap_or_default();
    let sessions = engine.current_settings()?.sessions;
    let (_, why) = Where::settled(sessions, caller, wish, Where::Here);
    Ok(told_why(engine, begun, why))
}

/// An answer that says why the work is to be done by the caller although another session was asked for.
fn told_why(engine: &Engine, mut answer: Answer, why: Option<&str>) -> Answer {
    if let Some(why) = why {
        let why = &*engine.dialect().of_variable(why);
        answer.data["inPlace"] = why.into();
        answer.text =
            format!("{}\nIt is worked on in this session: {why}.\n", answer.text.trim_end());
    }
    answer
}

impl Operate for Push {
    const NAME: &'static str = "stack_frame_push";
    const SUMMARY: &'static str = "Open a child frame for a subtask and work in it. Its steps leave \
        your context when you pop it; what you return stays.";
    const LISTED: bool = true;
    type Params = PushParams;

    fn run(engine: &Engine, caller: &Caller, params: PushParams) -> Result<Answer, EngineError> {
        let identity = identity(
            caller,
            &params.title,
            params.success_criteria,
            params.success_criteria_compacted,
        )?;
        engine.lifecycle.open_session(caller)?;
        let sessions = engine.current_settings()?.sessions;
        let usual = match sessions {
            FrameSessions::Always => Where::Session,
            FrameSessions::Asked | FrameSessions::Activate | FrameSessions::Never => Where::Here,
        };
        let (place, why) = Where::settled(sessions, caller, params.place, usual);
        if place == Where::Session {
            let id = engine.world().id("plan-");
            let child = decide::PlannedChild { id, identity, children: Vec::new() };
            return engine.delegation.delegate_new(caller, child);
        }
        let answer = engine.lifecycle.begin(caller, true, |world| {
            decide::Command::Push(decide::Push {
                session: caller.session.clone(),
                anchor: caller.anchor.clone(),
                identity,
                id: world.id("frm-"),
            })
        })?;
        Ok(told_why(engine, answer, why))
    }

    fn resume(
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Answer, EngineError> {
        engine.delegation.errand_goes_on(caller, token, outcome)
    }
}

/// `stack_frame_activate`.
pub(crate) struct Activate;

/// Arguments of `stack_frame_activate`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActivateParams {
    /// Handle such as f12
    #[serde(alias = "sessionID")]
    frame: String,
    /// Read by whoever works on the frame, when it begins, behind the context of its plan: what was found since, and
    /// for another session all that it needs of this conversation
    context: Option<String>,
    /// Default here. `session`: another session works on it while this call waits for its results. It is
    /// given goals, pins, decisions and results around the frame, and nothing of this conversation beside
    /// `context`. Choose it for work that needs little of what you have seen. Such calls side by
    /// side run at once
    #[serde(rename = "in")]
    place: Option<Where>,
}

/// Arguments of `stack_frame_reopen`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrameParams {
    /// Handle such as f12
    #[serde(alias = "sessionID")]
    pub(super) frame: String,
}

impl Operate for Activate {
    const NAME: &'static str = "stack_frame_activate";
    const SUMMARY: &'static str = "Start a planned frame, or take up a blocked one, and work on it until \
        you pop it.";
    const LISTED: bool = true;
    type Params = ActivateParams;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: ActivateParams,
    ) -> Result<Answer, EngineError> {
        let frame = engine.resolve(&params.frame)?;
        // What was blocked is taken up where it was worked on.
        let sessions = engine.current_settings()?.sessions;
        let has_session = frame.session.is_some() && !engine.queries.worked_in_place(&frame)?;
        let usual = match sessions {
            FrameSessions::Asked if !has_session => Where::Here,
            FrameSessions::Activate if engine.queries.worked_in_place(&frame)? => Where::Here,
            _ => Where::Session,
        };
        let (place, why) = Where::settled(sessions, caller, params.place, usual);
        if let Some(context) = params.context {
            engine.kernel.write(|change| give(engine, change, frame.num, &context))?;
        }
        if place == Where::Session {
            return engine.delegation.delegate(caller, frame.num);
        }
        let answer = engine.lifecycle.begin(caller, false, |world| {
            decide::Command::Activate(decide::Activate {
                frame: frame.num,
                session: caller.session.clone(),
                anchor: caller.anchor.clone(),
                id: world.id("frm-"),
            })
        })?;
        Ok(told_why(engine, answer, why))
    }

    fn resume(
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Answer, EngineError> {
        engine.delegation.errand_goes_on(caller, token, outcome)
    }
}

/// `stack_frame_reopen`.
pub(crate) struct Reopen;

impl Operate for Reopen {
    const NAME: &'static str = "stack_frame_reopen";
    const SUMMARY: &'static str =
        "Open a completed, failed or invalidated frame again and work in it.";
    type Params = FrameParams;

    fn run(engine: &Engine, caller: &Caller, params: FrameParams) -> Result<Answer, EngineError> {
        let frame = engine.resolve(&params.frame)?;
        engine.lifecycle.begin(caller, false, |_| {
            decide::Command::Reopen(decide::Reopen {
                frame: frame.num,
                session: caller.session.clone(),
                anchor: caller.anchor.clone(),
            })
        })
    }
}

/// Keeps facts with a frame for whoever works on it; blank ones are none.
pub(super) fn give(
    engine: &Engine,
    change: &mut Change<'_>,
    frame: FrameNum,
    facts: &str,
) -> Result<(), EngineError> {
    if let Some(text) = given(facts) {
        engine.commands.carry_out(change, &decide::Command::AddDecision { frame, text })?;
    }
    Ok(())
}

/// An identity from arguments; a dense version that was not given is made from the whole one. An agent says what
/// "done" means; people may leave it to the title.
pub(super) fn identity(
    caller: &Caller,
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
    if success_criteria.trim().is_empty() && caller.anchor.call.is_some() {
        return Err(EngineError::invalid(
            format!("the success criteria of \"{title}\" are empty"),
            "Say what \"done\" means, so that it can be checked.",
        ));
    }
    let success_criteria_compacted = compacted
        .filter(|text| !text.trim().is_empty())
        .unwrap_or_else(|| compact(&success_criteria));
    Ok(Identity { title, success_criteria, success_criteria_compacted })
}
