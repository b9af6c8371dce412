//! Settings as they count in a project. The environment comes first, then the values in the project's store, until
//! they are reset, then the user's own configuration, then that of the host. Some settings are the user's alone
//! ([`crate::Scope`]). A store that switches the model off overrides the environment, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use callstack_store::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{EngineError, Kind};
use crate::kernel::{Env, Kernel};
use crate::lock::lock;
use crate::settings::{Scope, Setting, Settings};

/// The source of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A variable of the environment.
    Environment,
    /// It was set in the project.
    Set,
    /// The user's own configuration.
    User,
    /// The host's configuration, such as `experimental.frameMode` in OpenCode's.
    Host,
    /// Nobody said anything.
    Default,
}

impl Source {
    /// `environment`, `set`, `user`, `host` or `default`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Set => "set",
            Self::User => "user",
            Self::Host => "host",
            Self::Default => "default",
        }
    }
}

impl Source {
    /// Describes the source to an agent.
    fn description(self) -> &'static str {
        match self {
            Self::Environment => "from the environment",
            Self::Set => "set here",
            Self::User => "from the user's configuration",
            Self::Host => "from the host's configuration",
            Self::Default => "default",
        }
    }
}

/// A setting and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// The setting.
    pub setting: &'static Setting,
    /// Its value.
    pub value: String,
    /// The source of the value.
    pub source: Source,
    /// The value in the project's store that has no effect, since the store may not set it.
    pub ignored: Option<String>,
    /// The value in the project's store that counts once the environment's variable is gone.
    pub overruled: Option<String>,
}

impl Configured {
    /// Returns a setting as it counts where the environment and the user's configuration give `base`, and a project's
    /// store has `stored`, which is empty without a store.
    pub fn of(
        setting: &'static Setting,
        base: &Settings,
        stored: &BTreeMap<String, String>,
    ) -> Self {
        let value = |text: Option<&str>| text.and_then(|text| setting.read(text).ok());
        let stored = value(stored.get(setting.name).map(String::as_str));
        let (stored, ignored) = match stored {
            Some(value) if !setting.counts_in_project(&value) => (None, Some(value)),
            stored => (stored, None),
        };
        let source_of_base = base.giver(setting.name);
        let given = value(base.given(setting.name));
        let (value, source, overruled) = match (given, stored) {
            (Some(value), stored) if setting.is_overruled(source_of_base) => {
                (value, source_of_base, stored)
            }
            (_, Some(value)) => (value, Source::Set, None),
            (Some(value), None) => (value, source_of_base, None),
            (None, None) => (setting.default.to_owned(), Source::Default, None),
        };
        Self { setting, value, source, ignored, overruled }
    }

    /// Returns the source of the value for an agent, and values here that have no effect.
    pub(crate) fn origin(&self) -> String {
        let source = self.source.description();
        match &self.overruled {
            Some(value) => {
                format!("{source}; `{value}` is set here, and counts once the variable is gone")
            }
            None => source.to_owned(),
        }
    }
}

/// The settings as they were last made from the store.
#[derive(Debug)]
pub(crate) struct LayeredSettings {
    /// The settings of the environment and the user's configuration.
    base: Settings,
    stored: BTreeMap<String, String>,
    settings: Arc<Settings>,
}

impl LayeredSettings {
    pub(crate) fn over(base: Settings) -> Self {
        Self { stored: BTreeMap::new(), settings: Arc::new(base.clone()), base }
    }
}

/// Makes the settings again once their sources have changed.
pub(crate) type Reread = Box<dyn Fn() -> Option<Settings> + Send + Sync>;

impl Env {
    /// Sets the function that is asked for changed settings whenever settings are read: the user may have changed the
    /// configuration since the start. The first one counts.
    pub(crate) fn reread_settings_with(
        &self,
        reread: impl Fn() -> Option<Settings> + Send + Sync + 'static,
    ) {
        self.reread.get_or_init(|| Box::new(reread));
    }

    /// Returns the present settings, as a transaction shows them. Reads a small table, and rebuilds only changed
    /// settings.
    pub(crate) fn settings_in(&self, view: &View<'_>) -> Result<Arc<Settings>, EngineError> {
        let stored = view.settings()?;
        let mut layered = lock(&self.layered);
        let base = self.reread.get().and_then(|reread| reread());
        if base.is_some() || layered.stored != stored {
            let base = base.unwrap_or_else(|| layered.base.clone());
            let settings = Arc::new(base.overlaid(&stored)?);
            *layered = LayeredSettings { base, stored, settings };
        }
        Ok(Arc::clone(&layered.settings))
    }

    fn configured(
        &self,
        setting: &'static Setting,
        stored: &BTreeMap<String, String>,
    ) -> Configured {
        Configured::of(setting, &lock(&self.layered).base, stored)
    }
}

impl Kernel {
    /// Every setting, in the table's order.
    pub(crate) fn configuration(&self) -> Result<Vec<Configured>, EngineError> {
        let stored = self.stored_settings()?;
        Ok(Setting::all().map(|setting| self.env.configured(setting, &stored)).collect())
    }

    /// Returns the value and the source of a setting.
    pub(crate) fn configured_as(
        &self,
        setting: &'static Setting,
    ) -> Result<Configured, EngineError> {
        Ok(self.env.configured(setting, &self.stored_settings()?))
    }

    /// Sets a setting in the project, or resets it.
    pub(crate) fn configure(
        &self,
        setting: &'static Setting,
        value: Option<&str>,
    ) -> Result<Configured, EngineError> {
        let value = value.map(|value| setting.read(value)).transpose()?;
        // A setting that a project may only switch off is on again once the project resets it, unless the user has it
        // off.
        let given = lock(&self.env.layered).base.given(setting.name).map(str::to_owned);
        let is_off = given.and_then(|it| setting.read(&it).ok());
        let is_off = is_off.as_deref() == Some("off");
        let is_reset = setting.scope == Scope::OffInProject && !is_off;
        let value = value.filter(|value| !(is_reset && value == "on"));
        if let Some(value) = value.as_deref().filter(|it| !setting.counts_in_project(it)) {
            return Err(not_here(setting, value));
        }
        if self.stored_settings()?.get(setting.name) != value.as_ref() {
            self.set_setting(setting.name, value.as_deref())?;
        }
        self.configured_as(setting)
    }
}

/// The most settings that are suggested for a name that none has.
const SUGGESTED: usize = 3;

fn not_here(setting: &Setting, value: &str) -> EngineError {
    let hint = match setting.scope {
        Scope::OffInProject => {
            "A project may only switch it off; `callstack config --reset` forgets that."
        }
        _ => "It is set in your own configuration, for all projects.",
    };
    EngineError::invalid(format!("{} is not set to `{value}` by a project", setting.name), hint)
}

impl Setting {
    /// Whether a project's value counts only without another source's. A project that switches the model off counts
    /// in any case: nothing of it is to leave the machine.
    pub(crate) fn is_overruled(&self, giver: Source) -> bool {
        giver == Source::Environment && self.scope != Scope::User
    }

    /// Finds a setting by its name, in any case, with or without the common prefix, `frame-mode` and `frameMode` for
    /// `STACK_FRAME_MODE`.
    pub fn meant(name: &str) -> Result<&'static Self, EngineError> {
        let letters = |text: &str| -> String {
            let kept = text.chars().filter(char::is_ascii_alphanumeric);
            let upper: String = kept.map(|char| char.to_ascii_uppercase()).collect();
            upper.strip_prefix("STACK").map_or(upper.clone(), str::to_owned)
        };
        let wanted = letters(name);
        Self::all().find(|setting| letters(setting.name) == wanted).ok_or_else(|| {
            let near =
                Self::all().filter(|it| wanted.len() > 2 && letters(it.name).contains(&wanted));
            let near: Vec<_> = near.take(SUGGESTED).map(|it| it.name).collect();
            let all = "`callstack config` lists them all.";
            EngineError::new(Kind::NotFound, format!("there is no setting `{name}`")).with_hint(
                match near.as_slice() {
                    [] => all.to_owned(),
                    near => format!("Did you mean {}? {all}", near.join(" or ")),
                },
            )
        })
    }
}
