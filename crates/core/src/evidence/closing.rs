//! Results without a model: what the agent itself said at the end of its work.

use super::Happening;
use crate::text::{CUT, truncate_to_token_budget};

/// Estimated tokens that extracted results take at most.
pub const RESULTS_TOKENS: usize = 150;

/// The agent's last words, in at most `max` estimated tokens; none where it said nothing.
pub fn extract_results(span: &[Happening], max: usize) -> Option<String> {
    let last = span.iter().rev().find_map(|happening| match happening {
        Happening::Said(text) if !text.trim().is_empty() => Some(text.trim()),
        _ => None,
    })?;
    Some(truncate_to_token_budget(last, max, CUT).into_owned())
}
