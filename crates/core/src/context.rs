//! The context of a frame: its ancestors, siblings and earlier work, as XML within a token budget.

mod budget;
mod cache;
mod fragment;
mod hash;
mod order;
mod render;
mod score;
mod select;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

pub use budget::TokenBudget;
pub use cache::{CacheStats, ContextCache};
pub use hash::generate_state_hash;
pub use order::{SiblingOrder, StatusCounts, calculate_sibling_order};
pub use render::{render, render_since};
pub use score::{MIN_RELEVANCE, score_ancestor, score_sibling};
pub use select::{Chosen, Selection, select_ancestors, select_siblings};

use crate::dialect::Dialect;
use crate::frame::{Frame, FrameNum, Pin};

/// A pin and the frame that it was stated in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopedPin {
    /// The frame; its descendants see the pin too.
    pub owner: FrameNum,
    /// The pin.
    pub pin: Pin,
}

/// The parts of the context that are rendered. Pins, siblings and planned children always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// The section on how to work in frames and what comes next.
    pub task_management: bool,
    /// The budget that the context was made with.
    pub metadata: bool,
    /// The frame itself, which the conversation of its session may contain already.
    pub current: bool,
}

impl Parts {
    /// Everything: for the system prompt.
    pub const fn full() -> Self {
        Self { task_management: true, metadata: true, current: true }
    }

    /// Returns everything that an agent needs to know at the beginning of a session.
    pub const fn for_start() -> Self {
        Self { task_management: false, metadata: false, current: true }
    }

    /// Returns a frame's surroundings without the frame, for the output of a push or an activation. Empty where there
    /// are none.
    pub const fn for_push() -> Self {
        Self { task_management: false, metadata: false, current: false }
    }
}

/// The place where the reader of a context finds the purpose of a frame, which the context then does not repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stated {
    /// In the conversation of the same request, as words of the user.
    Request,
    /// In the prompt of the session, which another session sent.
    Prompt,
    /// In a text with the user's request beside the context; the title says which request began the frame.
    Beside,
}

impl Stated {
    /// A pointer to it; none where the title is one.
    const fn pointer(self) -> Option<&'static str> {
        match self {
            Self::Request => Some("the request of the user, in this conversation"),
            Self::Prompt => Some("in the prompt of this session"),
            Self::Beside => None,
        }
    }
}

static NOTHING_STATED: BTreeMap<FrameNum, Stated> = BTreeMap::new();
static NONE_VISIBLE: BTreeSet<FrameNum> = BTreeSet::new();
static NOTHING_SEEN: BTreeMap<FrameNum, String> = BTreeMap::new();

/// The input of a context. Start from [`ContextInput::new`] and set the fields that apply.
#[derive(Clone, Copy, Debug)]
pub struct ContextInput<'a> {
    /// The session that works in the frame.
    pub session: &'a str,
    /// The frame being worked in.
    pub current: &'a Frame,
    /// Its ancestors, the parent first, the root last.
    pub ancestors: &'a [Frame],
    /// Its siblings, as many as are worth a look, the most recent first; itself may be among them.
    pub siblings: &'a [Frame],
    /// All its siblings by status, itself not counted.
    pub sibling_counts: StatusCounts,
    /// The planned sibling to activate next, where it may not be among `siblings`.
    pub next_sibling: Option<&'a Frame>,
    /// Its planned siblings, in order, where its session does not know them from elsewhere; perhaps only the first of
    /// them.
    pub planned_siblings: &'a [Frame],
    /// Its planned children, in order; perhaps only the first of them.
    pub planned_children: &'a [Frame],
    /// The number of its planned children; `planned_children.len()` if that is more.
    pub planned_children_count: usize,
    /// Pins that hold in it, its own and inherited ones. They are never trimmed.
    pub pins: &'a [ScopedPin],
    /// Siblings whose results stand in the same conversation already.
    pub visible_above: &'a BTreeSet<FrameNum>,
    /// The evidence of siblings, in a line each. Siblings whose results are shown are left out, since those contain
    /// it.
    pub sibling_evidence: &'a BTreeMap<FrameNum, String>,
    /// Frames that are shown without their criteria.
    pub stated: &'a BTreeMap<FrameNum, Stated>,
    /// Whether nothing was done in the session yet.
    pub new_session: bool,
    /// Milliseconds since 1970.
    pub now: i64,
    /// The limits.
    pub budget: TokenBudget,
    /// The least score with which a sibling is shown.
    pub min_relevance: u32,
    /// Real tokens for each estimated token, learnt from the host's reports; 1 if unknown.
    pub calibration: f64,
    /// The parts that are rendered.
    pub parts: Parts,
    /// The dialect of its words. The flame dialect has no task management in its context.
    pub dialect: Dialect,
}

impl<'a> ContextInput<'a> {
    /// A frame alone, with the default budget and [`Parts::full`].
    pub fn new(session: &'a str, current: &'a Frame, now: i64) -> Self {
        Self {
            session,
            current,
            ancestors: &[],
            siblings: &[],
            sibling_counts: StatusCounts::default(),
            next_sibling: None,
            planned_siblings: &[],
            planned_children: &[],
            planned_children_count: 0,
            pins: &[],
            visible_above: &NONE_VISIBLE,
            sibling_evidence: &NOTHING_SEEN,
            stated: &NOTHING_STATED,
            new_session: false,
            now,
            budget: TokenBudget::default(),
            min_relevance: MIN_RELEVANCE,
            calibration: 1.0,
            parts: Parts::full(),
            dialect: Dialect::Stack,
        }
    }
}

/// A rendered context and its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedContext {
    /// The XML; empty when not even its outermost tags fit.
    pub text: String,
    /// Its metadata.
    pub metadata: ContextMetadata,
}

/// The content of a context and its cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextMetadata {
    /// Estimated tokens, corrected by the calibration.
    pub tokens: SectionTokens,
    /// Ancestors shown, nearest first.
    #[serde(serialize_with = "handles")]
    #[schemars(with = "Vec<String>")]
    pub ancestors: Vec<FrameNum>,
    /// Ancestors for which there was no room.
    pub ancestors_omitted: usize,
    /// Siblings shown, in order of creation.
    #[serde(serialize_with = "handles")]
    #[schemars(with = "Vec<String>")]
    pub siblings: Vec<FrameNum>,
    /// Finished siblings that were not relevant enough or for which there was no room.
    pub siblings_omitted: usize,
    /// Planned children shown.
    #[serde(serialize_with = "handles")]
    #[schemars(with = "Vec<String>")]
    pub planned_children: Vec<FrameNum>,
    /// Planned children for which there was no room.
    pub planned_children_omitted: usize,
    /// Frames shown shortened.
    #[serde(serialize_with = "handles")]
    #[schemars(with = "Vec<String>")]
    pub truncated: Vec<FrameNum>,
    /// Names of the elements for which there was no room at all.
    pub left_out: Vec<&'static str>,
    /// Whether pins alone made the text exceed its budget.
    pub over_budget: bool,
}

/// Frames as other programs read them: by handle.
fn handles<S: Serializer>(frames: &[FrameNum], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(frames.iter().map(ToString::to_string))
}

/// Estimated tokens of each section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionTokens {
    /// The whole text.
    pub total: usize,
    /// Pins.
    pub pins: usize,
    /// Tokens of the section on how to work in frames and what comes next.
    pub task_management: usize,
    /// The budget element.
    pub metadata: usize,
    /// Ancestors.
    pub ancestors: usize,
    /// Finished siblings.
    pub siblings: usize,
    /// Planned children.
    pub planned_children: usize,
    /// The current frame.
    pub current: usize,
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;

#[cfg(test)]
mod elements_tests;
#[cfg(test)]
mod property_tests;
