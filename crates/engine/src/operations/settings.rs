//! The operation that shows the settings of a project and changes one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::kernel::configuration::{Configured, Source};
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
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SettingsOutput {
    /// The settings, in the order of the reference
    pub settings: Vec<SettingEntry>,
}

/// A setting as it applies.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingEntry {
    /// The variable of the environment that it may be given in
    pub name: String,
    /// Value in effect
    pub value: String,
    /// Unit of a number
    pub unit: Option<String>,
    /// The meaning of the value, where it is a word
    pub means: Option<String>,
    /// Where the value comes from
    pub source: Source,
    /// A value in the project's store that has no effect, since a project may not set it
    pub ignored: Option<String>,
    /// A value in the project's store that counts once the environment's variable is gone
    pub overruled: Option<String>,
    /// Value unless another one is given
    pub default: String,
    /// Its values, in words
    pub may_be: String,
    /// The meaning of each of its values
    #[schemars(with = "BTreeMap<String, String>")]
    pub meanings: Map<String, Value>,
    /// What it does
    pub doc: String,
}

impl SettingEntry {
    /// Returns the setting with its value. Fails with [`crate::Kind::Invalid`] if there is no such setting.
    pub fn configured(self) -> Result<Configured, EngineError> {
        let setting = Setting::meant(&self.name)?;
        let Self { value, source, ignored, overruled, .. } = self;
        Ok(Configured { setting, value, source, ignored, overruled })
    }

    /// Returns the entry of a setting.
    pub fn of(configured: Configured) -> Self {
        let setting = configured.setting;
        let meanings = setting.meanings.iter();
        Self {
            name: setting.name.to_owned(),
            unit: setting.unit.map(|unit| unit.name.to_owned()),
            means: setting.meant_by(&configured.value).map(str::to_owned),
            value: configured.value,
            source: configured.source,
            ignored: configured.ignored,
            overruled: configured.overruled,
            default: setting.default.to_owned(),
            may_be: setting.values.in_words(),
            meanings: meanings.map(|(of, means)| ((*of).to_owned(), (*means).into())).collect(),
            doc: setting.doc.to_owned(),
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
