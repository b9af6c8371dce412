//! Operations that ask the heuristics.

use std::fmt::Write as _;

use callstack_core::autonomy::{
    Hints, Judgement, Observer, Reading, Signals, SuggestionKind, judge,
};
use callstack_core::frame::Frame;
use callstack_core::text::first_words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unknown;
use crate::autonomy::threshold;
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::hint::Hint;
use crate::lock::lock;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};

/// The judgement of the heuristics. Confidences are in percent.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JudgementOutput {
    kind: SuggestionKind,
    /// Handle of the open frame
    frame: String,
    /// Whether it is due now
    recommended: bool,
    confidence: u8,
    /// Confidence from which on it is due
    threshold: u8,
    /// Confidence by observation alone
    observed_confidence: u8,
    readings: Vec<Reading>,
    observed: Signals,
    /// Names in the list of heuristics that no heuristic has
    unknown_heuristics: Vec<String>,
}

/// `stack_should_push`.
pub(crate) struct ShouldPush;

/// Arguments of `stack_should_push`: signals beside those that are observed, which they can raise and
/// not lower.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PushSignals {
    /// Failures that are not put right
    error_count: Option<u32>,
    /// Whether the next attempt is another try at the same thing
    potential_retry: Option<bool>,
    /// What you would do next
    new_goal: Option<String>,
    /// Messages in the frame
    message_count: Option<u32>,
    /// Files changed in it
    file_changes: Option<u32>,
    /// Tokens of it
    token_count: Option<u64>,
}

impl Operate for ShouldPush {
    const NAME: &'static str = "stack_should_push";
    const SUMMARY: &'static str = "Whether to open a child frame now, by what callstack saw of the work \
        and what you add to it.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = PushSignals;
    type Output = JudgementOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        said: PushSignals,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let goal = said.new_goal.filter(|goal| !goal.trim().is_empty());
        answer(engine, caller, SuggestionKind::Push, |observer| Hints {
            errors: said.error_count.unwrap_or(0),
            retry_boundary: said.potential_retry == Some(true),
            divergence: goal.as_deref().map_or(0, |goal| observer.divergence(goal)),
            topic: goal.as_deref().map(|goal| first_words(goal, 5)),
            messages: said.message_count.unwrap_or(0),
            files_changed: said.file_changes.unwrap_or(0),
            tokens: said.token_count.unwrap_or(0),
            ..Hints::default()
        })
    }
}

/// `stack_should_pop`.
pub(crate) struct ShouldPop;

/// Arguments of `stack_should_pop`: signals beside those that are observed, which they can raise and
/// not lower.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PopSignals {
    /// What shows that the criteria are met
    success_signals: Option<Vec<String>>,
    /// What shows that they cannot be
    failure_signals: Option<Vec<String>>,
    /// Files produced
    artifacts: Option<Vec<String>>,
    /// Turns in which nothing came of it
    no_progress_turns: Option<u32>,
    /// How full the context is, in percent
    token_usage: Option<u64>,
}

impl Operate for ShouldPop {
    const NAME: &'static str = "stack_should_pop";
    const SUMMARY: &'static str = "Whether to end the open frame now, by what callstack saw of the work \
        and what you add to it.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = PopSignals;
    type Output = JudgementOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        said: PopSignals,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let percent = said.token_usage.map(u8::try_from).transpose();
        let fill =
            percent.ok().filter(|percent| percent.is_none_or(|it| it <= 100)).ok_or_else(|| {
                EngineError::invalid(
                    "`tokenUsage` is more than 100 percent",
                    "Give the share of the model's limit that the context takes: 0 to 100.",
                )
            })?;
        let count = |signals: &Option<Vec<String>>| {
            let given = signals.iter().flatten().filter(|signal| !signal.trim().is_empty()).count();
            u32::try_from(given).unwrap_or(u32::MAX)
        };
        answer(engine, caller, SuggestionKind::Pop, |_| Hints {
            errors: count(&said.failure_signals),
            files_changed: count(&said.artifacts),
            successes: count(&said.success_signals),
            idle_turns: said.no_progress_turns.unwrap_or(0),
            fill,
            ..Hints::default()
        })
    }
}

fn answer(
    engine: &Engine,
    caller: &Caller,
    kind: SuggestionKind,
    hints: impl FnOnce(&Observer) -> Hints,
) -> Result<Reply<JudgementOutput>, EngineError> {
    let settings = engine.autonomy()?;
    let active = engine.active(&caller.session)?.ok_or_else(|| {
        EngineError::invalid(
            "no frame is open in this session",
            Hint::from("The user's next words open one, and so does ")
                .and("stack_frame_push")
                .then("."),
        )
    })?;
    let frame = engine.frame(active)?;
    let (seen, hints) = observed(engine, caller, &frame, hints)?;
    let by_sight = judge(kind, &settings.heuristics, &seen);
    let judgement = judge(kind, &settings.heuristics, &seen.with(&hints));
    let threshold = threshold(&settings, kind);
    let is_due = judgement.confidence >= threshold && judgement.surest().is_some();
    let verb = if is_due { "yes" } else { "no" };
    let mut text = format!(
        "{kind}: {verb}. The heuristics are {} % sure, and {threshold} is asked for.\n",
        judgement.confidence
    );
    readings(&mut text, &judgement);
    // Writing to a string can't fail.
    let _ = writeln!(text, "Observed in {}: {}.", frame.label(), figures(&seen));
    if hints != Hints::default() {
        let _ = writeln!(
            text,
            "What you say besides counts too; by what was observed alone it would be {} %.",
            by_sight.confidence
        );
    }
    text.push_str(unknown(&settings).trim_start());
    let data = JudgementOutput {
        kind,
        frame: frame.num.to_string(),
        recommended: is_due,
        confidence: judgement.confidence,
        threshold,
        observed_confidence: by_sight.confidence,
        readings: judgement.readings,
        observed: seen,
        unknown_heuristics: settings.unknown_heuristics,
    };
    Ok(Reply::new(format!("{kind}: {verb}"), text.trim_end(), data))
}

/// Returns the signals that are observed in a frame, and the caller's hints. A frame that was opened in this very step
/// has no signals yet.
fn observed(
    engine: &Engine,
    caller: &Caller,
    frame: &Frame,
    hints: impl FnOnce(&Observer) -> Hints,
) -> Result<(Signals, Hints), EngineError> {
    let conversation = engine.sessions.conversation(&caller.session);
    let mut conversation = lock(&conversation);
    let (used, limit) = (conversation.used, conversation.limit);
    if let Some(span) = conversation.open_span().filter(|span| span.frame == frame.num) {
        let observer = conversation.watch(&span, || Ok::<_, EngineError>(frame.clone()))?;
        return Ok((observer.signals(used, limit), hints(observer)));
    }
    let observer = Observer::new(&frame.identity, frame.identity_derived);
    Ok((observer.signals(used, limit), hints(&observer)))
}

fn readings(text: &mut String, judgement: &Judgement) {
    for reading in &judgement.readings {
        let _ = writeln!(
            text,
            "- {} {} %{}{}",
            reading.heuristic,
            reading.confidence,
            if reading.reasons.is_empty() { "" } else { ": " },
            reading.reason()
        );
    }
    if judgement.readings.is_empty() {
        let _ = writeln!(text, "No heuristic for a {} is enabled.", judgement.kind);
    }
}

fn figures(seen: &Signals) -> String {
    if seen.messages == 0 {
        return "nothing yet".to_owned();
    }
    let mut parts = vec![
        format!("{} steps", seen.steps),
        format!("{} user turns", seen.user_turns),
        format!("about {} tokens", seen.tokens),
        format!("{} files changed", seen.files_changed),
        format!("{} failures not put right", seen.errors),
        format!("nothing new in {} steps", seen.idle_steps),
    ];
    if let Some(fill) = seen.fill() {
        parts.push(format!("the context {fill} % full"));
    }
    parts.join(", ")
}
