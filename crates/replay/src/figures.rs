//! The figures of one way of sending a session.

use callstack_core::cost::{self, PAUSE};
use serde::Serialize;

use crate::item::{ItemNum, Items};
use crate::requests::{Played, Requests};
use crate::session::{Call, Session};

/// What a token costs, in hundredths of a token of input: from the cache, and new.
const CACHED: u64 = cost::CACHED as u64;
const NEW: u64 = cost::NEW as u64;

/// Figures of one way of sending a session, or of several sessions. Tokens are those of the conversation,
/// without system prompt and tools.
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
    /// What they cost, in hundredths of a token of input: with 0.1 for what the request before began
    /// with, 1.25 for the rest and for all of a request after a pause.
    pub billed_hundredths: u64,
    /// Terms of the agent's outputs that stood in the whole conversation, each once an output.
    pub used: u64,
    /// Those of them that stood in what was sent.
    pub kept: u64,
    /// Tokens of each request.
    #[serde(skip)]
    pub curve: Vec<u64>,
}

impl Figures {
    /// Tokens a request, in the mean.
    pub fn mean(&self) -> f64 {
        self.input as f64 / self.calls.max(1) as f64
    }

    /// What all requests cost, in tokens of input.
    pub fn billed(&self) -> f64 {
        self.billed_hundredths as f64 / 100.0
    }

    /// The share of the terms that were used again and stood in what was sent; 1 if none was used.
    pub fn retention(&self) -> f64 {
        if self.used == 0 { 1.0 } else { self.kept as f64 / self.used as f64 }
    }
}

/// What a call used again: the numbers of the terms of its output that stood in the whole conversation.
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
    /// How often each term stands in the request.
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
            // What is added may be replaced at once.
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
    /// Those of the first items, as far as they were asked for: at 0 those of none.
    sums: Vec<u64>,
}

impl Tokens {
    /// Takes the next request over. Returns the tokens of what it has in common with the one before, from
    /// its beginning, and all.
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

/// Measures a way of sending. `used` says what each call used again, `tokens` what an item takes.
pub(crate) fn measure(
    session: &Session,
    used: &[Box<[usize]>],
    requests: &Requests,
    tokens: impl Fn(ItemNum) -> u64,
) -> Figures {
    let mut sent = Sent::new(&session.items, requests);
    let mut figures = Figures { calls: requests.len() as u64, ..Figures::default() };
    let (mut before, mut sums) = (None, Tokens::default());
    for (call, used) in session.calls.iter().zip(used) {
        if !sent.next() {
            break;
        }
        let (common, all) = sums.next(&sent.played, &tokens);
        let old = if is_paused(before, call.at) { 0 } else { common };
        before = call.at.or(before);
        figures.input += all;
        figures.billed_hundredths += old * CACHED + (all - old) * NEW;
        figures.curve.push(all);
        figures.used += used.len() as u64;
        figures.kept += used.iter().filter(|term| sent.has(**term)).count() as u64;
    }
    let mut sorted = figures.curve.clone();
    sorted.sort_unstable();
    figures.largest = sorted.last().copied().unwrap_or_default();
    figures.median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    figures
}

/// Whether a provider's cache is empty at a call, by the times of the call before and of this one.
pub(crate) fn is_paused(before: Option<i64>, at: Option<i64>) -> bool {
    before.zip(at).is_some_and(|(before, at)| at.saturating_sub(before) > PAUSE)
}
