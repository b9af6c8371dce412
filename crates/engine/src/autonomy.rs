//! What callstack does about frames unasked.

use std::collections::HashMap;

use callstack_store::View;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::settings::AutonomySettings;

impl Engine {
    /// How much callstack does unasked, as it counts now: what was set at run time lies over the
    /// environment.
    pub fn autonomy(&self) -> Result<AutonomySettings, EngineError> {
        self.store.read(|view| self.autonomy_in(view))
    }

    pub(crate) fn autonomy_in(&self, view: &View<'_>) -> Result<AutonomySettings, EngineError> {
        let mut stored = HashMap::new();
        for name in AutonomySettings::VARIABLES {
            stored.insert(name, view.setting(name)?);
        }
        let var = |name: &str| stored.get(name).cloned().flatten();
        AutonomySettings::from_vars(var, self.settings.autonomy.clone())
    }
}
