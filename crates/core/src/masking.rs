//! Masking: which older tool outputs of work that goes on are replaced by a line, and when.
//!
//! What is masked changes the request in its middle, and the provider's cache is lost from there on. So
//! outputs are masked in batches, only when a batch is worth it, and what was masked once stays masked.
//!
//! [`outputs`] tells what of a request could be masked.
//!
//! Not here: what stands for an output ([`crate::returned::masked`]), and how it gets into a request
//! ([`crate::fold::Mask`]).

pub mod outputs;

use crate::cost::{CACHED, NEW, tolerated};

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

/// A request in which outputs may be masked. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its tokens.
    pub tokens: usize,
    /// How many it begins with that the provider has in its cache; 0 after a pause.
    pub cached: usize,
    /// Calls of the model that were made so far.
    pub calls: usize,
    /// Those of them that were made since the user spoke.
    pub since_the_user: usize,
}

/// Which outputs to mask now, as places in `outputs`: all that are large and not recent, or none.
///
/// What goes on for long goes on: a quarter as many further calls are expected as there were since the user
/// spoke, and with these a batch has to pay. But sessions end without notice, so that one that ends right
/// behind a batch must not be much dearer for it.
pub fn due(outputs: &[Output], request: &Request, limits: &Limits) -> Vec<usize> {
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
    let in_cache = chosen.iter().filter(|place| outputs[**place].at < request.cached);
    let freed_in_cache: usize = in_cache.map(freed).sum();
    let won_now = CACHED * freed_in_cache + NEW * (freed_all - freed_in_cache);
    let won_later = CACHED * freed_all * (request.since_the_user / 4);
    let sent_anew =
        request.cached.saturating_sub(outputs[*first].at).saturating_sub(freed_in_cache);
    let lost = (NEW - CACHED) * sent_anew;
    let pays = won_now + won_later > lost;
    if pays && lost <= won_now + tolerated(request.tokens, request.calls) {
        chosen
    } else {
        Vec::new()
    }
}

#[cfg(test)]
#[path = "masking_tests.rs"]
mod tests;
