//! Results that were not written by whoever did the work: their author, their dense version, and the prompt for a
//! model that writes them.
//!
//! The author of a frame's results is, in this order: whoever ends it, in their own words; the host's compaction,
//! where that was requested; a model that the user has configured, where a call can wait for it; the words with which
//! an agent ended its turn without a pop; an extract of the frame's steps. Where there is nothing of all this,
//! callstack says what happened.

mod dense;
mod prompt;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use dense::{DENSE_TOKENS, dense};
pub use prompt::{SummaryInput, SummaryPrompt, cleaned, summary_prompt};

/// The author of the results of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultsSource {
    /// The agent that worked in it.
    Agent,
    /// The user, or a program of theirs, from outside of its session.
    User,
    /// The host's compaction of the session.
    Compaction,
    /// The agent, and then the host's compaction.
    AgentAndCompaction,
    /// A model of the user's own.
    Model,
    /// An agent that ended its turn without a pop: its last words.
    LastWords,
    /// Nobody: they were extracted from its messages, without a model.
    Extracted,
    /// The frames that it replaces: the results of each.
    Children,
    /// Callstack, which says why there are none.
    Callstack,
}

impl ResultsSource {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Agent,
        Self::User,
        Self::Compaction,
        Self::AgentAndCompaction,
        Self::Model,
        Self::LastWords,
        Self::Extracted,
        Self::Children,
        Self::Callstack,
    ];

    /// Its word in the store and for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::User => "user",
            Self::Compaction => "compaction",
            Self::AgentAndCompaction => "agent_and_compaction",
            Self::Model => "model",
            Self::LastWords => "last_words",
            Self::Extracted => "extracted",
            Self::Children => "children",
            Self::Callstack => "callstack",
        }
    }

    /// The same for people, after "results: ".
    pub fn for_people(self) -> &'static str {
        match self {
            Self::Agent => "by the agent",
            Self::User => "by the user",
            Self::Compaction => "by the host's compaction",
            Self::AgentAndCompaction => "by the agent and the host's compaction",
            Self::Model => "by a model of the user's own",
            Self::LastWords => "the agent's last words, without a pop",
            Self::Extracted => "extracted from its steps, without a model",
            Self::Children => "in sum what the frames below it returned",
            Self::Callstack => "by callstack, since nobody gave any",
        }
    }

    /// Returns a caveat for a reader whose agent did not write the results; none where the results contain it.
    pub fn caveat(self) -> Option<&'static str> {
        match self {
            Self::Model => Some("none were given; a model of the user's own wrote these"),
            Self::Extracted => {
                Some("none were given; these are extracted from its steps, without a model")
            }
            _ => None,
        }
    }
}

impl fmt::Display for ResultsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ResultsSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|source| source.as_str() == text)
            .ok_or_else(|| format!("`{text}` makes no results"))
    }
}

#[cfg(test)]
#[path = "results/results_tests.rs"]
mod tests;
