//! A suggestion, from its making to its end.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Heuristic, SuggestionKind};
use crate::dialect::Dialect;
use crate::frame::{Frame, FrameNum};
use crate::returned::{MARK, label};
use crate::xml::one_line;

/// The time for which a suggestion waits to be acted on; milliseconds.
pub const LIFETIME: i64 = 5 * 60 * 1000;
/// The time for which a heuristic makes no further suggestion about a frame; milliseconds.
pub const QUIET: i64 = 30 * 60 * 1000;

/// A suggestion that was made to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// Its number in the store, shown as `s3`.
    pub num: u64,
    /// The session.
    pub session: String,
    /// The frame that a child should be opened in, or that should be ended.
    pub frame: FrameNum,
    /// The surest heuristic, which also determines whether it is a push or a pop.
    pub heuristic: Heuristic,
    /// The joint confidence of all of its kind: 0 to 100.
    pub confidence: u8,
    /// The purpose of a new frame, where that is known.
    pub subject: Option<String>,
    /// Why.
    pub reason: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub expires_at: i64,
}

/// How a suggestion ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuggestionEnd {
    /// A push or a pop of its frame followed in time.
    ActedOn,
    /// Nothing followed in time.
    Expired,
    /// Somebody cleared it, or the frame ended before a child was opened in it.
    Cleared,
}

impl SuggestionEnd {
    /// `acted_on`, `expired` or `cleared`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ActedOn => "acted_on",
            Self::Expired => "expired",
            Self::Cleared => "cleared",
        }
    }
}

impl fmt::Display for SuggestionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str().replace('_', " "))
    }
}

/// The text names no end of a suggestion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no end of a suggestion")]
pub struct UnknownEnd(String);

impl FromStr for SuggestionEnd {
    type Err = UnknownEnd;

    fn from_str(text: &str) -> Result<Self, UnknownEnd> {
        [Self::ActedOn, Self::Expired, Self::Cleared]
            .into_iter()
            .find(|end| end.as_str() == text)
            .ok_or_else(|| UnknownEnd(text.to_owned()))
    }
}

impl Suggestion {
    /// Whether it is about a push or a pop.
    pub fn kind(&self) -> SuggestionKind {
        self.heuristic.kind()
    }

    /// Whether it can still be acted on at a time, if nothing has ended it.
    pub fn waits(&self, now: i64) -> bool {
        now < self.expires_at
    }

    /// The suggestion as the model reads it; `frame` is its frame.
    pub fn text(&self, frame: &Frame, dialect: Dialect) -> String {
        format!(
            "{MARK} {} is open. {}Consider {} - Reason: {}]",
            frame.num,
            dialect.suggestion_mark(),
            self.advice(frame, dialect),
            one_line(&self.reason),
        )
    }

    fn advice(&self, frame: &Frame, dialect: Dialect) -> String {
        let frame = label(frame);
        let (push, pop) = (dialect.tool("stack_frame_push"), dialect.tool("stack_frame_pop"));
        let apart = match self.subject.as_deref().map(one_line).filter(|it| !it.is_empty()) {
            Some(subject) => format!("pushing a new frame for \"{subject}\" ({push})"),
            None => format!("pushing a new frame for the next piece of work ({push})"),
        };
        match self.heuristic {
            Heuristic::FailureBoundary => {
                format!("{apart}, so that attempts which fail leave the context when it is popped")
            }
            Heuristic::ContextSwitch => apart,
            Heuristic::Complexity | Heuristic::Duration => {
                format!("{apart}, so that its steps leave the context when it is popped")
            }
            Heuristic::GoalCompletion => format!("popping {frame} with its results ({pop})"),
            Heuristic::Stagnation => format!(
                "popping {frame} ({pop}): with its results if the criteria are met, as failed or \
                 blocked with what was learnt if they cannot be; else go on with it"
            ),
            Heuristic::ContextOverflow => format!(
                "popping {frame} soon: bring it to a point where its results can be stated, and call \
                 {pop}; what remains can be planned first ({})",
                dialect.tool("stack_frame_plan")
            ),
        }
    }
}
