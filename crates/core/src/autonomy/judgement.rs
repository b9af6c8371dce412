//! All heuristics of a kind together.

use serde::Serialize;

use super::reading::Reading;
use super::{Heuristic, Signals, SuggestionKind, pop, push};

/// The readings of the enabled heuristics of a kind, combined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// The kind of suggestion.
    pub kind: SuggestionKind,
    /// Their joint confidence, 0 to 100: that of the surest, and a tenth of that of each other one.
    pub confidence: u8,
    /// The reading of each, the surest first.
    pub readings: Vec<Reading>,
}

impl Judgement {
    /// The surest, if any has something to say.
    pub fn surest(&self) -> Option<&Reading> {
        self.readings.first().filter(|reading| reading.confidence > 0)
    }
}

/// Asks a heuristic.
pub fn read(heuristic: Heuristic, signals: &Signals) -> Reading {
    match heuristic {
        Heuristic::FailureBoundary => push::failure_boundary(signals),
        Heuristic::ContextSwitch => push::context_switch(signals),
        Heuristic::Complexity => push::complexity(signals),
        Heuristic::Duration => push::duration(signals),
        Heuristic::GoalCompletion => pop::goal_completion(signals),
        Heuristic::Stagnation => pop::stagnation(signals),
        Heuristic::ContextOverflow => pop::context_overflow(signals),
    }
}

/// Asks the enabled heuristics of a kind.
pub fn judge(kind: SuggestionKind, enabled: &[Heuristic], signals: &Signals) -> Judgement {
    let asked = enabled.iter().filter(|heuristic| heuristic.kind() == kind);
    let mut readings: Vec<_> = asked.map(|heuristic| read(*heuristic, signals)).collect();
    readings.sort_by_key(|reading| std::cmp::Reverse(reading.confidence));
    let tenths = readings.iter().skip(1).map(|reading| reading.confidence / 10);
    let surest = readings.first().map_or(0, |reading| reading.confidence);
    let confidence = tenths.fold(surest, u8::saturating_add).min(100);
    Judgement { kind, confidence, readings }
}
