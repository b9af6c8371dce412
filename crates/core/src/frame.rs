//! Frames: units of work, their statuses, and which change of status is legal.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::ResultsSource;
use crate::xml::one_line;

/// A frame's handle: a number that is given out once in a store and never again, shown as `f12`.
///
/// People and models read and type handles; the specification's ids (`ses_…`, `frm-…`, `plan-…`)
/// are kept beside them for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameNum(pub u64);

impl fmt::Display for FrameNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

/// The text is no handle: a handle is `f` and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame's handle is `f` and a number, such as f12")]
pub struct NotAHandle;

impl FromStr for FrameNum {
    type Err = NotAHandle;

    fn from_str(text: &str) -> Result<Self, NotAHandle> {
        let digits = text.strip_prefix(['f', 'F']).ok_or(NotAHandle)?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NotAHandle);
        }
        digits.parse().map(Self).map_err(|_| NotAHandle)
    }
}

/// Where a frame stands in its life.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Defined, not started.
    Planned,
    /// Being worked on.
    InProgress,
    /// Ended with its criteria met.
    Completed,
    /// Ended without.
    Failed,
    /// Waits for something from outside; may be activated again.
    Blocked,
    /// No longer relevant.
    Invalidated,
}

impl Status {
    /// All statuses, in the order in which a frame usually passes them.
    pub const ALL: [Self; 6] = [
        Self::Planned,
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::Blocked,
        Self::Invalidated,
    ];

    /// The specification's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Invalidated => "invalidated",
        }
    }

    /// Whether only an undo or a reopen brings the frame back. Blocked is not terminal.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Invalidated)
    }

    /// Whether work in the frame has come to an end for now, with something to report.
    pub fn is_finished(self) -> bool {
        self.is_terminal() || self == Self::Blocked
    }

    /// Whether a command (not an undo) may take a frame from `self` to `next`.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Planned => matches!(next, Self::InProgress | Self::Invalidated),
            Self::InProgress => next.is_finished(),
            Self::Blocked => {
                matches!(
                    next,
                    Self::InProgress | Self::Completed | Self::Failed | Self::Invalidated
                )
            }
            Self::Completed | Self::Failed | Self::Invalidated => false,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|status| status.as_str()).collect();
            format!("`{text}` is no status; statuses are {}", known.join(", "))
        })
    }
}

/// The purpose of a frame. Fixed at creation, except for a session's root, whose identity is taken from the user's
/// first words until it is set.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Short name, two to five words.
    pub title: String,
    /// The conditions under which it is done.
    pub success_criteria: String,
    /// The dense version of the criteria, for display.
    pub success_criteria_compacted: String,
}

impl Identity {
    /// Returns the title as a line of ours holds it: what somebody else wrote can't begin another line.
    pub fn title_line(&self) -> String {
        one_line(&self.title)
    }
}

/// A constraint that every descendant of its frame sees, verbatim and never trimmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The pin's own number in the store, shown as `p3`.
    pub num: u64,
    /// The constraint, word for word.
    pub text: String,
}

/// A file or other resource that a frame produced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Path relative to the project with `/`, or the name of another resource.
    pub path: String,
    /// SHA-256 of the content when it was recorded, in hex; absent unless it was a readable file.
    pub hash: Option<String>,
}

/// A unit of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Its handle.
    pub num: FrameNum,
    /// The specification's id: `ses_…` for a session's root, `frm-…` in place, `plan-…` planned.
    pub id: String,
    /// The frame that it is part of; none for a root.
    pub parent: Option<FrameNum>,
    /// The session that works in it; none while it is planned.
    pub session: Option<String>,
    /// Its status.
    pub status: Status,
    /// Its purpose.
    pub identity: Identity,
    /// Whether the identity was guessed from the user's first words and may still be set.
    pub identity_derived: bool,
    /// The results; set when it ends.
    pub results: Option<String>,
    /// The dense version of the results.
    pub results_compacted: Option<String>,
    /// Their author; none where there are no results, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results_source: Option<ResultsSource>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// The beginning of work in it, where that differs from its creation; milliseconds since 1970. None while it is
    /// planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<i64>,
    /// When it last ended; milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// Its artifacts, in order of first appearance.
    pub artifacts: Vec<Artifact>,
    /// Decisions taken in it and facts given to it, in order: [`Self::taken`] and [`Self::facts`].
    pub decisions: Vec<String>,
    /// Constraints stated in it.
    pub pins: Vec<Pin>,
    /// Where its exported log lies, relative to the project.
    pub log_path: Option<String>,
    /// Why it was invalidated.
    pub invalidation_reason: Option<String>,
    /// When it was invalidated; milliseconds since 1970.
    pub invalidated_at: Option<i64>,
    /// Ancestors above it: 0 for a root.
    pub depth: u32,
    /// Whether the push that made it was undone: it is kept, but is in no tree.
    pub detached: bool,
    /// The frame that replaces it beside its siblings, and below which it is shown.
    #[serde(default)]
    pub consolidated: Option<FrameNum>,
}

/// Whether work in a frame has begun, by its status, the beginning that is on record and the session that works in it.
pub fn has_begun(status: Status, begun_at: Option<i64>, session: Option<&str>) -> bool {
    match status {
        Status::Planned => false,
        Status::Invalidated => begun_at.is_some() || session.is_some(),
        _ => true,
    }
}

/// The prefix of facts that a frame was given for its work, among its decisions.
const GIVEN: &str = "Given: ";

/// Returns facts for the work on a frame, in the form in which they are kept among its decisions; none where there
/// are no words.
pub fn given(facts: &str) -> Option<String> {
    let facts = facts.trim();
    (!facts.is_empty()).then(|| format!("{GIVEN}{facts}"))
}

impl Frame {
    /// The facts that it was given for the work in it.
    pub fn facts(&self) -> impl Iterator<Item = &str> {
        self.decisions.iter().filter_map(|text| text.strip_prefix(GIVEN))
    }

    /// The decisions that were taken in it.
    pub fn taken(&self) -> impl Iterator<Item = &str> {
        self.decisions.iter().map(String::as_str).filter(|text| !text.starts_with(GIVEN))
    }

    /// A planned frame at a place of the tree; `now` in milliseconds since 1970.
    pub fn planned(
        num: FrameNum,
        id: String,
        parent: Option<FrameNum>,
        depth: u32,
        identity: Identity,
        now: i64,
    ) -> Self {
        Self {
            num,
            id,
            parent,
            session: None,
            status: Status::Planned,
            identity,
            identity_derived: false,
            results: None,
            results_compacted: None,
            results_source: None,
            created_at: now,
            updated_at: now,
            begun_at: None,
            ended_at: None,
            artifacts: Vec::new(),
            decisions: Vec::new(),
            pins: Vec::new(),
            log_path: None,
            invalidation_reason: None,
            invalidated_at: None,
            depth,
            detached: false,
            consolidated: None,
        }
    }

    /// Returns the time of work in it until it ended, or until `now`, in milliseconds; 0 for one that never began.
    pub fn worked(&self, now: i64) -> i64 {
        if !has_begun(self.status, self.begun_at, self.session.as_deref()) {
            return 0;
        }
        let begun = self.begun_at.unwrap_or(self.created_at);
        self.ended_at.unwrap_or(now).saturating_sub(begun).max(0)
    }

    /// The frame below which it is shown.
    pub fn shown_below(&self) -> Option<FrameNum> {
        self.consolidated.or(self.parent)
    }

    /// Handle and title, as messages name a frame.
    pub fn label(&self) -> String {
        format!("{} \"{}\"", self.num, self.identity.title_line())
    }
}
