//! The figures of one way of sending a session.

use callstack_core::cost::{self, PAUSE};
use serde::Serialize;

use crate::changes::Need;
use crate::item::{ItemNum, Items};
use crate::requests::{Played, Requests};
use crate::rereads::Rereads;
use crate::session::{Call, Session};

/// The cost of a token from the cache, and of a new one, in hundredths of a token of input.
pub(crate) const CACHED: u64 = cost::CACHED as u64;
pub(crate) const NEW: u64 = cost::NEW as u64;

/// Figures of one way of sending a session. Tokens are those of the conversation, unless they are said to
/// be those of whole requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Calls of the model.
    pub calls: u64,
    /// Tokens of all requests together.
    pub input: u64,
    /// Tokens of the middle request.
    pub median: u64,
    /// Tokens of the largest request.
    pub largest: u64,
    /// Their cost, in hundredths of a token of input: 0.1 for the prefix shared with the request before, 1.25 for the
    /// rest and for all of a request after a pause.
    pub billed_hundredths: u64,
    /// Tokens beside the conversation in each request: system prompt and tools.
    pub beside: u64,
    /// Requests of which the provider had nothing in its cache: the first, and those after a pause.
    pub cold: u64,
    /// Terms of the agent's outputs that stood in the whole conversation, each once an output.
    pub used: u64,
    /// Those of them that were in the request.
    pub kept: u64,
    /// Edits of texts that stood in the whole conversation, word for word.
    pub edits: u64,
    /// Those of them whose texts were in the request.
    pub verbatim: u64,
    /// Files that had to be read again for texts that are no longer in the request.
    pub reads: u64,
    /// Calls of the model that were needed for it.
    pub read_calls: u64,
    /// The cost of all with these, in hundredths of a token of input.
    pub with_reads_hundredths: u64,
    /// Tokens of the largest request with repeated reads.
    pub largest_with_reads: u64,
    /// Tokens of each request.
    #[serde(skip)]
    pub curve: Vec<u64>,
    /// The cost of each whole request, in hundredths of a token of input.
    #[serde(skip)]
    pub bills: Vec<u64>,
}

impl Figures {
    /// Tokens a request, in the mean.
    pub fn mean(&self) -> f64 {
        self.input as f64 / self.calls.max(1) as f64
    }

    /// Returns the cost of all requests, in tokens of input.
    pub fn billed(&self) -> f64 {
        self.billed_hundredths as f64 / 100.0
    }

    /// The same with a read for each miss.
    pub fn with_reads(&self) -> f64 {
        self.with_reads_hundredths as f64 / 100.0
    }

    /// Returns the share of the terms that were used again and were in the request; 1 if none was used.
    pub fn retention(&self) -> f64 {
        if self.used == 0 { 1.0 } else { self.kept as f64 / self.used as f64 }
    }

    /// Returns the share of the edits whose texts were in the request; 1 if there was none.
    pub fn verbatim_share(&self) -> f64 {
        if self.edits == 0 { 1.0 } else { self.verbatim as f64 / self.edits as f64 }
    }

    /// Returns the figures of whole requests: with system prompt and tools.
    #[must_use]
    pub fn whole(&self) -> Self {
        let beside = self.beside;
        let warm = self.calls.saturating_sub(self.cold);
        let billed = beside * (self.cold * NEW + warm * CACHED);
        Self {
            input: self.input + beside * self.calls,
            median: self.median + beside,
            largest: self.largest + beside,
            billed_hundredths: self.billed_hundredths + billed,
            with_reads_hundredths: self.with_reads_hundredths
                + billed
                + beside * self.read_calls * CACHED,
            largest_with_reads: self.largest_with_reads + beside,
            beside: 0,
            curve: self.curve.iter().map(|tokens| tokens + beside).collect(),
            bills: self.bills.clone(),
            ..*self
        }
    }
}

/// Returns the terms that a call used again: the numbers of the terms of its output that stood in the whole
/// conversation.
pub(crate) fn used(session: &Session, whole: &Requests) -> Vec<Box<[usize]>> {
    let items = &session.items;
    let mut sent = Sent::new(items, whole);
    let of = |call: &Call| {
        sent.next();
        let terms = items.get(call.output).terms.iter();
        let mut used: Vec<usize> =
            terms.map(|term| term.number()).filter(|term| sent.has(*term)).collect();
        used.dedup();
        used.into_boxed_slice()
    };
    session.calls.iter().map(of).collect()
}

/// Requests, played with the terms that stand in them.
struct Sent<'a> {
    items: &'a Items,
    played: Played<'a>,
    /// The number of times that each term stands in the request.
    times: Vec<u32>,
}

impl<'a> Sent<'a> {
    fn new(items: &'a Items, requests: &'a Requests) -> Self {
        Self { items, played: Played::new(requests), times: vec![0; items.terms()] }
    }

    fn next(&mut self) -> bool {
        let there = self.played.next();
        let terms = |item: &ItemNum| self.items.get(*item).terms.iter();
        if there {
            // An added item may be replaced at once.
            let added = self.played.added.iter().flat_map(terms);
            added.for_each(|term| self.times[term.number()] += 1);
            let removed = self.played.removed.iter().flat_map(terms);
            removed.for_each(|term| self.times[term.number()] -= 1);
        }
        there
    }

    fn has(&self, term: usize) -> bool {
        self.times[term] > 0
    }
}

/// The tokens of a request and of its beginning, as it changes from call to call.
#[derive(Default)]
struct Tokens {
    all: u64,
    /// Sums of the tokens of the first items, as far as they were asked for, beginning with 0 for no item.
    sums: Vec<u64>,
}

impl Tokens {
    /// Adds the next request. Returns the tokens of the prefix shared with the one before, and all.
    fn next(&mut self, played: &Played<'_>, of: &impl Fn(ItemNum) -> u64) -> (u64, u64) {
        let sum = |items: &[ItemNum]| items.iter().map(|item| of(*item)).sum::<u64>();
        let before = self.all;
        self.all = before + sum(&played.added) - sum(&played.removed);
        if played.removed.is_empty() && played.common + played.added.len() == played.request.len() {
            return (before, self.all);
        }
        self.sums.truncate(played.common + 1);
        let known = self.sums.len().saturating_sub(1);
        let mut common = self.sums.last().copied().unwrap_or_default();
        if self.sums.is_empty() {
            self.sums.push(0);
        }
        for item in &played.request[known..played.common] {
            common += of(*item);
            self.sums.push(common);
        }
        (common, self.all)
    }
}

/// The measurement of the ways of sending a session.
pub(crate) struct Measure<'a, T, R> {
    /// The session.
    pub(crate) session: &'a Session,
    /// The terms that each call used again.
    pub(crate) used: &'a [Box<[usize]>],
    /// The texts that each call needs.
    pub(crate) needs: &'a [Vec<Need>],
    /// The first item that was not recorded.
    pub(crate) ours_from: ItemNum,
    /// Tokens of an item.
    pub(crate) tokens: T,
    /// Tokens of a read that shows an item again.
    pub(crate) read: R,
}

impl<T: Fn(ItemNum) -> u64, R: Fn(ItemNum) -> u64> Measure<'_, T, R> {
    /// Measures a way. `beside` are the tokens that each request has beside the conversation; without
    /// `pauses` none empties the provider's cache.
    pub(crate) fn of(&self, requests: &Requests, beside: u64, pauses: bool) -> Figures {
        let mut sent = Sent::new(&self.session.items, requests);
        let mut again = Rereads::new(&self.session.items, self.ours_from);
        let calls = requests.len() as u64;
        let mut figures = Figures { calls, beside, ..Figures::default() };
        let (mut before, mut sums) = (None, Tokens::default());
        for (call, (used, needs)) in self.session.calls.iter().zip(self.used.iter().zip(self.needs))
        {
            if !sent.next() {
                break;
            }
            let (common, all) = sums.next(&sent.played, &self.tokens);
            let (common_again, all_again) = again.next(&sent.played);
            let is_cold = pauses && is_paused(before, call.at);
            before = call.at.or(before);
            let is_all_new = is_cold || figures.curve.is_empty();
            figures.cold += u64::from(is_all_new);
            let bill = |common: u64, all: u64| {
                let old = if is_cold { 0 } else { common };
                old * CACHED + (all - old) * NEW
            };
            let billed = bill(common, all);
            figures.input += all;
            figures.billed_hundredths += billed;
            figures.with_reads_hundredths += billed + bill(common_again, all_again);
            figures.largest_with_reads = figures.largest_with_reads.max(all + all_again);
            figures.curve.push(all);
            figures.bills.push(billed + beside * if is_all_new { NEW } else { CACHED });
            figures.used += used.len() as u64;
            figures.kept += used.iter().filter(|term| sent.has(**term)).count() as u64;
            let place = sent.played.request.len();
            again.answer(needs, place, all + all_again, &self.read, &mut figures);
        }
        let mut sorted = figures.curve.clone();
        sorted.sort_unstable();
        figures.largest = sorted.last().copied().unwrap_or_default();
        figures.median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        figures
    }
}

/// Whether a provider's cache is empty at a call, by the times of the call before and of this one.
pub(crate) fn is_paused(before: Option<i64>, at: Option<i64>) -> bool {
    before.zip(at).is_some_and(|(before, at)| at.saturating_sub(before) > PAUSE)
}
