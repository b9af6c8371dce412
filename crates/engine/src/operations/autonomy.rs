//! Operations about what callstack does unasked.

mod ask;
mod suggestions;

use std::fmt::Write as _;

use callstack_core::autonomy::Heuristic;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::kernel::configuration::Configured;
use crate::operation::{Answer, Caller, Operate};
use crate::settings::{AutonomySettings, Setting};

pub(super) use ask::{ShouldPop, ShouldPush};
pub(super) use suggestions::{AutoSuggest, Stats};

/// `stack_autonomy`.
pub(crate) struct Autonomy;

/// How much is done unasked, as an argument.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LevelName {
    Manual,
    Suggest,
    Auto,
}

/// Arguments of `stack_autonomy`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AutonomyParams {
    /// Do nothing unasked; suggest pushes and pops; or open and close frames too
    level: Option<LevelName>,
    /// 0-100
    push_threshold: Option<u64>,
    /// 0-100
    pop_threshold: Option<u64>,
    /// Whether the model is sent suggestions
    suggest_in_context: Option<bool>,
    /// Names, or all
    enabled_heuristics: Option<Vec<String>>,
    /// Forget all that was set here; what else is given counts afterwards
    reset: Option<bool>,
}

impl Operate for Autonomy {
    const NAME: &'static str = "stack_autonomy";
    const SUMMARY: &'static str = "View or change what callstack does unasked: level, thresholds, \
        enabled heuristics.";
    type Params = AutonomyParams;

    fn run(engine: &Engine, _: &Caller, params: AutonomyParams) -> Result<Answer, EngineError> {
        let changes = changes(&params)?;
        // All are looked at before any is made.
        for (setting, value) in &changes {
            setting.read(value)?;
        }
        if params.reset == Some(true) {
            for name in AutonomySettings::VARIABLES {
                engine.configure(Setting::named(name)?, None)?;
            }
        }
        for (setting, value) in &changes {
            engine.configure(setting, Some(value))?;
        }
        view(engine)
    }
}

fn changes(params: &AutonomyParams) -> Result<Vec<(&'static Setting, String)>, EngineError> {
    let [level, push, pop, in_context, enabled] = AutonomySettings::VARIABLES;
    let level_name = params.level.map(|level| match level {
        LevelName::Manual => "manual".to_owned(),
        LevelName::Suggest => "suggest".to_owned(),
        LevelName::Auto => "auto".to_owned(),
    });
    let names = params.enabled_heuristics.as_ref().map(|names| match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(","),
    });
    let values = [
        (level, level_name),
        (push, params.push_threshold.map(|it| it.to_string())),
        (pop, params.pop_threshold.map(|it| it.to_string())),
        (in_context, params.suggest_in_context.map(switch)),
        (enabled, names),
    ];
    let given = values.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.map(|(name, value)| Ok((Setting::named(name)?, value))).collect()
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// The settings, with who said what each is.
fn view(engine: &Engine) -> Result<Answer, EngineError> {
    let now = engine.autonomy()?;
    let mut text = String::new();
    let mut settings = Map::new();
    for name in AutonomySettings::VARIABLES {
        let configured = engine.configured_as(Setting::named(name)?)?;
        let Configured { value, source, .. } = &configured;
        let shown = engine.dialect().variable(name);
        // Writing to a string can't fail.
        let _ = writeln!(text, "{shown}: {value} ({})", configured.origin());
        settings.insert(name.to_owned(), json!({ "value": value, "source": source.as_str() }));
    }
    let enabled: Vec<&str> = now.heuristics.iter().map(|it| it.as_str()).collect();
    let _ = write!(
        text,
        "Heuristics that are asked: {}.",
        if enabled.is_empty() { "none".to_owned() } else { enabled.join(", ") }
    );
    text.push_str(&unknown(&now));
    let data = json!({
        "level": now.level.as_str(),
        "pushThreshold": now.push_threshold,
        "popThreshold": now.pop_threshold,
        "suggestInContext": now.suggest_in_context,
        "enabledHeuristics": enabled,
        "unknownHeuristics": now.unknown_heuristics,
        "settings": Value::Object(settings),
    });
    Ok(Answer {
        title: format!("autonomy: {}", now.level.as_str()),
        text,
        data,
        ..Answer::default()
    })
}

/// Names in the list of heuristics that are none, if there are any.
fn unknown(settings: &AutonomySettings) -> String {
    if settings.unknown_heuristics.is_empty() {
        return String::new();
    }
    let known: Vec<&str> = Heuristic::ALL.iter().map(|heuristic| heuristic.as_str()).collect();
    format!(
        "\nNo heuristic is called {}, which was skipped; there are {}.",
        settings.unknown_heuristics.join(" or "),
        known.join(", ")
    )
}
