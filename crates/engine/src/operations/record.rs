//! Operations that record something in a frame.

use std::fmt::Write as _;

use callstack_core::decide::{Command, nearest_chosen};
use callstack_core::frame::{Artifact, FrameNum};
use callstack_core::text::estimate_tokens;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::begin::identity;
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::{EngineError, name_or_push};
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};

/// The frame in which something was recorded.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct NotedOutput {
    /// Handle of the frame
    frame: String,
}

impl NotedOutput {
    fn of(frame: FrameNum) -> Self {
        Self { frame: frame.to_string() }
    }
}

/// `stack_add_decision`.
pub(crate) struct AddDecision;

/// Arguments of `stack_add_decision`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionParams {
    /// What was decided, and why
    decision: String,
    #[schemars(skip)]
    #[serde(alias = "sessionID")]
    frame: Option<String>,
}

impl Operate for AddDecision {
    const NAME: &'static str = "stack_add_decision";
    const SUMMARY: &'static str = "Record a decision that others must follow, when you take it. It holds \
        in frames below, and stands in what the frame returns.";
    const LISTED: bool = true;
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = DecisionParams;
    type Output = NotedOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: DecisionParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let command = Command::AddDecision { frame, text: words("decision", params.decision)? };
        let parent = engine.kernel.read(|view| Ok::<_, EngineError>(view.frame(frame)?.parent))?;
        let reach = match parent {
            Some(parent) => {
                format!(", for every frame below {parent}, also after {frame} has ended")
            }
            None => ", for every frame below it".to_owned(),
        };
        noted_down(engine, caller, &command, noted(frame, "decision", &reach))
    }
}

/// `stack_add_artifact`.
pub(crate) struct AddArtifact;

/// Arguments of `stack_add_artifact`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArtifactParams {
    /// Path or name of what was produced
    artifact: String,
    /// Handle; default: the open frame
    #[serde(alias = "sessionID")]
    frame: Option<String>,
}

impl Operate for AddArtifact {
    const NAME: &'static str = "stack_add_artifact";
    const SUMMARY: &'static str = "Record a file or other resource that a frame produced. Files that \
        you write or edit are recorded by themselves.";
    const SUMMARY_UNFOLDED: &'static str = "Record a file or other resource that a frame produced, also \
        one that you wrote or edited.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = ArtifactParams;
    type Output = NotedOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: ArtifactParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let (path, hash) = engine.kernel.env().project_file(&words("artifact", params.artifact)?);
        let command = Command::AddArtifact { frame, artifact: Artifact { path, hash } };
        noted_down(engine, caller, &command, noted(frame, "artifact", ""))
    }
}

/// `stack_set_goal`.
pub(crate) struct SetGoal;

/// Arguments of `stack_set_goal`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SetGoalParams {
    /// 2-5 words
    title: String,
    /// What "done" means
    #[serde(alias = "criteria")]
    success_criteria: String,
    /// The same, dense
    #[schemars(extend("x-full" = true))]
    success_criteria_compacted: Option<String>,
    /// Handle; default: the session's root
    frame: Option<String>,
    /// Means the open frame, whether its goal is a guess or not.
    #[schemars(skip)]
    #[serde(default)]
    current: bool,
}

impl Operate for SetGoal {
    const NAME: &'static str = "stack_set_goal";
    const SUMMARY: &'static str = "Set title and criteria of a session's root frame, which are taken \
        from the user's first words until then. Those of other frames are fixed.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = SetGoalParams;
    type Output = NotedOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: SetGoalParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = match &params.frame {
            Some(reference) => engine.resolve(reference)?.num,
            None if params.current => target(engine, caller, None)?,
            None => engine.queries.session_root(&caller.session)?,
        };
        let identity = identity(
            caller,
            &params.title,
            params.success_criteria,
            params.success_criteria_compacted,
        )?;
        let again = params.current;
        let command = Command::SetIdentity { frame, identity, derived: false, again };
        let text = format!("The goal of {frame} is set.");
        noted_down(
            engine,
            caller,
            &command,
            Reply::new(format!("goal in {frame}"), text, NotedOutput::of(frame)),
        )
    }
}

/// `stack_pin`.
pub(crate) struct PinConstraint;

/// Arguments of `stack_pin`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PinParams {
    /// The constraint, word for word
    text: String,
    /// Handle of the frame below which it holds; default: the open frame
    frame: Option<String>,
}

/// A pin that was set.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct PinOutput {
    /// Handle of the frame that it stands in
    frame: String,
    /// Its number, such as p3
    pin: Option<String>,
}

impl Operate for PinConstraint {
    const NAME: &'static str = "stack_pin";
    const SUMMARY: &'static str = "Pin a constraint: every frame below sees it word for word, and \
        nothing trims it.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = PinParams;
    type Output = PinOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: PinParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = pinned_in(engine, caller, params.frame.as_deref())?;
        let text = words("pin", params.text)?;
        engine.idempotency.answering(caller, |change| {
            engine.commands.carry_out(change, &Command::Pin { frame, text: text.clone() })?;
            let view = change.view();
            let pinned_in = view.frame(frame)?;
            let mut pins = pinned_in.pins;
            let set = pins.iter().find(|pin| pin.text == text).map(|pin| pin.num);
            pins.extend(view.ancestors(frame)?.into_iter().flat_map(|it| it.pins));
            let tokens = pins.iter().map(|pin| estimate_tokens(&pin.text)).sum();
            if pinned_in.status.is_finished() {
                return Ok(pinned_too_late(frame, set));
            }
            Ok(pinned(frame, set, (tokens, engine.kernel.settings_in(&view)?.budget.total)))
        })
    }
}

/// `stack_unpin`.
pub(crate) struct Unpin;

/// Arguments of `stack_unpin`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnpinParams {
    /// Number of the pin, such as p3
    pin: String,
    /// Handle of the frame that it stands in; default: the open frame
    frame: Option<String>,
}

impl Operate for Unpin {
    const NAME: &'static str = "stack_unpin";
    const SUMMARY: &'static str = "Take a pinned constraint back.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = UnpinParams;
    type Output = NotedOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: UnpinParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = pinned_in(engine, caller, params.frame.as_deref())?;
        let pin = params.pin.trim_start_matches('p').parse().map_err(|_| {
            EngineError::invalid(
                format!("`{}` is no pin", params.pin),
                "Pins are shown with their number, such as p3.",
            )
        })?;
        let text = format!("The pin p{pin} of {frame} holds no more.");
        let answer = Reply::new(format!("pin removed in {frame}"), text, NotedOutput::of(frame));
        noted_down(engine, caller, &Command::Unpin { frame, pin }, answer)
    }
}

/// Returns a text to be recorded. Fails if it is blank.
fn words(what: &str, text: String) -> Result<String, EngineError> {
    if text.trim().is_empty() {
        return Err(EngineError::invalid(format!("the {what} is empty"), "Say it in words."));
    }
    Ok(text)
}

fn target(
    engine: &Engine,
    caller: &Caller,
    reference: Option<&str>,
) -> Result<FrameNum, EngineError> {
    match reference {
        Some(reference) => Ok(engine.resolve(reference)?.num),
        None => engine.active(&caller.session)?.ok_or_else(|| {
            EngineError::invalid("no frame is open in this session", name_or_push())
        }),
    }
}

/// Returns the frame of a pin. If none is named, this is the nearest one that somebody chose: a frame that began by
/// itself also ends by itself, and its pins with it.
fn pinned_in(
    engine: &Engine,
    caller: &Caller,
    reference: Option<&str>,
) -> Result<FrameNum, EngineError> {
    let frame = target(engine, caller, reference)?;
    if reference.is_some() {
        return Ok(frame);
    }
    let chosen =
        engine.kernel.read(|view| Ok::<_, EngineError>(nearest_chosen(view, Some(frame))?))?;
    Ok(chosen.unwrap_or(frame))
}

/// Carries out a command and returns its answer, which is stored for a repeated call.
fn noted_down(
    engine: &Engine,
    caller: &Caller,
    command: &Command,
    answer: Reply<NotedOutput>,
) -> Result<Reply<NotedOutput>, EngineError> {
    engine
        .idempotency
        .answering(caller, |change| engine.commands.carry_out(change, command).map(|_| answer))
}

/// Returns the answer for a pin that was set in a frame that is over.
fn pinned_too_late(frame: FrameNum, num: Option<u64>) -> Reply<PinOutput> {
    let name = num.map(|num| format!("p{num}"));
    let number = name.as_ref().map_or_else(String::new, |name| format!(" as {name}"));
    let text = format!(
        "Pinned{number} in {frame}, which is over: it holds only if {frame} is opened again. Pin it in the open frame, \
         or in one around that."
    );
    Reply::new(format!("pin in {frame}"), text, PinOutput { frame: frame.to_string(), pin: name })
}

/// Returns the answer for a pin that was set in a frame, given the tokens that all pins take there and the budget of a
/// context.
fn pinned(frame: FrameNum, num: Option<u64>, (tokens, budget): (usize, usize)) -> Reply<PinOutput> {
    let name = num.map(|num| format!("p{num}"));
    let number = name.as_ref().map_or_else(String::new, |name| format!(" as {name}"));
    let mut text = format!(
        "Pinned{number}: it holds in {frame} and in every frame below, until {frame} ends."
    );
    if tokens > budget / 2 {
        // Writing to a string can't fail.
        let _ = write!(
            text,
            " The pins that hold there take about {tokens} of the {budget} tokens of a context: they \
             are told whole, and all else is shortened."
        );
    }
    let data = PinOutput { frame: frame.to_string(), pin: name };
    Reply::new(format!("pin in {frame}"), text, data)
}

/// Returns the answer for something that was recorded in a frame.
fn noted(frame: FrameNum, what: &str, reach: &str) -> Reply<NotedOutput> {
    let text = format!("Noted in {frame}{reach}.");
    Reply::new(format!("{what} in {frame}"), text, NotedOutput::of(frame))
}
