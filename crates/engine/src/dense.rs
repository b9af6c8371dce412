//! The dense version of a text that has none.

/// Estimated tokens of it.
const TOKENS: usize = 60;

/// The beginning of a text, with its secrets masked.
pub(crate) fn compact(text: &str) -> String {
    callstack_core::secrets::cut_to_token_budget(text, TOKENS, " …").into_owned()
}
