//! Operations on autonomy: what callstack suggests or does by itself.

mod ask;
mod suggestions;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callstack_core::autonomy::Heuristic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::kernel::configuration::Configured;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
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

/// The settings of autonomy.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AutonomyOutput {
    /// `manual`, `suggest` or `auto`
    level: &'static str,
    /// Confidence in percent from which on a push is due
    push_threshold: u8,
    /// Confidence in percent from which on a pop is due
    pop_threshold: u8,
    /// Whether the model is sent suggestions
    suggest_in_context: bool,
    enabled_heuristics: Vec<&'static str>,
    /// Names in the list of heuristics that no heuristic has
    unknown_heuristics: Vec<String>,
    /// The settings that decide this, by variable
    settings: BTreeMap<String, SettingOutput>,
}

/// The value of a setting.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct SettingOutput {
    value: String,
    /// Where it was set
    source: &'static str,
}

impl Operate for Autonomy {
    const NAME: &'static str = "stack_autonomy";
    const SUMMARY: &'static str = "View or change what callstack does unasked: level, thresholds, \
        enabled heuristics.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = AutonomyParams;
    type Output = AutonomyOutput;

    fn run(
        engine: &Engine,
        _: &Caller,
        params: AutonomyParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let changes = changes(&params)?;
        // All changes are checked before any is made.
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

/// Returns the settings of autonomy, each with its source.
fn view(engine: &Engine) -> Result<Reply<AutonomyOutput>, EngineError> {
    let now = engine.autonomy()?;
    let mut text = String::new();
    let mut settings = BTreeMap::new();
    for name in AutonomySettings::VARIABLES {
        let configured = engine.configured_as(Setting::named(name)?)?;
        let Configured { value, source, .. } = &configured;
        let shown = engine.dialect().variable(name);
        // Writing to a string can't fail.
        let _ = writeln!(text, "{shown}: {value} ({})", configured.origin());
        let source = source.as_str();
        settings.insert(name.to_owned(), SettingOutput { value: value.clone(), source });
    }
    let enabled: Vec<_> = now.heuristics.iter().map(|it| it.as_str()).collect();
    let _ = write!(
        text,
        "Heuristics that are asked: {}.",
        if enabled.is_empty() { "none".to_owned() } else { enabled.join(", ") }
    );
    text.push_str(&unknown(&now));
    let level = now.level.as_str();
    let data = AutonomyOutput {
        level,
        push_threshold: now.push_threshold,
        pop_threshold: now.pop_threshold,
        suggest_in_context: now.suggest_in_context,
        enabled_heuristics: enabled,
        unknown_heuristics: now.unknown_heuristics,
        settings,
    };
    Ok(Reply::new(format!("autonomy: {level}"), text, data))
}

/// Returns a sentence about names in the list of heuristics that no heuristic has; empty if there are none.
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
