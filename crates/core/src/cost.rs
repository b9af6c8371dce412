//! What a request costs where the provider caches prompts, and whether a change to what was sent before is
//! worth it.
//!
//! What is cut or replaced has to be sent anew from there on. Sessions end without notice, so a change may
//! not make one that ends right behind it much dearer than it would have been.

/// What a token of input costs that the provider has in its cache, in hundredths.
pub const CACHED: usize = 10;
/// What a new one costs.
pub const NEW: usize = 125;

/// By how much a change may make a session dearer that ends right behind it: as many thousandths of what the
/// session has cost so far.
const TOLERATED: usize = 20;

/// Milliseconds without a call after which a provider has forgotten the request.
pub const PAUSE: i64 = 5 * 60 * 1_000;

/// A span that may be folded. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Tokens of its messages.
    pub span: usize,
    /// Tokens of what stands for it and of what stays of it.
    pub stands: usize,
    /// Tokens of the whole request before.
    pub request: usize,
    /// Whether the provider has the request in its cache.
    pub is_cached: bool,
    /// Calls of the model that were made so far.
    pub calls: usize,
}

/// Whether a span is folded: what stands for it is shorter, and costs little more in the next request than
/// the span would have. One that is not stays as it is until a frame
/// around it folds, or until the request is new anyway.
pub fn is_worth(exchange: &Exchange) -> bool {
    let Exchange { span, stands, request, is_cached, calls } = *exchange;
    let whole = span * if is_cached { CACHED } else { NEW };
    stands < span && stands * NEW <= whole + tolerated(request, calls)
}

/// By how much a change may make a session dearer that ends right behind it, in hundredths of a token: its
/// request has so many `tokens`, and so many `calls` of the model were made.
pub(crate) fn tolerated(tokens: usize, calls: usize) -> usize {
    // Everything was new once, and from the cache since, as a request that grew steadily.
    let so_far = tokens * NEW + tokens * CACHED * calls / 2;
    so_far * TOLERATED / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_span_is_worth_it_and_a_small_one_only_where_little_is_lost() {
        let large =
            Exchange { span: 20_000, stands: 1_600, request: 24_000, is_cached: true, calls: 10 };
        assert!(is_worth(&large));
        let small = Exchange { span: 3_000, stands: 500, request: 4_000, ..large };
        assert!(!is_worth(&small));
        assert!(is_worth(&Exchange { request: 20_000, ..small }), "beside the rest it is little");
        assert!(
            is_worth(&Exchange { calls: 100, ..small }),
            "beside what it has cost it is little"
        );
        assert!(is_worth(&Exchange { is_cached: false, ..small }), "everything is new anyway");
        let longer = Exchange { span: 400, stands: 400, is_cached: false, ..large };
        assert!(!is_worth(&longer), "nothing would be won");
    }
}
