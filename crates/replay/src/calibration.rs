//! The number of real tokens in an estimated one, by the provider's reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::item::ItemNum;
use crate::requests::{Played, Requests};
use crate::session::Session;

/// Reports from which on a line is drawn through them.
const LEAST: usize = 5;
/// Reports that are compared with one another at most.
const COMPARED: usize = 200;
/// The plausible numbers of real tokens in an estimated one; other ratios don't come from the text.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.25..=4.0;

/// Tokens beside the conversation where nothing was reported: about the size of system prompt and tools of coding
/// agents.
pub const BESIDE: u64 = 15_000;

/// The calibration of tokens, by the provider's reports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    /// Tokens for each estimated one.
    pub factor: f64,
    /// Tokens beside the conversation: system prompt and tools. The excess of the first report over the conversation,
    /// or [`BESIDE`] where nothing was reported.
    pub beside: u64,
    /// The number of reports that the line is fitted to; without any, the estimate is used as it is.
    pub reports: usize,
    /// The share by which half of the reports deviate from the line at most.
    pub off: f64,
}

impl Fit {
    /// Fits a line through the reports of a session whose requests are known.
    ///
    /// It uses the median of the slopes between any two reports, and then of the remainders: single requests that
    /// held something else (images, a retry of another model) do not move it.
    pub(crate) fn of(session: &Session, sent: &Requests) -> Self {
        let sum = |items: &[ItemNum]| {
            items.iter().map(|item| session.items.get(*item).estimated).sum::<u64>()
        };
        let (mut played, mut estimate) = (Played::new(sent), 0);
        let mut points: Vec<(f64, f64)> = Vec::new();
        for call in &session.calls {
            if played.next() {
                estimate = estimate + sum(&played.added) - sum(&played.removed);
            }
            if let Some(usage) = call.usage.filter(|usage| usage.input > 0) {
                points.push((estimate as f64, usage.input as f64));
            }
        }
        let step = points.len().div_ceil(COMPARED).max(1);
        let few: Vec<_> = points.iter().step_by(step).copied().collect();
        let mut slopes = Vec::new();
        for (at, one) in few.iter().enumerate() {
            for other in &few[at + 1..] {
                if (other.0 - one.0).abs() >= 1.0 {
                    slopes.push((other.1 - one.1) / (other.0 - one.0));
                }
            }
        }
        let factor = median(&mut slopes).filter(|_| points.len() >= LEAST);
        let Some(factor) = factor.filter(|factor| PLAUSIBLE.contains(factor)) else {
            return Self { factor: 1.0, beside: BESIDE, reports: 0, off: 0.0 };
        };
        let mut left: Vec<f64> = points.iter().map(|(x, y)| y - factor * x).collect();
        let base = median(&mut left).unwrap_or_default().max(0.0);
        let off = points.iter().map(|(x, y)| (base + factor * x - y).abs() / y.max(1.0));
        let mut off: Vec<f64> = off.collect();
        let first = points.first().map_or(0.0, |(x, y)| (y - factor * x).max(0.0).round());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0")]
        let beside = first as u64;
        Self { factor, beside, reports: points.len(), off: median(&mut off).unwrap_or_default() }
    }

    /// The tokens of a text of so many estimated ones.
    pub fn tokens(&self, estimated: u64) -> u64 {
        let tokens = (estimated as f64 * self.factor).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0")]
        let tokens = tokens as u64;
        tokens
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let (_, found, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*found)
}
