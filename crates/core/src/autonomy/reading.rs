//! The confidence of a heuristic, and its reasons.

use schemars::JsonSchema;
use serde::Serialize;

use super::Heuristic;

/// The reading of a heuristic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reading {
    /// Which one.
    pub heuristic: Heuristic,
    /// How sure it is: 0 to 100.
    pub confidence: u8,
    /// Why, the weightiest first said.
    pub reasons: Vec<String>,
}

impl Reading {
    /// Why, on one line.
    pub fn reason(&self) -> String {
        self.reasons.join(", ")
    }
}

/// Returns the suffix of a reason that was claimed and not observed.
pub(super) fn as_said(said: bool) -> &'static str {
    if said { ", as you say" } else { "" }
}

/// Points of a heuristic as they are added up, each with its reason.
#[derive(Default)]
pub(super) struct Points {
    sum: u32,
    reasons: Vec<String>,
}

impl Points {
    pub(super) fn add(&mut self, points: u32, reason: impl FnOnce() -> String) {
        if points > 0 {
            self.sum = self.sum.saturating_add(points);
            self.reasons.push(reason());
        }
    }

    /// Adds points whose reason would tell an agent nothing that it doesn't know.
    pub(super) fn add_silently(&mut self, points: u32) {
        self.sum = self.sum.saturating_add(points);
    }

    pub(super) fn take(&mut self, points: u32, reason: impl FnOnce() -> String) {
        if points > 0 && self.sum > 0 {
            self.sum = self.sum.saturating_sub(points);
            self.reasons.push(format!("but {}", reason()));
        }
    }

    pub(super) fn scale(&mut self, percent: u32) {
        self.sum = self.sum.saturating_mul(percent) / 100;
    }

    pub(super) fn of(self, heuristic: Heuristic) -> Reading {
        let confidence = u8::try_from(self.sum.min(100)).unwrap_or(100);
        Reading { heuristic, confidence, reasons: self.reasons }
    }
}
