//! Settings for what callstack does about frames unasked.

use callstack_core::autonomy::Heuristic;

use super::{flag, known, list, number};
use crate::error::EngineError;

/// The extent of what callstack does unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Level {
    /// Nothing: it answers calls.
    Manual,
    /// It watches the work and suggests a push or a pop where it would be wrong to go on as before. The default,
    /// since a session in which nothing is wrong is sent the same bytes as with `manual`.
    #[default]
    Suggest,
    /// It also opens and closes automatic frames.
    Auto,
}

impl Level {
    /// The specification's words for them.
    pub const NAMED: [(&'static str, Self); 3] =
        [("manual", Self::Manual), ("suggest", Self::Suggest), ("auto", Self::Auto)];

    /// The specification's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Suggest => "suggest",
            Self::Auto => "auto",
        }
    }
}

/// `STACK_AUTONOMY_LEVEL` and related settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutonomySettings {
    /// `STACK_AUTONOMY_LEVEL`: `manual`, `suggest` or `auto`.
    pub level: Level,
    /// `STACK_PUSH_THRESHOLD`: the confidence, 0 to 100, from which on a push is suggested.
    pub push_threshold: u8,
    /// `STACK_POP_THRESHOLD`: the same for a pop.
    pub pop_threshold: u8,
    /// `STACK_SUGGEST_IN_CONTEXT`: whether the model is sent the suggestions.
    pub suggest_in_context: bool,
    /// `STACK_ENABLED_HEURISTICS`: names with commas between them, `all` or `none`.
    pub heuristics: Vec<Heuristic>,
    /// Names among them of no heuristic: skipped, and reported wherever the settings are shown.
    pub unknown_heuristics: Vec<String>,
}

impl Default for AutonomySettings {
    fn default() -> Self {
        Self {
            level: Level::default(),
            push_threshold: 70,
            pop_threshold: 70,
            suggest_in_context: true,
            heuristics: Heuristic::ALL.to_vec(),
            unknown_heuristics: Vec::new(),
        }
    }
}

impl AutonomySettings {
    /// Their variables, in the order of the fields.
    pub const VARIABLES: [&'static str; 5] = [
        "STACK_AUTONOMY_LEVEL",
        "STACK_PUSH_THRESHOLD",
        "STACK_POP_THRESHOLD",
        "STACK_SUGGEST_IN_CONTEXT",
        "STACK_ENABLED_HEURISTICS",
    ];

    /// `base`, changed by the variables that `var` gives a value.
    pub fn from_vars(
        var: impl Fn(&str) -> Option<String>,
        base: Self,
    ) -> Result<Self, EngineError> {
        let [level, push, pop, in_context, enabled] = Self::VARIABLES;
        let mut settings = Self {
            level: known(&var, level, &Level::NAMED)?.unwrap_or(base.level),
            push_threshold: number(&var, push)?.unwrap_or(base.push_threshold),
            pop_threshold: number(&var, pop)?.unwrap_or(base.pop_threshold),
            suggest_in_context: flag(&var, in_context)?.unwrap_or(base.suggest_in_context),
            ..base
        };
        if let Some(names) = list(&var, enabled)? {
            (settings.heuristics, settings.unknown_heuristics) = heuristics(&names);
        }
        Ok(settings)
    }
}

/// Returns the heuristics that a list names, each once, and the unknown names.
fn heuristics(names: &[String]) -> (Vec<Heuristic>, Vec<String>) {
    let (mut enabled, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        match name.parse::<Heuristic>() {
            Ok(heuristic) => enabled.push(heuristic),
            Err(_) if name.eq_ignore_ascii_case("all") => enabled.extend(Heuristic::ALL),
            Err(_) => unknown.push(name.to_owned()),
        }
    }
    enabled.sort_unstable();
    enabled.dedup();
    (enabled, unknown)
}
