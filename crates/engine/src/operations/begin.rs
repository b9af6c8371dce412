//! Operations that begin work in a frame.

use callstack_core::decide;
use callstack_core::frame::{Frame, FrameNum, Identity, Status, given};
use callstack_store::Change;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::call::Reply;
use crate::dense::compact;
use crate::effect::EffectOutcome;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::hint::Hint;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::operations::plan::parent_of_plans;
use crate::outputs::{Begun, BegunFrame};
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
    #[serde(alias = "criteria")]
    success_criteria: String,
    /// The same, dense
    #[schemars(extend("x-full" = true))]
    success_criteria_compacted: Option<String>,
    /// Default here; see `stack_frame_activate`
    #[serde(rename = "in")]
    #[schemars(extend("x-folding" = true))]
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
    /// Returns where a frame is worked on: as the caller wishes, else as is usual. If another session was wished for
    /// and can't be had, also returns why.
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

/// Returns the answer of a frame's beginning, with the reason if it was begun here although the call's arguments ask
/// for another session.
pub(crate) fn begun_here(
    engine: &Engine,
    caller: &Caller,
    arguments: &Value,
    begun: Reply<BegunFrame>,
) -> Result<Reply<BegunFrame>, EngineError> {
    let wish = Option::<Where>::deserialize(&arguments["in"]).unwrap_or_default();
    let sessions = engine.current_settings()?.sessions;
    let (_, why) = Where::settled(sessions, caller, wish, Where::Here);
    Ok(with_reason(engine, begun, why))
}

/// Adds to an answer the reason why the caller itself works on the frame although another session was asked for.
fn with_reason(
    engine: &Engine,
    mut begun: Reply<BegunFrame>,
    why: Option<&str>,
) -> Reply<BegunFrame> {
    if let Some(why) = why {
        let why = engine.dialect().of_variable(why);
        begun.append(&format!("It is worked on in this session: {why}."));
        if let Some(frame) = &mut begun.data {
            frame.in_place = Some(why.into_owned());
        }
    }
    begun
}

impl Operate for Push {
    const NAME: &'static str = "stack_frame_push";
    const SUMMARY: &'static str = "Open a child frame for a subtask and work in it. Its steps leave \
        your context when you pop it; what you return stays.";
    const SUMMARY_UNFOLDED: &'static str = "Open a child frame for a subtask and work in it. What you \
        return when you pop it is kept; its steps stay in this conversation.";
    const LISTED: bool = true;
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Span;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = PushParams;
    type Output = Begun;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: PushParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
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
            return Ok(engine.delegation.delegate_new(caller, child)?.map(Begun::Elsewhere));
        }
        let answer = engine.lifecycle.begin(caller, true, |world| {
            decide::Command::Push(decide::Push {
                session: caller.session.clone(),
                anchor: caller.anchor.clone(),
                identity,
                id: world.id("frm-"),
            })
        })?;
        Ok(with_reason(engine, answer, why).map(Begun::Here))
    }

    fn resume(
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Reply<Self::Output>, EngineError> {
        Ok(engine.delegation.delegation_goes_on(caller, token, outcome)?.map(Begun::Elsewhere))
    }
}

/// `stack_frame_activate`.
pub(crate) struct Activate;

/// Arguments of `stack_frame_activate`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActivateParams {
    /// Handle such as f12; default: the next planned one
    #[serde(alias = "sessionID")]
    frame: Option<String>,
    /// Read by whoever works on the frame, when it begins, behind the context of its plan: what was found since, and
    /// for another session all that it needs of this conversation
    context: Option<String>,
    /// Default here. `session`: another session works on it while this call waits for its results. It is
    /// given goals, pins, decisions and results around the frame, and nothing of this conversation beside
    /// `context`. Choose it for work that needs little of what you have seen. Such calls side by
    /// side run at once
    #[serde(rename = "in")]
    #[schemars(extend("x-folding" = true))]
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
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Span;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = ActivateParams;
    type Output = Begun;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: ActivateParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = match &params.frame {
            Some(frame) => engine.resolve(frame)?,
            None => next_planned(engine, caller)?,
        };
        // A blocked frame is resumed in the session that worked on it.
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
            return Ok(engine.delegation.delegate(caller, frame.num)?.map(Begun::Elsewhere));
        }
        let answer = engine.lifecycle.begin(caller, false, |world| {
            decide::Command::Activate(decide::Activate {
                frame: frame.num,
                session: caller.session.clone(),
                anchor: caller.anchor.clone(),
                id: world.id("frm-"),
            })
        })?;
        Ok(with_reason(engine, answer, why).map(Begun::Here))
    }

    fn resume(
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Reply<Self::Output>, EngineError> {
        Ok(engine.delegation.delegation_goes_on(caller, token, outcome)?.map(Begun::Elsewhere))
    }
}

/// Returns the first frame that is planned where the session plans, or else around that. So a plan and the beginning of
/// its first frame, or a pop and that of the next one, take one step.
fn next_planned(engine: &Engine, caller: &Caller) -> Result<Frame, EngineError> {
    let place = parent_of_plans(engine, caller)?;
    let next = engine.kernel.read(|view| {
        let around = place.map_or(Ok(Vec::new()), |place| view.ancestors(place))?;
        for frame in std::iter::once(place).chain(around.into_iter().map(|it| Some(it.num))) {
            if let Some(first) = view.children_with(frame, Status::Planned, 1)?.pop() {
                return Ok::<_, EngineError>(Some(first));
            }
        }
        Ok(None)
    })?;
    next.ok_or_else(|| {
        EngineError::invalid(
            "no frame is planned here",
            Hint::from("Plan frames with ")
                .and("stack_frame_plan")
                .then(", or open one with ")
                .and("stack_frame_push")
                .then("."),
        )
    })
}

/// `stack_frame_reopen`.
pub(crate) struct Reopen;

impl Operate for Reopen {
    const NAME: &'static str = "stack_frame_reopen";
    const SUMMARY: &'static str =
        "Open a completed, failed or invalidated frame again and work in it.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Span;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = FrameParams;
    type Output = BegunFrame;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: FrameParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
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

/// Records facts as a decision of a frame, for the agent that works on it. Blank facts are ignored.
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

/// Returns a frame's identity from arguments; a dense version that was not given is made from the whole one. Fails if
/// the title is empty, or if an agent gives no success criteria. People may leave the criteria out.
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
