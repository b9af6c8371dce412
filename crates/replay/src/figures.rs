//! The figures of one way of sending a session.

use callstack_core::cost::{self, PAUSE};
use serde::Serialize;

use crate::item::{ItemNum, Items};
use crate::session::Session;

/// What a token costs, in hundredths of a token of input: from the cache, and new.
const CACHED: u64 = cost::CACHED as u64;
const NEW: u64 = cost::NEW as u64;

/// What was sent for each call of the model, in order.
pub type Requests = Vec<Vec<ItemNum>>;

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

/// Which terms stand in a request, as it changes from call to call.
struct Present {
    times: Vec<u32>,
    request: Vec<ItemNum>,
}

impl Present {
    fn new(terms: usize) -> Self {
        Self { times: vec![0; terms], request: Vec::new() }
    }

    /// Takes the next request over; says how many items it begins with that the last one had.
    fn become_(&mut self, items: &Items, next: &[ItemNum]) -> usize {
        let common = self.request.iter().zip(next).take_while(|(one, other)| one == other).count();
        for item in self.request.drain(common..) {
            items.get(item).terms.iter().for_each(|term| self.times[*term as usize] -= 1);
        }
        for item in &next[common..] {
            items.get(*item).terms.iter().for_each(|term| self.times[*term as usize] += 1);
        }
        self.request.extend_from_slice(&next[common..]);
        common
    }

    fn has(&self, term: u32) -> bool {
        self.times[term as usize] > 0
    }
}

/// Measures a way of sending against the whole conversation. `tokens` says what an item takes.
pub fn measure(
    session: &Session,
    whole: &Requests,
    sent: &Requests,
    tokens: impl Fn(ItemNum) -> u64,
) -> Figures {
    let items = &session.items;
    let (mut seen, mut present) = (Present::new(items.terms()), Present::new(items.terms()));
    let mut figures = Figures { calls: sent.len() as u64, ..Figures::default() };
    let mut before = None;
    for ((call, whole), sent) in session.calls.iter().zip(whole).zip(sent) {
        seen.become_(items, whole);
        let common = present.become_(items, sent);
        let paused = before.zip(call.at).is_some_and(|(before, at)| at - before > PAUSE);
        before = call.at.or(before);
        let common = if paused { 0 } else { common };
        let (old, new) = sent.split_at(common);
        let sum = |part: &[ItemNum]| part.iter().map(|item| tokens(*item)).sum::<u64>();
        let (old, new) = (sum(old), sum(new));
        figures.input += old + new;
        figures.billed_hundredths += old * CACHED + new * NEW;
        figures.curve.push(old + new);
        let mut used = items.get(call.output).terms.clone();
        used.retain(|term| seen.has(*term));
        figures.used += used.len() as u64;
        figures.kept += used.iter().filter(|term| present.has(**term)).count() as u64;
    }
    let mut sorted = figures.curve.clone();
    sorted.sort_unstable();
    figures.largest = sorted.last().copied().unwrap_or_default();
    figures.median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    figures
}
