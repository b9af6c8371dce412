//! The cost of a request where the provider caches prompts, and whether a change to what was sent before is worth
//! it.
//!
//! Everything after a cut or a replacement has to be sent uncached. Sessions end without notice, so a change must
//! not make a session that ends right after it much dearer than it would have been.

/// The cost of an input token that the provider has in its cache, in hundredths of an input token's price.
pub const CACHED: usize = 10;
/// The cost of an input token that is not in the cache, in the same unit.
pub const NEW: usize = 125;

/// The cost of a token that the model writes, in the same unit.
pub const WRITTEN: usize = 500;

/// Estimated tokens of the text that replaces steps that are closed after the fact.
const RETURNED: usize = 400;

/// Steps that may be closed after the fact. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing {
    /// Tokens of the steps.
    pub steps: usize,
    /// Tokens of the whole request.
    pub request: usize,
    /// Calls of the model since the user spoke last.
    pub calls: usize,
}

/// Whether closing steps pays: the cost of the call that closes them, of its output and of the tokens that are new in
/// the next request, against the saving in as many further calls as there were since the user's last message.
pub fn pays_to_close(closing: &Closing) -> bool {
    let Closing { steps, request, calls } = *closing;
    let won = steps.saturating_sub(RETURNED) * CACHED * calls;
    won > request * CACHED + RETURNED * (WRITTEN + NEW)
}

/// The most by which a change may raise the cost of a session that ends right after it, in thousandths of the
/// session's cost so far.
const TOLERATED: usize = 30;

/// Milliseconds without a call after which a provider has forgotten the request.
pub const PAUSE: i64 = 5 * 60 * 1_000;

/// A span that may be folded. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldCost {
    /// Tokens of its messages.
    pub span: usize,
    /// Tokens of the text that replaces it and of its parts that stay.
    pub stands: usize,
    /// Tokens after it that were in the request before and would be sent uncached.
    pub after: usize,
    /// Tokens of the whole request before.
    pub request: usize,
    /// Whether the provider has the request in its cache.
    pub is_cached: bool,
    /// Calls of the model that were made so far.
    pub calls: usize,
}

/// Whether a span is folded: its replacement is shorter and, with everything after it that has to be sent uncached,
/// costs little more in the next request than the span would have. A span that is not folded stays as it is until a
/// frame around it folds, or until the request is new anyway.
pub fn is_worth(cost: &FoldCost) -> bool {
    let FoldCost { span, stands, after, request, is_cached, calls } = *cost;
    let whole = span * if is_cached { CACHED } else { NEW };
    let resent = if is_cached { after * (NEW - CACHED) } else { 0 };
    stands < span && stands * NEW + resent <= whole + tolerated(request, calls)
}

/// Returns the most by which a change may raise the cost of a session that ends right after it, in hundredths of a
/// token. `tokens` are those of its request, `calls` the number of calls of the model so far.
pub(crate) fn tolerated(tokens: usize, calls: usize) -> usize {
    // Everything was new once, and from the cache since, as a request that grew steadily.
    let so_far = tokens * NEW + tokens * CACHED * calls / 2;
    so_far * TOLERATED / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_pays_where_much_leaves_and_many_calls_follow() {
        let large = Closing { steps: 9_000, request: 50_000, calls: 10 };
        assert!(pays_to_close(&large));
        assert!(!pays_to_close(&Closing { steps: 3_000, ..large }), "it costs a whole request");
        assert!(!pays_to_close(&Closing { calls: 4, ..large }), "the turn may soon be over");
        assert!(pays_to_close(&Closing { request: 10_000, calls: 5, ..large }), "it is nearly all");
        assert!(!pays_to_close(&Closing { steps: 300, calls: 1_000, ..large }), "nothing is won");
    }

    #[test]
    fn a_large_span_is_worth_it_and_a_small_one_only_where_little_is_lost() {
        let large = FoldCost {
            span: 20_000,
            stands: 1_600,
            after: 0,
            request: 24_000,
            is_cached: true,
            calls: 10,
        };
        assert!(is_worth(&large));
        let in_front = FoldCost { after: 8_000, ..large };
        assert!(!is_worth(&in_front), "more has to be sent anew than is won");
        assert!(is_worth(&FoldCost { is_cached: false, ..in_front }), "it is new anyway");
        let small = FoldCost { span: 3_000, stands: 500, request: 4_000, ..large };
        assert!(!is_worth(&small));
        assert!(is_worth(&FoldCost { request: 20_000, ..small }), "beside the rest it is little");
        assert!(
            is_worth(&FoldCost { calls: 100, ..small }),
            "beside what it has cost it is little"
        );
        assert!(is_worth(&FoldCost { is_cached: false, ..small }), "everything is new anyway");
        let longer = FoldCost { span: 400, stands: 400, is_cached: false, ..large };
        assert!(!is_worth(&longer), "nothing would be won");
    }
}
