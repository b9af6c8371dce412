//! Operations that end a frame.

use callstack_core::decide::{self, Command, Decision, Neighbourhood as _, nearest_chosen};
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::returned::{nothing_open, open_now};
use callstack_core::transcript::Outcome;
use callstack_store::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::compaction::{self, end_with_summary};
use super::missing_results::{self, end_without_results};
use super::since::pop_since;
use crate::call::Reply;
use crate::compaction::Ending;
use crate::effect::EffectOutcome;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, HostKind, Operate, Repeated};
use crate::outputs::{AwaitedSummary, EndedFrame};

/// `stack_frame_pop`.
pub(crate) struct Pop;

/// How a frame may end by a pop.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PopStatus {
    #[default]
    Completed,
    Failed,
    Blocked,
}

impl From<PopStatus> for Status {
    fn from(status: PopStatus) -> Self {
        match status {
            PopStatus::Completed => Self::Completed,
            PopStatus::Failed => Self::Failed,
            PopStatus::Blocked => Self::Blocked,
        }
    }
}

/// Arguments of `stack_frame_pop`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PopParams {
    /// Default completed
    status: Option<PopStatus>,
    /// All that later work needs, in some 2,000 characters: what was done, decisions and why, paths, names,
    /// signatures, numbers, commands and what came of them, open ends. Of each criterion whether it is met,
    /// and what was run and what only read
    results: Option<String>,
    /// The same, dense
    #[schemars(extend("x-full" = true))]
    results_compacted: Option<String>,
    /// Compact the conversation and add its summary to the results, which may then be left out
    #[schemars(extend("x-full" = true, "x-folding" = true))]
    generate_summary: Option<bool>,
    /// Only where callstack offered steps for closing, under a name such as s14: closes these, not the open frame
    #[schemars(extend("x-folding" = true))]
    since: Option<String>,
    /// Only with `since`: the name of what it closes
    #[schemars(extend("x-folding" = true))]
    title: Option<String>,
    #[schemars(skip)]
    #[serde(alias = "sessionID")]
    frame: Option<String>,
}

/// A frame that has ended, or one whose summary is awaited.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PopOutput {
    Ended(EndedFrame),
    Awaited(AwaitedSummary),
}

impl Operate for Pop {
    const NAME: &'static str = "stack_frame_pop";
    const SUMMARY: &'static str = "End the open frame and return to its parent. Its steps leave your \
        context, so results must carry what matters.";
    const SUMMARY_UNFOLDED: &'static str = "End the open frame and return to its parent. Its results \
        are all that is kept of it beyond this conversation, so they must carry what matters.";
    const LISTED: bool = true;
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Span;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = PopParams;
    type Output = PopOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: PopParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let mut reply = pop(engine, caller, params)?;
        if caller.kind() == CallerKind::Terminal
            && let Some(PopOutput::Ended(ended)) = &mut reply.data
        {
            ended.open = open_in(engine, &caller.session)?;
            if let Some(closed) = reply.answer.closed {
                ended.unfinished = unfinished_below(engine, closed)?;
            }
        }
        Ok(reply)
    }

    fn resume(
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Reply<Self::Output>, EngineError> {
        missing_results::resume(engine, caller, &token, &outcome)
            .unwrap_or_else(|| compaction::resume(engine, caller, &token, outcome))
    }
}

/// Ends a frame, or steps after the fact.
fn pop(
    engine: &Engine,
    caller: &Caller,
    params: PopParams,
) -> Result<Reply<PopOutput>, EngineError> {
    let own = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let generate = params.generate_summary == Some(true);
    let (given, dense) = (own(params.results), own(params.results_compacted));
    // Results that are given only in their dense form are the whole results, too.
    let results = given.or_else(|| dense.clone());
    let status: Status = params.status.unwrap_or_default().into();
    if let Some(since) = own(params.since) {
        let beside = params.frame.is_some() || generate || status == Status::Blocked;
        let Some(results) = results.filter(|_| !beside) else {
            return Err(EngineError::invalid(
                "steps are closed with `since` as completed or failed, with results that you give",
                "Leave out frame and generateSummary; `results` say all that later work needs of them.",
            ));
        };
        let outcome = Outcome::with(status, results, dense, caller.source());
        let title = params.title.as_deref();
        return Ok(pop_since(engine, caller, &since, title, outcome)?.map(PopOutput::Ended));
    }
    if params.title.is_some() {
        return Err(EngineError::invalid(
            "a title goes with `since` alone",
            "The open frame has the title that it was pushed with.",
        ));
    }
    let frame = match &params.frame {
        Some(reference) => Some(engine.resolve(reference)?),
        None => None,
    };
    if generate {
        let ending = Ending {
            frame: frame.map(|frame| frame.num),
            status,
            results,
            results_compacted: dense,
        };
        return end_with_summary(engine, caller, ending);
    }
    let Some(results) = results else {
        return end_without_results(engine, caller, frame, status);
    };
    let outcome = Outcome::with(status, results, dense, caller.source());
    Ok(end_with(engine, caller, frame.as_ref(), outcome)?.map(PopOutput::Ended))
}

/// Returns handle and title of the frame that is open in a session.
fn open_in(engine: &Engine, session: &str) -> Result<Option<String>, EngineError> {
    let open = engine.active(session)?.map(|open| engine.frame(open)).transpose()?;
    Ok(open.as_ref().map(Frame::label))
}

/// Returns the planned and blocked frames right below one that has ended. Those below a blocked one wait with it.
fn unfinished_below(engine: &Engine, closed: FrameNum) -> Result<Vec<String>, EngineError> {
    engine.kernel.read(|view| {
        if view.frame(closed)?.status == Status::Blocked {
            return Ok(Vec::new());
        }
        let below = view.children(Some(closed))?.into_iter();
        let waits = |frame: &Frame| matches!(frame.status, Status::Planned | Status::Blocked);
        Ok(below.filter(waits).map(|frame| frame.num.to_string()).collect())
    })
}

/// Ends a frame, the session's active one if none is named, with an outcome.
pub(super) fn end_with(
    engine: &Engine,
    caller: &Caller,
    frame: Option<&Frame>,
    outcome: Outcome,
) -> Result<Reply<EndedFrame>, EngineError> {
    let anchor = match frame {
        Some(frame) => engine.queries.anchor_in(caller, frame)?,
        None => caller.anchor.clone(),
    };
    let (session, frame) = (caller.session.clone(), frame.map(|frame| frame.num));
    engine.lifecycle.end(caller, decide::Pop { session, frame, anchor, outcome })
}

/// `stack_frame_invalidate`.
pub(crate) struct Invalidate;

/// Arguments of `stack_frame_invalidate`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InvalidateParams {
    /// Handle such as f12
    #[serde(alias = "sessionID")]
    frame: String,
    /// Why it is no longer relevant
    reason: String,
}

/// The frames that were invalidated.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InvalidateOutput {
    /// Handles of the invalidated frames, the named one first
    invalidated: Vec<String>,
    /// Handles of those below it that are in progress
    in_progress: Vec<String>,
}

impl Operate for Invalidate {
    const NAME: &'static str = "stack_frame_invalidate";
    const SUMMARY: &'static str = "Declare a frame irrelevant. Planned frames below it go with it, \
        completed ones stay; while one below it is in progress it is refused.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = InvalidateParams;
    type Output = InvalidateOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: InvalidateParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = engine.resolve(&params.frame)?;
        engine.kernel.read(|view| nothing_chosen_is_open_below(view, &frame))?;
        let command = Command::Invalidate(decide::Invalidate {
            frame: frame.num,
            reason: params.reason,
            anchor: engine.queries.anchor_in(caller, &frame)?,
        });
        engine.idempotency.answering(caller, |change| {
            let active = |view: &View<'_>| {
                Ok::<_, EngineError>(view.session_row(&caller.session)?.and_then(|it| it.active))
            };
            let before = active(&change.view())?;
            let mut answer = invalidated(&frame, &engine.commands.carry_out(change, &command)?);
            let view = change.view();
            let open = active(&view)?;
            if open != before {
                let open_line = match open {
                    Some(open) => open_now(Some(&view.frame(open)?)),
                    None => nothing_open(caller.host_kind() == HostKind::Folding),
                };
                let text = &mut answer.answer.text;
                *text = format!("{text}\n{open_line}");
            }
            Ok(answer)
        })
    }
}

/// Refuses to invalidate a frame if somebody works in a frame below it that was chosen: to pop that one would lead back
/// to a frame that is no longer relevant.
fn nothing_chosen_is_open_below(view: &View<'_>, frame: &Frame) -> Result<(), EngineError> {
    if !frame.status.may_become(Status::Invalidated) {
        return Ok(());
    }
    let mut open = Vec::new();
    for inner in view.descendants(frame.num, Status::InProgress)? {
        if nearest_chosen(view, Some(inner.num))? == Some(inner.num) {
            open.push(inner);
        }
    }
    let Some(innermost) = open.last() else { return Ok(()) };
    let hint = format!("Pop or invalidate {} first, then {}.", innermost.num, frame.num);
    let open: Vec<_> = open.iter().map(Frame::label).collect();
    Err(EngineError::new(
        Kind::Conflict,
        format!("below {} work goes on in {}", frame.label(), open.join(", ")),
    )
    .with_hint(hint))
}

fn invalidated(frame: &Frame, decision: &Decision) -> Reply<InvalidateOutput> {
    let mut text = format!("Frame {} is invalidated.", frame.label());
    if decision.frames.len() > 1 {
        let gone: Vec<_> = decision.frames.iter().skip(1).map(ToString::to_string).collect();
        let gone = gone.join(", ");
        text = format!("{text} With it went what was planned below: {gone}.");
    }
    if !decision.left.is_empty() {
        let left: Vec<_> = decision.left.iter().map(Frame::label).collect();
        let left = left.join(", ");
        text = format!("{text} Still in progress below it, pop or invalidate them: {left}.");
    }
    let data = InvalidateOutput {
        invalidated: decision.frames.iter().map(ToString::to_string).collect(),
        in_progress: decision.left.iter().map(|frame| frame.num.to_string()).collect(),
    };
    let mut reply = Reply::new(format!("invalidated {}", frame.num), text, data);
    reply.answer.closed = decision.left.is_empty().then_some(frame.num);
    reply
}
