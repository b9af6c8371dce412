//! The operation that shows and changes the user's own configuration.

use std::collections::BTreeMap;

use callstack_engine::operation::{
    Access, Caller, CallerKind, Operate, Repeated, Reply, TERMINAL_ONLY,
};
use callstack_engine::{Configured, EngineError, Setting, SettingEntry, SettingsOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Machine;
use crate::{project, user};

/// `stack_user_settings`.
pub(crate) struct UserSettings;

/// Arguments of `stack_user_settings`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserSettingsParams {
    /// New values, by the names of their settings
    #[serde(default)]
    pub(crate) set: BTreeMap<String, String>,
    /// Names of settings to forget
    #[serde(default)]
    pub(crate) reset: Vec<String>,
}

impl Operate<Machine> for UserSettings {
    const NAME: &'static str = "stack_user_settings";
    const SUMMARY: &'static str = "View the settings as they apply where no project sets them, and change the user's own \
        configuration: all of the changes, or none.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = UserSettingsParams;
    type Output = SettingsOutput;

    fn run(
        _: &Machine,
        _: &Caller,
        params: UserSettingsParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let mut changes = Vec::new();
        for (name, value) in &params.set {
            let setting = Setting::meant(name)?;
            setting.read(value)?;
            changes.push((setting, Some(value.as_str())));
        }
        for name in &params.reset {
            changes.push((Setting::meant(name)?, None));
        }
        if !changes.is_empty() {
            let mut configuration = user::configuration()?;
            for (setting, value) in changes {
                configuration = configuration.with(setting, value)?;
            }
            user::configure(&configuration)?;
        }
        let base = project::settings()?;
        let none = BTreeMap::new();
        let settings = Setting::all();
        let settings =
            settings.map(|setting| SettingEntry::of(Configured::of(setting, &base, &none)));
        let output = SettingsOutput { settings: settings.collect() };
        Ok(Reply::new("settings", "The settings of your own configuration.", output))
    }
}
