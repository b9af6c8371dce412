//! Masking: which older tool outputs of work that goes on are replaced by a line, and when.
//!
//! What is masked changes the request in its middle, and the provider's cache is lost from there on. So
//! outputs are masked in batches, only when a batch is worth it, and what was masked once stays masked.
//!
//! Not here: what stands for an output ([`crate::returned::masked`]), and how it gets into a request
//! ([`crate::fold::Mask`]).

use crate::cost::{CACHED, NEW};

/// When outputs are masked. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tokens of the newest outputs, which stay: what the agent is working with. The default is 12,000 to 18,000
    /// as providers count them.
    pub recent: usize,
    /// Tokens that a batch has to free.
    pub batch: usize,
    /// Tokens below which an output is not worth a line.
    pub least: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { recent: 8_000, batch: 4_000, least: 200 }
    }
}

/// A tool output that would be sent as it is, in the order of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its tokens.
    pub tokens: usize,
    /// Tokens of the request in front of it.
    pub at: usize,
    /// Whether the model has not read it yet.
    pub unread: bool,
}

/// Tokens of the line that stands for an output.
pub const LINE: usize = 30;

/// How many calls of the model are to be expected, of which so many came since the user spoke: what goes on
/// for long goes on, but sessions end without notice, and one that ends right behind a batch has paid for
/// it in vain. So a tenth.
pub fn calls_ahead(since_the_user: usize) -> usize {
    since_the_user / 10
}

/// Which outputs to mask now, as places in `outputs`: all that are large and not recent, or none.
///
/// `cached` is how many tokens the request begins with that the provider has in its cache, 0 after a pause;
/// `calls` how many calls of the model are expected to follow.
pub fn due(outputs: &[Output], cached: usize, calls: usize, limits: &Limits) -> Vec<usize> {
    let mut newest = 0;
    let mut chosen: Vec<usize> = Vec::new();
    for (place, output) in outputs.iter().enumerate().rev() {
        let is_old = newest >= limits.recent && !output.unread;
        if is_old && output.tokens >= limits.least.max(LINE) {
            chosen.push(place);
        }
        newest += output.tokens;
    }
    chosen.reverse();
    let freed = |place: &usize| outputs[*place].tokens - LINE;
    let freed_all: usize = chosen.iter().map(freed).sum();
    let Some(first) = chosen.first().filter(|_| freed_all >= limits.batch.max(1)) else {
        return Vec::new();
    };
    let in_cache = chosen.iter().filter(|place| outputs[**place].at < cached);
    let freed_in_cache: usize = in_cache.map(freed).sum();
    let gain =
        CACHED * freed_in_cache + NEW * (freed_all - freed_in_cache) + CACHED * freed_all * calls;
    let sent_anew = cached.saturating_sub(outputs[*first].at).saturating_sub(freed_in_cache);
    if gain > (NEW - CACHED) * sent_anew { chosen } else { Vec::new() }
}

#[cfg(test)]
#[path = "masking_tests.rs"]
mod tests;
