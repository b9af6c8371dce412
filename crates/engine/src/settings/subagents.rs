//! Settings for the frames of child sessions.

use callstack_core::subagent::SubagentSettings;

use super::{flag, list, number};
use crate::error::EngineError;

/// The variables, in the order of the fields.
pub const SUBAGENT_VARIABLES: [&str; 6] = [
    "STACK_SUBAGENT_ENABLED",
    "STACK_SUBAGENT_MIN_DURATION",
    "STACK_SUBAGENT_MIN_MESSAGES",
    "STACK_SUBAGENT_AUTO_COMPLETE",
    "STACK_SUBAGENT_IDLE_DELAY",
    "STACK_SUBAGENT_PATTERNS",
];

/// `base`, changed by the variables that `var` gives a value.
pub(super) fn from_vars(
    var: &impl Fn(&str) -> Option<String>,
    base: SubagentSettings,
) -> Result<SubagentSettings, EngineError> {
    let [enabled, duration, messages, auto_complete, delay, patterns] = SUBAGENT_VARIABLES;
    Ok(SubagentSettings {
        enabled: flag(var, enabled)?.unwrap_or(base.enabled),
        min_duration: number(var, duration)?.unwrap_or(base.min_duration),
        min_messages: number(var, messages)?.unwrap_or(base.min_messages),
        auto_complete: flag(var, auto_complete)?.unwrap_or(base.auto_complete),
        idle_delay: number(var, delay)?.unwrap_or(base.idle_delay),
        patterns: list(var, patterns)?.unwrap_or(base.patterns),
    })
}
