//! Operations about what was suggested.

use std::fmt::Write as _;

use callstack_core::autonomy::{Heuristic, Kind, Suggestion, SuggestionEnd};
use callstack_core::event::Event;
use callstack_core::text::format_duration;
use callstack_store::{Change, StoredSuggestion, SuggestionCounts, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Autonomy, switch};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::handles;
use crate::operation::{Answer, Caller, Operate};
use crate::settings::{AutonomySettings, Level, Setting};

/// How many past suggestions are shown.
const HISTORY: u32 = 20;

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
    type Params = AutoSuggestParams;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: AutoSuggestParams,
    ) -> Result<Answer, EngineError> {
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

/// What waits in a session, and how many were cleared.
fn waiting(
    engine: &Engine,
    view: &View<'_>,
    session: &str,
    now: i64,
    cleared: Option<usize>,
) -> Result<Answer, EngineError> {
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
    let data = json!({
        "enabled": settings.level != Level::Manual && settings.suggest_in_context,
        "level": settings.level.as_str(),
        "cleared": cleared.unwrap_or(0),
        "pendingSuggestions": waiting.iter().map(named).collect::<Vec<_>>(),
    });
    Ok(Answer { title: "suggestions".to_owned(), text, data, ..Answer::default() })
}

/// Clears what waits in a session; returns how many that were.
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
    type Params = NoParams;

    fn run(engine: &Engine, _: &Caller, _: NoParams) -> Result<Answer, EngineError> {
        let now = engine.kernel.now();
        let (counts, history) = engine.kernel.read(|view| {
            let history = view.newest_suggestions(None, HISTORY, now)?;
            Ok::<_, EngineError>((view.suggestion_counts(now)?, history))
        })?;
        let sum = |kind: Option<Kind>| {
            let counted = counts.iter().filter(|(it, _)| kind.is_none_or(|kind| it.kind() == kind));
            counted.fold(SuggestionCounts::default(), |sum, (_, counts)| sum.and(*counts))
        };
        let all = sum(None);
        let mut text = format!("Suggestions: {}.", told(all));
        for (heuristic, counts) in &counts {
            // Writing to a string can't fail.
            let _ = write!(text, "\n- {heuristic} ({}): {}", heuristic.kind(), told(*counts));
        }
        if !history.is_empty() {
            text.push_str("\nThe newest:");
        }
        for stored in &history {
            let _ = write!(text, "\n{}", line(stored, now));
        }
        let by_heuristic: Map<_, _> = Heuristic::ALL
            .iter()
            .map(|heuristic| {
                let counts = counts.iter().find(|(it, _)| it == heuristic).map(|(_, it)| *it);
                (heuristic.to_string(), numbers(counts.unwrap_or_default()))
            })
            .collect();
        let data = json!({
            "level": engine.autonomy()?.level.as_str(),
            "total": numbers(all),
            "push": numbers(sum(Some(Kind::Push))),
            "pop": numbers(sum(Some(Kind::Pop))),
            "byHeuristic": by_heuristic,
            "suggestionHistory": history.iter().map(entry).collect::<Vec<_>>(),
        });
        Ok(Answer { title: format!("{} suggestions", all.made()), text, data, ..Answer::default() })
    }
}

fn told(counts: SuggestionCounts) -> String {
    format!(
        "{} made, {} acted on, {} expired, {} cleared, {} waiting",
        counts.made(),
        counts.acted_on,
        counts.expired,
        counts.cleared,
        counts.pending
    )
}

fn numbers(counts: SuggestionCounts) -> Value {
    json!({
        "made": counts.made(),
        "actedOn": counts.acted_on,
        "expired": counts.expired,
        "cleared": counts.cleared,
        "pending": counts.pending,
    })
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

fn named(suggestion: &Suggestion) -> Value {
    handles::named(suggestion, &["frame"])
}

fn entry(stored: &StoredSuggestion) -> Value {
    let mut entry = named(&stored.suggestion);
    entry["kind"] = json!(stored.suggestion.kind());
    entry["outcome"] = json!(stored.end);
    entry["endedAt"] = json!(stored.ended_at);
    entry
}
