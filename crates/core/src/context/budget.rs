//! The tokens that the context and its sections may take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::UNITS_PER_TOKEN;

/// Upper limits in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenBudget {
    /// For the whole text; only pins, and the frame itself beside them, may exceed it.
    pub total: usize,
    /// For the chain of ancestors.
    pub ancestors: usize,
    /// For finished siblings.
    pub siblings: usize,
    /// For the current frame together with its planned children.
    pub current: usize,
    /// The part of `total` that the defaults leave for the tags around the sections.
    pub overhead: usize,
}

impl Default for TokenBudget {
    fn default() -> Self {
        Self { total: 4000, ancestors: 1500, siblings: 1500, current: 800, overhead: 200 }
    }
}

/// Converts between real tokens and the estimate's units, corrected by the host's reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calibration(f64);

impl Calibration {
    /// A factor that makes no sense (zero, negative, not a number) corrects nothing.
    pub(super) fn new(factor: f64) -> Self {
        Self(if factor.is_finite() && factor > 0.0 { factor.clamp(0.25, 4.0) } else { 1.0 })
    }

    /// Returns the cost in tokens of so many `units` of the estimate, rounded up.
    pub(super) fn tokens(self, units: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small, positive"
        )]
        let tokens = (units.div_ceil(UNITS_PER_TOKEN) as f64 * self.0).ceil() as usize;
        tokens
    }

    /// Returns the units of the estimate that so many `tokens` allow.
    pub(super) fn units(self, tokens: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; a cast saturates"
        )]
        let whole = (tokens as f64 / self.0).floor() as usize;
        whole.saturating_mul(UNITS_PER_TOKEN)
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
