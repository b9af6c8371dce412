//! The heuristics by name.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a suggestion.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SuggestionKind {
    /// To open a child frame.
    Push,
    /// To end the frame.
    Pop,
}

impl SuggestionKind {
    /// `push` or `pop`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Pop => "pop",
        }
    }
}

impl fmt::Display for SuggestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A way of telling that a frame should begin or end.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Heuristic {
    /// Push: work that fails again and again deserves an attempt of its own.
    FailureBoundary,
    /// Push: the work has moved to something else.
    ContextSwitch,
    /// Push: the frame has become large.
    Complexity,
    /// Push: the frame has taken long, by its tokens.
    Duration,
    /// Pop: the criteria look met.
    GoalCompletion,
    /// Pop: nothing comes of it.
    Stagnation,
    /// Pop: the model's context is nearly full.
    ContextOverflow,
}

impl Heuristic {
    /// All of them, those for a push first.
    pub const ALL: [Self; 7] = [
        Self::FailureBoundary,
        Self::ContextSwitch,
        Self::Complexity,
        Self::Duration,
        Self::GoalCompletion,
        Self::Stagnation,
        Self::ContextOverflow,
    ];

    /// The specification's name for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FailureBoundary => "failure_boundary",
            Self::ContextSwitch => "context_switch",
            Self::Complexity => "complexity",
            Self::Duration => "duration",
            Self::GoalCompletion => "goal_completion",
            Self::Stagnation => "stagnation",
            Self::ContextOverflow => "context_overflow",
        }
    }

    /// Returns the kind of suggestion that it can lead to.
    pub fn kind(self) -> SuggestionKind {
        match self {
            Self::FailureBoundary | Self::ContextSwitch | Self::Complexity | Self::Duration => {
                SuggestionKind::Push
            }
            Self::GoalCompletion | Self::Stagnation | Self::ContextOverflow => SuggestionKind::Pop,
        }
    }
}

impl fmt::Display for Heuristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no heuristic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no heuristic `{0}`")]
pub struct UnknownHeuristic(pub String);

impl FromStr for Heuristic {
    type Err = UnknownHeuristic;

    fn from_str(text: &str) -> Result<Self, UnknownHeuristic> {
        Self::ALL
            .into_iter()
            .find(|heuristic| heuristic.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownHeuristic(text.to_owned()))
    }
}
