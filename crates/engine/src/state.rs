//! The state as the specification shapes it for other programs.

use std::collections::BTreeMap;

use callstack_core::frame::{Frame, Status};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;

/// The version of this shape.
const VERSION: u32 = 1;

/// The whole tree: `StackState` of the specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackState {
    /// The version of this shape.
    pub version: u32,
    /// Every frame by its id.
    pub frames: BTreeMap<String, FrameMetadata>,
    /// The frame that was made active last, in any session.
    #[serde(rename = "activeFrameID", skip_serializing_if = "Option::is_none")]
    pub active_frame_id: Option<String>,
    /// Frames without a parent, in the order in which they came to be.
    #[serde(rename = "rootFrameIDs")]
    pub root_frame_ids: Vec<String>,
    /// The newest change of any frame; milliseconds since 1970.
    pub updated_at: i64,
}

/// One frame: `FrameMetadata` of the specification, with the handle and the pins besides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are the specification's, documented at `Frame`")]
pub struct FrameMetadata {
    #[serde(rename = "sessionID")]
    pub session_id: String,
    #[serde(rename = "parentSessionID", skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    pub status: Status,
    pub title: String,
    pub success_criteria: String,
    pub success_criteria_compacted: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results_compacted: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
    pub artifacts: Vec<String>,
    pub decisions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidation_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidated_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planned_children: Vec<String>,
    /// The handle, `f12`.
    pub handle: String,
    /// The session that works in the frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worked_in: Option<String>,
    /// Constraints stated in the frame, by their numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pins: BTreeMap<String, String>,
    /// When the frame last ended; milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
}

impl FrameMetadata {
    /// The shape of a frame whose parent's id and planned children's ids are known.
    pub fn of(frame: &Frame, parent: Option<String>, planned_children: Vec<String>) -> Self {
        Self {
            session_id: frame.id.clone(),
            parent_session_id: parent,
            status: frame.status,
            title: frame.identity.title.clone(),
            success_criteria: frame.identity.success_criteria.clone(),
            success_criteria_compacted: frame.identity.success_criteria_compacted.clone(),
            results: frame.results.clone(),
            results_compacted: frame.results_compacted.clone(),
            created_at: frame.created_at,
            updated_at: frame.updated_at,
            artifacts: frame.artifacts.iter().map(|artifact| artifact.path.clone()).collect(),
            decisions: frame.decisions.clone(),
            log_path: frame.log_path.clone(),
            invalidation_reason: frame.invalidation_reason.clone(),
            invalidated_at: frame.invalidated_at,
            planned_children,
            handle: frame.num.to_string(),
            worked_in: frame.session.clone(),
            pins: frame
                .pins
                .iter()
                .map(|pin| (format!("p{}", pin.num), pin.text.clone()))
                .collect(),
            ended_at: frame.ended_at,
        }
    }
}

impl Engine {
    /// The whole tree. Reads every frame: for exports and people, not for hooks.
    pub fn state(&self) -> Result<StackState, EngineError> {
        let (frames, active) = self.store.read(|view| {
            Ok::<_, EngineError>((view.all_frames()?, view.most_recently_active()?))
        })?;
        let ids: BTreeMap<_, _> =
            frames.iter().map(|frame| (frame.num, frame.id.clone())).collect();
        let mut planned: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for frame in frames.iter().filter(|frame| frame.status == Status::Planned) {
            if let Some(parent) = frame.parent {
                planned.entry(parent).or_default().push(frame.id.clone());
            }
        }
        Ok(StackState {
            version: VERSION,
            active_frame_id: active.and_then(|num| ids.get(&num).cloned()),
            root_frame_ids: frames
                .iter()
                .filter(|frame| frame.parent.is_none())
                .map(|frame| frame.id.clone())
                .collect(),
            updated_at: frames.iter().map(|frame| frame.updated_at).max().unwrap_or(0),
            frames: frames
                .iter()
                .map(|frame| {
                    let parent = frame.parent.and_then(|parent| ids.get(&parent).cloned());
                    let planned = planned.remove(&frame.num).unwrap_or_default();
                    (frame.id.clone(), FrameMetadata::of(frame, parent, planned))
                })
                .collect(),
        })
    }

    /// One frame as the specification shapes it.
    pub fn metadata(&self, frame: &Frame) -> Result<FrameMetadata, EngineError> {
        self.store.read(|view| {
            let parent = match frame.parent {
                Some(parent) => Some(view.frame(parent)?.id),
                None => None,
            };
            let planned = view.children_with(Some(frame.num), Status::Planned, u32::MAX)?;
            let planned = planned.into_iter().map(|child| child.id).collect();
            Ok(FrameMetadata::of(frame, parent, planned))
        })
    }
}
