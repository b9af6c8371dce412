//! Operations that note something down in a frame.

use std::fmt::Write as _;

use callstack_core::decide::{Command, nearest_chosen};
use callstack_core::frame::{Artifact, FrameNum};
use callstack_core::text::estimate_tokens;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::begin::identity;
use crate::engine::Engine;
use crate::error::{EngineError, NAME_OR_PUSH};
use crate::operation::{Answer, Caller, Operate};

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
    type Params = DecisionParams;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: DecisionParams,
    ) -> Result<Answer, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let command = Command::AddDecision { frame, text: words("decision", params.decision)? };
        noted_down(engine, caller, &command, noted(frame, "decision"))
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
    type Params = ArtifactParams;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: ArtifactParams,
    ) -> Result<Answer, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let (path, hash) = engine.kernel.env().project_file(&words("artifact", params.artifact)?);
        let command = Command::AddArtifact { frame, artifact: Artifact { path, hash } };
        noted_down(engine, caller, &command, noted(frame, "artifact"))
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
    type Params = SetGoalParams;

    fn run(engine: &Engine, caller: &Caller, params: SetGoalParams) -> Result<Answer, EngineError> {
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
        let anew = params.current;
        let command = Command::SetIdentity { frame, identity, derived: false, anew };
        let text = format!("The goal of {frame} is set.");
        noted_down(engine, caller, &command, Answer { text, ..noted(frame, "goal") })
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

impl Operate for PinConstraint {
    const NAME: &'static str = "stack_pin";
    const SUMMARY: &'static str = "Pin a constraint: every frame below sees it word for word, and \
        nothing trims it.";
    type Params = PinParams;

    fn run(engine: &Engine, caller: &Caller, params: PinParams) -> Result<Answer, EngineError> {
        let frame = pinned_in(engine, caller, params.frame.as_deref())?;
        let text = words("pin", params.text)?;
        engine.idempotency.answering(caller, |change| {
            engine.commands.carry_out(change, &Command::Pin { frame, text: text.clone() })?;
            let view = change.view();
            let mut pins = view.frame(frame)?.pins;
            let set = pins.iter().find(|pin| pin.text == text).map(|pin| pin.num);
            pins.extend(view.ancestors(frame)?.into_iter().flat_map(|it| it.pins));
            let tokens = pins.iter().map(|pin| estimate_tokens(&pin.text)).sum();
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
    type Params = UnpinParams;

    fn run(engine: &Engine, caller: &Caller, params: UnpinParams) -> Result<Answer, EngineError> {
        let frame = pinned_in(engine, caller, params.frame.as_deref())?;
        let pin = params.pin.trim_start_matches('p').parse().map_err(|_| {
            EngineError::invalid(
                format!("`{}` is no pin", params.pin),
                "Pins are shown with their number, such as p3.",
            )
        })?;
        let text = format!("The pin p{pin} of {frame} holds no more.");
        let answer = Answer { text, ..noted(frame, "pin removed") };
        noted_down(engine, caller, &Command::Unpin { frame, pin }, answer)
    }
}

/// What is noted down, which has to say something.
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
        None => engine
            .active(&caller.session)?
            .ok_or_else(|| EngineError::invalid("no frame is open in this session", NAME_OR_PUSH)),
    }
}

/// The frame that a pin stands in. One that began by itself ends without anybody saying so: where none is named, it is
/// the nearest that somebody chose.
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

/// Carries out what is answered so.
fn noted_down(
    engine: &Engine,
    caller: &Caller,
    command: &Command,
    answer: Answer,
) -> Result<Answer, EngineError> {
    engine
        .idempotency
        .answering(caller, |change| engine.commands.carry_out(change, command).map(|_| answer))
}

/// What an agent is told of a pin that it has set in a frame, in which all pins take so many of a context's
/// tokens.
fn pinned(frame: FrameNum, num: Option<u64>, (tokens, budget): (usize, usize)) -> Answer {
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
    let data = json!({"frame": frame.to_string(), "pin": name});
    Answer { text, data, ..noted(frame, "pin") }
}

/// What an agent is told of something that it has noted down in a frame.
fn noted(frame: FrameNum, what: &str) -> Answer {
    let reach = if what == "decision" { ", for every frame below it" } else { "" };
    Answer {
        title: format!("{what} in {frame}"),
        text: format!("Noted in {frame}{reach}."),
        data: json!({"frame": frame.to_string()}),
        ..Answer::default()
    }
}
