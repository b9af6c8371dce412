//! Masking: which tool outputs of work that goes on are replaced by a few lines, and when.
//!
//! An output leaves for one of two reasons. Something newer replaced it: the same lines of a file were read again,
//! the file was written whole, the same call was made again. Or the request comes close to the model's limit: then
//! the oldest outputs leave, none of the last steps, announced one step before. Size and age alone are no reason: a
//! hidden output must not be one that the agent works with.
//!
//! A mask changes the request in its middle, and the provider's cache is lost from there on. So outputs are masked in
//! batches, only when a batch is worth it, and a masked output stays masked.
//!
//! [`outputs`] lists the outputs of a request that could be masked, [`subject`] decides which one replaces another.
//!
//! Not here: the text that replaces an output ([`crate::returned::pressed`]), and its way into a request
//! ([`crate::fold::Mask`]).

pub mod outputs;
pub mod subject;

use crate::cost::{CACHED, NEW, tolerated};

/// When outputs are masked. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tokens that a batch has to free.
    pub batch: usize,
    /// Tokens below which an output is not worth a line.
    pub least: usize,
    /// The newest steps of the model, whose outputs leave only if they are replaced.
    pub steps: usize,
    /// Hundredths of the model's limit from which on outputs leave even if nothing replaced them.
    pub pressure: usize,
    /// Hundredths of the model's limit that the request is brought down to then.
    pub relief: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { batch: 4_000, least: 200, steps: 10, pressure: 60, relief: 40 }
    }
}

/// A tool output that would be sent as it is, in the order of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its tokens.
    pub tokens: usize,
    /// Tokens of the request before it.
    pub at: usize,
    /// Steps of the model after the one with its call. 0: the model has not read it yet.
    pub steps_since: usize,
    /// Whether something newer in the same request replaced it.
    pub is_replaced: bool,
}

/// Tokens of the line that replaces an output.
pub const LINE: usize = 30;

/// A request in which outputs may be masked. Tokens are estimated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its tokens.
    pub tokens: usize,
    /// The tokens at its beginning that the provider has in its cache; 0 after a pause.
    pub cached: usize,
    /// Calls of the model that were made so far.
    pub calls: usize,
    /// Those of them that were made since the user spoke.
    pub since_the_user: usize,
    /// Hundredths of the model's limit that the request takes, as the provider counts; none where the limit or
    /// the count is not known.
    pub fill: Option<usize>,
}

/// Outputs that leave together, as places in the list they were chosen from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// Something newer replaced each of them. They leave at once.
    Replaced(Vec<usize>),
    /// The request comes close to the limit. They leave one step after it was announced.
    Pressed(Vec<usize>),
}

/// Chooses the outputs to mask now, if a batch of them is worth it.
pub fn due(outputs: &[Output], request: &Request, limits: &Limits) -> Option<Batch> {
    let large = |output: &Output| output.steps_since > 0 && output.tokens >= limits.least.max(LINE);
    let places = |fits: &dyn Fn(&Output) -> bool| -> Vec<usize> {
        let chosen = outputs.iter().enumerate().filter(|(_, output)| large(output) && fits(output));
        chosen.map(|(place, _)| place).collect()
    };
    let replaced = places(&|output| output.is_replaced);
    // Sessions end without notice: a batch must not make one much dearer that ends right after it.
    let is_tolerated =
        |price: &Price| price.lost <= price.won_now + tolerated(request.tokens, request.calls);
    if let Some(price) = price(outputs, &replaced, request, limits)
        && price.pays(request.since_the_user / 4)
        && is_tolerated(&price)
    {
        return Some(Batch::Replaced(replaced));
    }
    let fill = request.fill.filter(|fill| *fill >= limits.pressure)?;
    let relief = request.tokens * fill.saturating_sub(limits.relief) / fill;
    let mut pressed = places(&|output| output.is_replaced || output.steps_since > limits.steps);
    let mut freed = 0;
    pressed.retain(|place| {
        let enough = freed >= relief;
        freed += outputs[*place].tokens - LINE;
        !enough
    });
    let price = price(outputs, &pressed, request, limits)?;
    price.pays(request.since_the_user).then_some(Batch::Pressed(pressed))
}

/// The cost and the gain of a batch, in hundredths of a token.
struct Price {
    lost: usize,
    won_now: usize,
    won_by_each_call: usize,
}

impl Price {
    /// Whether the batch is worth it if so many further calls follow. Work that has gone on for long is likely to
    /// continue.
    fn pays(&self, calls: usize) -> bool {
        self.won_now + self.won_by_each_call * calls > self.lost
    }
}

/// The price of masking some of the outputs; none if they free too little.
fn price(
    outputs: &[Output],
    chosen: &[usize],
    request: &Request,
    limits: &Limits,
) -> Option<Price> {
    let freed = |place: &usize| outputs[*place].tokens - LINE;
    let freed_all: usize = chosen.iter().map(freed).sum();
    let first = chosen.first().filter(|_| freed_all >= limits.batch.max(1))?;
    let in_cache = chosen.iter().filter(|place| outputs[**place].at < request.cached);
    let freed_in_cache: usize = in_cache.map(freed).sum();
    let resent = request.cached.saturating_sub(outputs[*first].at).saturating_sub(freed_in_cache);
    Some(Price {
        lost: (NEW - CACHED) * resent,
        won_now: CACHED * freed_in_cache + NEW * (freed_all - freed_in_cache),
        won_by_each_call: CACHED * freed_all,
    })
}

#[cfg(test)]
#[path = "masking_tests.rs"]
mod tests;
