//! The operation that shows the settings of a project and changes one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::kernel::configuration::Configured;
use crate::operation::{Access, Caller, CallerKind, Operate, PEOPLE, Repeated};
use crate::settings::Setting;

/// `stack_settings`.
pub(crate) struct Settings;

/// Arguments of `stack_settings`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SettingsParams {
    /// A setting, such as `STACK_FRAME_MODE` or `frame-mode`; default: all
    name: Option<String>,
    /// Its new value in this project
    value: Option<String>,
    /// Forget what was set in this project: for this setting, or for all
    #[serde(default)]
    reset: bool,
}

/// Settings as they apply in this project.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct SettingsOutput {
    settings: Vec<SettingEntry>,
}

/// A setting as it applies.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SettingEntry {
    /// The variable of the environment that it may be given in
    name: &'static str,
    value: String,
    unit: Option<&'static str>,
    /// The meaning of the value, where it is a word
    means: Option<&'static str>,
    /// Where the value comes from: `environment`, `set`, `user`, `host` or `default`
    source: &'static str,
    /// A value in the project's store that has no effect, since a project may not set it
    ignored: Option<String>,
    /// A value in the project's store that counts once the environment's variable is gone
    overruled: Option<String>,
    default: &'static str,
    /// Its values, in words
    may_be: String,
    /// The meaning of each of its values
    meanings: BTreeMap<&'static str, &'static str>,
    doc: &'static str,
}

impl SettingEntry {
    fn of(configured: Configured) -> Self {
        let setting = configured.setting;
        Self {
            name: setting.name,
            unit: setting.unit.map(|unit| unit.name),
            means: setting.meant_by(&configured.value),
            value: configured.value,
            source: configured.source.as_str(),
            ignored: configured.ignored,
            overruled: configured.overruled,
            default: setting.default,
            may_be: setting.values.told(),
            meanings: setting.meanings.iter().copied().collect(),
            doc: setting.doc,
        }
    }
}

impl Operate for Settings {
    const NAME: &'static str = "stack_settings";
    const SUMMARY: &'static str = "View the settings of this project, change one, or reset it.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    type Params = SettingsParams;
    type Output = SettingsOutput;

    fn run(
        engine: &Engine,
        _: &Caller,
        params: SettingsParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let configured =
            match (params.name.as_deref().map(Setting::meant).transpose()?, params.value) {
                (Some(setting), Some(value)) => vec![engine.configure(setting, Some(&value))?],
                (Some(setting), None) if params.reset => vec![engine.configure(setting, None)?],
                (Some(setting), None) => vec![engine.configured_as(setting)?],
                (None, Some(_)) => {
                    return Err(EngineError::invalid(
                        "a value was given, and no setting",
                        "Name the setting that it is for.",
                    ));
                }
                (None, None) => {
                    if params.reset {
                        for name in engine.stored_settings()?.keys() {
                            engine.set_setting(name, None)?;
                        }
                    }
                    engine.configuration()?
                }
            };
        let mut text = String::new();
        for one in &configured {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{}: {} ({})", one.setting.name, one.value, one.origin());
        }
        let settings = configured.into_iter().map(SettingEntry::of).collect();
        Ok(Reply::new("settings", text.trim_end(), SettingsOutput { settings }))
    }
}
