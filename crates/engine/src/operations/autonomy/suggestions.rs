//! Operations on suggestions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callstack_core::autonomy::{Heuristic, Suggestion, SuggestionEnd, SuggestionKind};
use callstack_core::event::Event;
use callstack_core::text::format_duration;
use callstack_store::{Change, StoredSuggestion, SuggestionCounts, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Autonomy, switch};
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::settings::{AutonomySettings, Level, Setting};

/// The number of past suggestions that are shown.
const HISTORY: u32 = 20;

/// The suggestions that wait in the calling session.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuggestionsOutput {
    /// Whether the model is sent suggestions
    enabled: bool,
    /// `manual`, `suggest` or `auto`
    level: &'static str,
    /// How many were cleared by this call
    cleared: usize,
    pending_suggestions: Vec<SuggestionOutput>,
}

/// A push or a pop that was suggested. Times are milliseconds since 1970.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SuggestionOutput {
    num: u64,
    session: String,
    /// Handle of the frame that a child should be opened in, or that should be ended
    frame: String,
    heuristic: Heuristic,
    /// In percent
    confidence: u8,
    /// The subject of a new frame, where it is known
    subject: Option<String>,
    reason: String,
    created_at: i64,
    expires_at: i64,
}

/// A suggestion and its outcome.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PastSuggestion {
    #[serde(flatten)]
    suggestion: SuggestionOutput,
    kind: SuggestionKind,
    /// How it ended; null while it waits
    outcome: Option<SuggestionEnd>,
    ended_at: Option<i64>,
}

/// The suggestions so far in this project.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuggestionStatsOutput {
    /// `manual`, `suggest` or `auto`
    level: &'static str,
    total: CountsOutput,
    push: CountsOutput,
    pop: CountsOutput,
    by_heuristic: BTreeMap<String, CountsOutput>,
    /// The newest suggestions, the newest first
    suggestion_history: Vec<PastSuggestion>,
}

/// The number of suggestions, by outcome.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CountsOutput {
    made: u64,
    /// A push or a pop of the frame followed in time
    acted_on: u64,
    expired: u64,
    cleared: u64,
    pending: u64,
}

/// `stack_auto_suggest`.
pub(crate) struct AutoSuggest;

/// Arguments of `stack_auto_suggest`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AutoSuggestParams {
    /// Whether the model is sent suggestions from now on
    enabled: Option<bool>,
    /// Whether to clear those that wait in this session
    clear: Option<bool>,
}

impl Operate for AutoSuggest {
    const NAME: &'static str = "stack_auto_suggest";
    const SUMMARY: &'static str = "Turn suggestions on or off; view or clear those that wait.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = AutoSuggestParams;
    type Output = SuggestionsOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: AutoSuggestParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        if let Some(enabled) = params.enabled {
            let [.., in_context, _] = AutonomySettings::VARIABLES;
            engine.configure(Setting::named(in_context)?, Some(&switch(enabled)))?;
        }
        let now = engine.kernel.now();
        if params.clear != Some(true) {
            return engine.kernel.read(|view| waiting(engine, view, &caller.session, now, None));
        }
        engine.idempotency.answering(caller, |change| {
            let cleared = clear(change, &caller.session, now)?;
            waiting(engine, &change.view(), &caller.session, now, Some(cleared))
        })
    }
}

/// Returns the suggestions that wait in a session, and how many were cleared.
fn waiting(
    engine: &Engine,
    view: &View<'_>,
    session: &str,
    now: i64,
    cleared: Option<usize>,
) -> Result<Reply<SuggestionsOutput>, EngineError> {
    let settings = engine.kernel.settings_in(view)?.autonomy.clone();
    let waiting = view.pending_suggestions(session, now)?;
    let mut text = match (settings.level, settings.suggest_in_context) {
        (Level::Manual, _) => format!(
            "Nothing is suggested: the level is manual ({} changes it).",
            engine.dialect().tool(Autonomy::NAME)
        ),
        (_, true) => "Suggestions are on: the model is sent them.".to_owned(),
        (_, false) => "Suggestions are off: they are noted here and not sent.".to_owned(),
    };
    if let Some(cleared) = cleared {
        // Writing to a string can't fail.
        let _ = write!(text, "\n{cleared} cleared.");
    }
    for suggestion in &waiting {
        let _ = write!(
            text,
            "\n- s{} {} {} ({}, {} %, {} left): {}",
            suggestion.num,
            suggestion.kind(),
            suggestion.frame,
            suggestion.heuristic,
            suggestion.confidence,
            format_duration(suggestion.expires_at - now),
            suggestion.reason
        );
    }
    if waiting.is_empty() {
        text.push_str("\nNone waits in this session.");
    }
    let data = SuggestionsOutput {
        enabled: settings.level != Level::Manual && settings.suggest_in_context,
        level: settings.level.as_str(),
        cleared: cleared.unwrap_or(0),
        pending_suggestions: waiting.iter().map(SuggestionOutput::of).collect(),
    };
    Ok(Reply::new("suggestions", text, data))
}

/// Clears the suggestions that wait in a session, and returns their number.
fn clear(change: &mut Change<'_>, session: &str, now: i64) -> Result<usize, EngineError> {
    let waiting = change.view().pending_suggestions(session, now)?;
    let ends: Vec<_> = waiting
        .iter()
        .map(|it| Event::SuggestionEnded { suggestion: it.num, end: SuggestionEnd::Cleared })
        .collect();
    change.append(now, &ends)?;
    Ok(ends.len())
}

/// `stack_autonomy_stats`.
pub(crate) struct Stats;

/// Arguments of `stack_autonomy_stats`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

impl Operate for Stats {
    const NAME: &'static str = "stack_autonomy_stats";
    const SUMMARY: &'static str = "What was suggested in this project so far, by heuristic, and what \
        came of it.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = NoParams;
    type Output = SuggestionStatsOutput;

    fn run(engine: &Engine, _: &Caller, _: NoParams) -> Result<Reply<Self::Output>, EngineError> {
        let now = engine.kernel.now();
        let (counts, history) = engine.kernel.read(|view| {
            let history = view.newest_suggestions(None, HISTORY, now)?;
            Ok::<_, EngineError>((view.suggestion_counts(now)?, history))
        })?;
        let sum = |kind: Option<SuggestionKind>| {
            let counted = counts.iter().filter(|(it, _)| kind.is_none_or(|kind| it.kind() == kind));
            counted.fold(SuggestionCounts::default(), |sum, (_, counts)| sum.and(*counts))
        };
        let all = sum(None);
        let mut text = format!("Suggestions: {}.", counts_text(all));
        for (heuristic, counts) in &counts {
            // Writing to a string can't fail.
            let _ =
                write!(text, "\n- {heuristic} ({}): {}", heuristic.kind(), counts_text(*counts));
        }
        if !history.is_empty() {
            text.push_str("\nThe newest:");
        }
        for stored in &history {
            let _ = write!(text, "\n{}", line(stored, now));
        }
        let by_heuristic = Heuristic::ALL.iter().map(|heuristic| {
            let counts = counts.iter().find(|(it, _)| it == heuristic).map(|(_, it)| *it);
            (heuristic.to_string(), CountsOutput::of(counts.unwrap_or_default()))
        });
        let data = SuggestionStatsOutput {
            level: engine.autonomy()?.level.as_str(),
            total: CountsOutput::of(all),
            push: CountsOutput::of(sum(Some(SuggestionKind::Push))),
            pop: CountsOutput::of(sum(Some(SuggestionKind::Pop))),
            by_heuristic: by_heuristic.collect(),
            suggestion_history: history.iter().map(PastSuggestion::of).collect(),
        };
        Ok(Reply::new(format!("{} suggestions", all.made()), text, data))
    }
}

fn counts_text(counts: SuggestionCounts) -> String {
    format!(
        "{} made, {} acted on, {} expired, {} cleared, {} waiting",
        counts.made(),
        counts.acted_on,
        counts.expired,
        counts.cleared,
        counts.pending
    )
}

impl CountsOutput {
    fn of(counts: SuggestionCounts) -> Self {
        Self {
            made: counts.made(),
            acted_on: counts.acted_on,
            expired: counts.expired,
            cleared: counts.cleared,
            pending: counts.pending,
        }
    }
}

fn line(stored: &StoredSuggestion, now: i64) -> String {
    let it = &stored.suggestion;
    let end = stored.end.map_or_else(|| "waiting".to_owned(), |end| end.to_string());
    format!(
        "- s{} {} ago: {} {} ({}, {} %), {end}: {}",
        it.num,
        format_duration(now - it.created_at),
        it.kind(),
        it.frame,
        it.heuristic,
        it.confidence,
        it.reason
    )
}

impl SuggestionOutput {
    fn of(suggestion: &Suggestion) -> Self {
        Self {
            num: suggestion.num,
            session: suggestion.session.clone(),
            frame: suggestion.frame.to_string(),
            heuristic: suggestion.heuristic,
            confidence: suggestion.confidence,
            subject: suggestion.subject.clone(),
            reason: suggestion.reason.clone(),
            created_at: suggestion.created_at,
            expires_at: suggestion.expires_at,
        }
    }
}

impl PastSuggestion {
    fn of(stored: &StoredSuggestion) -> Self {
        Self {
            suggestion: SuggestionOutput::of(&stored.suggestion),
            kind: stored.suggestion.kind(),
            outcome: stored.end,
            ended_at: stored.ended_at,
        }
    }
}
