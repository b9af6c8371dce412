//! Settings. The names and defaults of the variables are the specification's; values come in as data,
//! since only the binary reads the environment.

mod autonomy;
mod file;
mod read;
mod setting;
mod subagents;
mod summarizer;
mod table;

use std::collections::BTreeMap;
use std::fmt;

use callstack_core::context::TokenBudget;
use callstack_core::dialect::Dialect;
use callstack_core::fold::ReasoningPolicy;
use callstack_core::limits::Limits;
use callstack_core::subagent::SubagentSettings;

use crate::error::EngineError;
use crate::kernel::configuration::Source;
use read::{flag, known, list, number, word};
use setting::UnfitValue;

pub use autonomy::{AutonomySettings, Level};
pub use file::UserConfiguration;
pub use setting::{Scope, Setting, Unit, Values};
pub use subagents::SUBAGENT_VARIABLES;
pub use summarizer::{SUMMARIZER_VARIABLES, SummarizerSettings, WireFormat};
pub use table::SETTINGS;

/// The tools that an agent is listed.
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
    const NAMED: [(&'static str, Self); 3] =
        [("default", Self::Default), ("full", Self::Full), ("flame", Self::Flame)];

    /// Returns the dialect for an agent with these tools.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Default | Self::Full => Dialect::Stack,
            Self::Flame => Dialect::Flame,
        }
    }
}

/// The place of the tree's XML.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Placement {
    /// In the outputs of push and activate, so that requests stay as they were.
    #[default]
    Output,
    /// In the system prompt, rebuilt whenever the state changes, as the specification describes.
    System,
}

/// The frames that are worked on in sessions of their own by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FrameSessions {
    /// Those for which the call asks.
    #[default]
    Asked,
    /// Those that are activated. What is pushed is worked on in place.
    Activate,
    /// Those that are activated and those that are pushed.
    Always,
    /// None, and none where one is asked for either.
    Never,
}

/// Whether older outputs of work that goes on leave the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MaskOutputs {
    /// Only at the level `auto`, at which frames begin and end automatically.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The settings of the engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `STACK_FRAME_MODE`: whether agents work in frames.
    pub frame_mode: bool,
    /// `STACK_TOOLS`.
    pub profile: Profile,
    /// `STACK_CONTEXT_PLACEMENT`.
    pub placement: Placement,
    /// Settings of files beside the store.
    pub kept: Kept,
    /// `STACK_FOLD_REASONING`.
    pub reasoning: ReasoningPolicy,
    /// `STACK_TOKEN_BUDGET_TOTAL`, `_ANCESTORS`, `_SIBLINGS`, `_CURRENT`.
    pub budget: TokenBudget,
    /// `STACK_CONTEXT_IMPORTED`: whether contexts of other sessions' frames include imported sessions.
    pub imported_siblings: bool,
    /// `STACK_FRAME_SESSIONS`.
    pub sessions: FrameSessions,
    /// `STACK_LIMIT_DEPTH`, `STACK_LIMIT_CHILDREN`, `STACK_LIMIT_LIVE_FRAMES`,
    /// `STACK_LIMIT_LIVE_SESSIONS`.
    pub limits: Limits,
    /// `STACK_CONSOLIDATE_ABOVE`: how many children of a frame may have ended before one replaces the older ones; 0
    /// for any number.
    pub consolidate_above: u64,
    /// `STACK_AUTONOMY_LEVEL`, `STACK_PUSH_THRESHOLD`, `STACK_POP_THRESHOLD`,
    /// `STACK_SUGGEST_IN_CONTEXT`, `STACK_ENABLED_HEURISTICS`; with what was set at run time:
    /// [`crate::Engine::autonomy`].
    pub autonomy: AutonomySettings,
    /// `STACK_SUBAGENT_ENABLED` and related settings: [`SUBAGENT_VARIABLES`].
    pub subagents: SubagentSettings,
    /// `STACK_SUMMARIZER_ADDRESS` and related settings: [`SUMMARIZER_VARIABLES`].
    pub summarizer: SummarizerSettings,
    /// `STACK_AGENT_REQUESTS`: whether agents may ask for what only a person carries out.
    pub agent_requests: bool,
    /// `STACK_MASK_OUTPUTS`.
    pub mask_outputs: MaskOutputs,
    /// The values that all this was made of.
    pub given: Given,
}

/// Settings of files beside the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// `STACK_FILES`: whether the files of `.opencode/stack` are written.
    pub files: bool,
    /// `STACK_ROLLBACK`: whether the state of a git work tree's files is recorded where frames begin
    /// and end.
    pub rollback: bool,
    /// `STACK_LOG`: whether changes are written to the project's log.
    pub log: bool,
}

/// The values that settings were made of, by name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Given(BTreeMap<&'static str, (String, Source)>);

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The fields beside them show their values.
        f.write_str("_")
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            frame_mode: true,
            profile: Profile::default(),
            kept: Kept { files: true, rollback: true, log: true },
            placement: Placement::default(),
            reasoning: ReasoningPolicy::default(),
            budget: TokenBudget::default(),
            imported_siblings: false,
            sessions: FrameSessions::default(),
            limits: Limits::default(),
            consolidate_above: 100,
            autonomy: AutonomySettings::default(),
            subagents: SubagentSettings::default(),
            summarizer: SummarizerSettings::default(),
            agent_requests: false,
            mask_outputs: MaskOutputs::default(),
            given: Given::default(),
        }
    }
}

impl Settings {
    /// Whether steps are named that a pop may close after the fact.
    pub(crate) fn names_steps(&self) -> bool {
        self.autonomy.level != Level::Manual && self.autonomy.suggest_in_context
    }

    /// Reads the settings from named values, such as environment variables. An invalid value is an error that names
    /// the variable and its possible values.
    ///
    /// With `STACK_TOOLS=flame` each `STACK_X` that is not set may be given as `FLAME_X`.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, EngineError> {
        Self::from_sources(&var, &BTreeMap::new())
    }

    /// The same over the user's own configuration, whose values count where `var` has none.
    pub fn from_sources(
        var: &impl Fn(&str) -> Option<String>,
        user: &BTreeMap<&'static str, String>,
    ) -> Result<Self, EngineError> {
        let set = |name: &str| var(name).filter(|value| !value.trim().is_empty());
        let of_user = |name: &str| user.get(name).cloned();
        let tools = |name: &str| set(name).or_else(|| of_user(name));
        let profile = known(&tools, "STACK_TOOLS", &Profile::NAMED)?.unwrap_or_default();
        let dialect = profile.dialect();
        let given = |name: &str| {
            let said = set(name).or_else(|| set(&dialect.variable(name)));
            let said = said.map(|value| (value, Source::Environment));
            said.or_else(|| of_user(name).map(|value| (value, Source::User)))
        };
        Self::from_names(&given).map_err(|error| {
            match error.cause::<UnfitValue>().map(|unfit| unfit.setting) {
                Some(name) if set(name).is_none() => {
                    let message = error.message.replace(name, &dialect.variable(name));
                    error.saying(message)
                }
                _ => error,
            }
        })
    }

    fn from_names(var: &impl Fn(&str) -> Option<(String, Source)>) -> Result<Self, EngineError> {
        let given = Setting::all().filter_map(|setting| Some((setting.name, var(setting.name)?)));
        let given = Given(given.collect());
        Ok(Self { given, ..Self::default().changed(&|name: &str| Some(var(name)?.0))? })
    }

    /// Returns these settings with those of a project laid over them, except where the environment gives a value. An
    /// invalid value, which a newer version may have stored, does not count, and neither does one that a project may
    /// not set.
    pub fn overlaid(&self, stored: &BTreeMap<String, String>) -> Result<Self, EngineError> {
        self.clone().changed(&|name: &str| {
            let setting = Setting::find(name)?;
            let value = setting.read(stored.get(name)?).ok()?;
            let overruled = setting.is_overruled(self.giver(setting.name));
            (setting.counts_in_project(&value) && !overruled).then_some(value)
        })
    }

    /// Returns these settings with a value from the configuration of the host, which counts where no other source
    /// gives one.
    pub fn with_host_value(
        self,
        setting: &'static Setting,
        value: &str,
    ) -> Result<Self, EngineError> {
        if self.given(setting.name).is_some() {
            return Ok(self);
        }
        let value = setting.read(value)?;
        let mut changed =
            self.changed(&|name: &str| (name == setting.name).then(|| value.clone()))?;
        changed.given.0.insert(setting.name, (value, Source::Host));
        Ok(changed)
    }

    /// The value that was given for a setting, as it was written; none where its default counts.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.given.0.get(name).map(|(value, _)| value.as_str())
    }

    /// Returns the source of the value that was given for a setting.
    pub(crate) fn giver(&self, name: &str) -> Source {
        self.given.0.get(name).map_or(Source::Default, |(_, source)| *source)
    }

    fn changed(self, var: &impl Fn(&str) -> Option<String>) -> Result<Self, EngineError> {
        let Self { kept, budget, limits, .. } = self;
        Ok(Self {
            frame_mode: flag(var, "STACK_FRAME_MODE")?.unwrap_or(self.frame_mode),
            profile: known(var, "STACK_TOOLS", &Profile::NAMED)?.unwrap_or(self.profile),
            kept: Kept {
                files: flag(var, "STACK_FILES")?.unwrap_or(kept.files),
                rollback: flag(var, "STACK_ROLLBACK")?.unwrap_or(kept.rollback),
                log: flag(var, "STACK_LOG")?.unwrap_or(kept.log),
            },
            placement: known(var, "STACK_CONTEXT_PLACEMENT", &Placement::NAMED)?
                .unwrap_or(self.placement),
            reasoning: known(var, "STACK_FOLD_REASONING", &REASONING)?.unwrap_or(self.reasoning),
            budget: TokenBudget {
                total: number(var, "STACK_TOKEN_BUDGET_TOTAL")?.unwrap_or(budget.total),
                ancestors: number(var, "STACK_TOKEN_BUDGET_ANCESTORS")?.unwrap_or(budget.ancestors),
                siblings: number(var, "STACK_TOKEN_BUDGET_SIBLINGS")?.unwrap_or(budget.siblings),
                current: number(var, "STACK_TOKEN_BUDGET_CURRENT")?.unwrap_or(budget.current),
                ..budget
            },
            imported_siblings: flag(var, "STACK_CONTEXT_IMPORTED")?
                .unwrap_or(self.imported_siblings),
            sessions: known(var, "STACK_FRAME_SESSIONS", &FrameSessions::NAMED)?
                .unwrap_or(self.sessions),
            limits: Limits {
                depth: number(var, "STACK_LIMIT_DEPTH")?.unwrap_or(limits.depth),
                children: number(var, "STACK_LIMIT_CHILDREN")?.unwrap_or(limits.children),
                live_frames: number(var, "STACK_LIMIT_LIVE_FRAMES")?.unwrap_or(limits.live_frames),
                live_sessions: number(var, "STACK_LIMIT_LIVE_SESSIONS")?
                    .unwrap_or(limits.live_sessions),
            },
            consolidate_above: number(var, "STACK_CONSOLIDATE_ABOVE")?
                .unwrap_or(self.consolidate_above),
            autonomy: AutonomySettings::from_vars(var, self.autonomy)?,
            subagents: subagents::from_vars(var, self.subagents)?,
            summarizer: summarizer::from_vars(var, self.summarizer)?,
            agent_requests: flag(var, "STACK_AGENT_REQUESTS")?.unwrap_or(self.agent_requests),
            mask_outputs: known(var, "STACK_MASK_OUTPUTS", &MaskOutputs::NAMED)?
                .unwrap_or(self.mask_outputs),
            given: self.given,
        })
    }
}

const REASONING: [(&str, ReasoningPolicy); 2] =
    [("strip", ReasoningPolicy::Strip), ("wait", ReasoningPolicy::Wait)];

impl FrameSessions {
    const NAMED: [(&'static str, Self); 4] = [
        ("asked", Self::Asked),
        ("activate", Self::Activate),
        ("always", Self::Always),
        ("never", Self::Never),
    ];
}

impl MaskOutputs {
    const NAMED: [(&'static str, Self); 3] =
        [("auto", Self::Auto), ("on", Self::On), ("off", Self::Off)];
}

impl Placement {
    const NAMED: [(&'static str, Self); 2] = [("output", Self::Output), ("system", Self::System)];
}
