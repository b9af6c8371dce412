//! The frames around one, as a terminal shows them beside it.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_store::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;

/// The frames around one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct NearFrames {
    /// The frame below which it is shown
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<NearFrame>,
    /// The frames right below it, in the order in which they are shown
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<NearFrame>,
    /// Pins of the frames above it, nearest first
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherited: Vec<InheritedPins>,
}

/// A frame beside the one that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NearFrame {
    /// Its handle, such as f12
    pub handle: String,
    /// Its title
    pub title: String,
    /// Its status
    pub status: Status,
    /// Milliseconds for which it was worked in
    pub worked_ms: i64,
    /// Whether it was left open in an imported session
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

/// The pins of a frame, which apply below it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InheritedPins {
    /// Handle of the frame
    pub frame: String,
    /// Its pins, by their numbers
    pub pins: BTreeMap<String, String>,
}

impl NearFrames {
    /// Reads the frames around one at the time `now`.
    pub(super) fn read(view: &View<'_>, frame: &Frame, now: i64) -> Result<Self, EngineError> {
        let left_open = view.left_open()?;
        let above = frame.shown_below().map(|above| view.frame(above)).transpose()?;
        let below = view.children(Some(frame.num))?;
        let inherited = view.ancestors(frame.num)?.into_iter().filter(|it| !it.pins.is_empty());
        Ok(Self {
            above: above.map(|it| NearFrame::of(it, &left_open, now)),
            below: below.into_iter().map(|it| NearFrame::of(it, &left_open, now)).collect(),
            inherited: inherited.map(InheritedPins::of).collect(),
        })
    }
}

impl NearFrame {
    fn of(frame: Frame, left_open: &BTreeSet<FrameNum>, now: i64) -> Self {
        let imported = left_open.contains(&frame.num);
        Self {
            handle: frame.num.to_string(),
            status: frame.status,
            worked_ms: frame.worked(if imported { frame.updated_at } else { now }),
            imported,
            title: frame.identity.title,
        }
    }
}

impl InheritedPins {
    fn of(frame: Frame) -> Self {
        let pins = frame.pins.into_iter().map(|pin| (format!("p{}", pin.num), pin.text));
        Self { frame: frame.num.to_string(), pins: pins.collect() }
    }
}
