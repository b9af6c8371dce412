//! Results without a model: the agent's own words at the end of its work.

use super::Activity;
use crate::secrets::take_to_token_budget;
use crate::text::CUT;

/// Estimated tokens that extracted results take at most.
pub const RESULTS_TOKENS: usize = 150;

/// The agent's last words without secrets, in at most `max` estimated tokens; none where it said nothing.
pub fn extract_results(span: &[Activity], max: usize) -> Option<String> {
    let last = span.iter().rev().find_map(|activity| match activity {
        Activity::Said(text) if !text.trim().is_empty() => Some(text.trim()),
        _ => None,
    })?;
    Some(take_to_token_budget(last, max, CUT))
}
