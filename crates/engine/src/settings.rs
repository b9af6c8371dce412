//! Settings. The names and defaults of the variables are the specification's; values come in as data,
//! since only the binary reads the environment.

mod autonomy;

use callstack_core::context::TokenBudget;
use callstack_core::dialect::Dialect;
use callstack_core::fold::ReasoningPolicy;
use callstack_core::limits::Limits;

use crate::error::EngineError;

pub use autonomy::{AutonomySettings, Level};

/// Which tools an agent is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Profile {
    /// The few that most work needs, and `stack`, which reaches the rest.
    #[default]
    Default,
    /// All of them, under their own names.
    Full,
    /// All of them, under the names and with the arguments of the specification's first generation.
    Flame,
}

impl Profile {
    /// How an agent with these tools is spoken to.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Default | Self::Full => Dialect::Stack,
            Self::Flame => Dialect::Flame,
        }
    }
}

/// Where the tree's XML goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Placement {
    /// In the outputs of push and activate, so that what was sent stays as it was.
    #[default]
    Output,
    /// In the system prompt, rebuilt whenever the state changes, as the specification describes.
    System,
}

/// How the engine behaves.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `STACK_TOOLS`: `default`, `full` or `flame`.
    pub profile: Profile,
    /// `STACK_CONTEXT_PLACEMENT`: `output` or `system`.
    pub placement: Placement,
    /// `STACK_FOLD_REASONING`: `strip` or `wait`.
    pub reasoning: ReasoningPolicy,
    /// `STACK_TOKEN_BUDGET_TOTAL`, `_ANCESTORS`, `_SIBLINGS`, `_CURRENT`.
    pub budget: TokenBudget,
    /// `STACK_LIMIT_DEPTH`, `STACK_LIMIT_CHILDREN`, `STACK_LIMIT_LIVE_FRAMES`.
    pub limits: Limits,
    /// `STACK_AUTONOMY_LEVEL`, `STACK_PUSH_THRESHOLD`, `STACK_POP_THRESHOLD`,
    /// `STACK_SUGGEST_IN_CONTEXT`, `STACK_ENABLED_HEURISTICS`; what was set at run time lies over it:
    /// [`crate::Engine::autonomy`].
    pub autonomy: AutonomySettings,
}

impl Settings {
    /// Reads the settings from named values. A value that is not understood is an error that names
    /// the variable and what it may be.
    ///
    /// With `STACK_TOOLS=flame` each `STACK_X` that is not set may be given as `FLAME_X`.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, EngineError> {
        let profile = profile(&var)?;
        if profile.dialect() == Dialect::Stack {
            return Self::from_names(profile, &var);
        }
        let set = |name: &str| var(name).filter(|value| !value.is_empty());
        let either = |name: &str| set(name).or_else(|| flame_name(name).and_then(|it| var(&it)));
        Self::from_names(profile, either).map_err(|error| {
            let named = error.message.split(' ').find(|word| word.starts_with("STACK_"));
            match named.and_then(|name| Some((name, flame_name(name)?))) {
                Some((name, flame)) if set(name).is_none() => {
                    EngineError { message: error.message.replace(name, &flame), ..error }
                }
                _ => error,
            }
        })
    }

    fn from_names(
        profile: Profile,
        var: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, EngineError> {
        let default = Limits::default();
        Ok(Self {
            profile,
            placement: choice(
                &var,
                "STACK_CONTEXT_PLACEMENT",
                &[("output", Placement::Output), ("system", Placement::System)],
            )?,
            reasoning: choice(
                &var,
                "STACK_FOLD_REASONING",
                &[("strip", ReasoningPolicy::Strip), ("wait", ReasoningPolicy::Wait)],
            )?,
            budget: TokenBudget::from_vars(&var).map_err(|error| {
                EngineError::invalid(error.to_string(), "Unset it for the default.")
            })?,
            limits: Limits {
                depth: number(&var, "STACK_LIMIT_DEPTH")?
                    .map_or(default.depth, |depth| u32::try_from(depth).unwrap_or(u32::MAX)),
                children: number(&var, "STACK_LIMIT_CHILDREN")?.unwrap_or(default.children),
                live_frames: number(&var, "STACK_LIMIT_LIVE_FRAMES")?
                    .unwrap_or(default.live_frames),
            },
            autonomy: AutonomySettings::from_vars(&var, AutonomySettings::default())?,
        })
    }
}

fn profile(var: &impl Fn(&str) -> Option<String>) -> Result<Profile, EngineError> {
    choice(
        var,
        "STACK_TOOLS",
        &[("default", Profile::Default), ("full", Profile::Full), ("flame", Profile::Flame)],
    )
}

/// What the specification's first generation called a variable.
fn flame_name(name: &str) -> Option<String> {
    name.strip_prefix("STACK_").map(|rest| format!("FLAME_{rest}"))
}

fn choice<T: Copy + Default>(
    var: &impl Fn(&str) -> Option<String>,
    name: &str,
    choices: &[(&str, T)],
) -> Result<T, EngineError> {
    Ok(known(var, name, choices)?.unwrap_or_default())
}

/// The choice that a variable names, if it is set.
fn known<T: Copy>(
    var: &impl Fn(&str) -> Option<String>,
    name: &str,
    choices: &[(&str, T)],
) -> Result<Option<T>, EngineError> {
    let Some(value) = var(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let known = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(&value));
    known.map(|(_, choice)| Some(*choice)).ok_or_else(|| {
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        EngineError::invalid(
            format!("{name} is `{value}`"),
            format!("It may be {}.", words.join(" or ")),
        )
    })
}

/// Whether something is on, if the variable is set.
fn flag(var: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<bool>, EngineError> {
    let words = ["true", "1", "yes", "on"].map(|word| (word, true));
    let against = ["false", "0", "no", "off"].map(|word| (word, false));
    known(var, name, &[words, against].concat())
}

fn number(var: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<u64>, EngineError> {
    let Some(value) = var(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    value.parse().map(Some).map_err(|_| {
        EngineError::invalid(
            format!("{name} is `{value}`"),
            "It may be a whole number from 0 on.".to_owned(),
        )
    })
}
