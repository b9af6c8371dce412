//! The state as the specification shapes it for other programs.

mod masked;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use callstack_core::dialect::Dialect;
use callstack_core::evidence::Evidence;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::results::ResultsSource;
use callstack_store::{StoreError, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::queries::Queries;

/// The version of this shape.
pub(crate) const VERSION: u32 = 1;

/// The whole tree: `StackState` of the specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    #[serde(default)]
    pub updated_at: i64,
    /// Which store it was read from, in the files that are kept for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// The newest event of that store, so that the newer of two states is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// With which table of secrets' forms these files were masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked_with: Option<String>,
}

impl Default for StackState {
    fn default() -> Self {
        Self {
            version: VERSION,
            frames: BTreeMap::new(),
            active_frame_id: None,
            root_frame_ids: Vec::new(),
            updated_at: 0,
            store: None,
            revision: None,
            masked_with: None,
        }
    }
}

/// One frame: `FrameMetadata` of the specification, with the handle and the pins besides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are the specification's, documented at `Frame`")]
pub struct FrameMetadata {
    #[serde(rename = "sessionID")]
    pub session_id: String,
    #[serde(rename = "parentSessionID", skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    pub status: Status,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub success_criteria: String,
    #[serde(default)]
    pub success_criteria_compacted: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results_compacted: Option<String>,
    /// Who made the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results_source: Option<ResultsSource>,
    /// The goal, as the specification's first generation calls it; only in its dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The results of the frame, as the first generation calls them; only in its dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_summary: Option<String>,
    #[serde(default)]
    pub created_at: i64,
    #[serde(default)]
    pub updated_at: i64,
    /// When work in the frame first began; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<i64>,
    #[serde(default)]
    pub artifacts: Vec<String>,
    #[serde(default)]
    pub decisions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidation_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidated_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planned_children: Vec<String>,
    /// The handle, `f12`; empty where another program wrote the frame.
    #[serde(default, skip_serializing_if = "String::is_empty")]
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
    /// Ids that the frame had before and that still mean it.
    #[serde(default, rename = "formerIDs", skip_serializing_if = "Vec::is_empty")]
    pub former_ids: Vec<String>,
    /// The frame that replaces it beside its siblings, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consolidated_into: Option<String>,
    /// Whether title and criteria were guessed from the user's first words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// SHA-256 in hex of the artifacts that were readable files when they were recorded, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifact_hashes: BTreeMap<String, String>,
    /// The evidence of the work in it.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// Data about a frame that its own row does not hold.
#[derive(Clone, Debug, Default)]
struct Around {
    parent: Option<String>,
    planned_children: Vec<String>,
    former_ids: Vec<String>,
    consolidated_into: Option<String>,
    evidence: Evidence,
}

impl FrameMetadata {
    fn of(frame: Frame, around: Around) -> Self {
        let hashes = frame.artifacts.iter();
        Self {
            session_id: frame.id,
            parent_session_id: around.parent,
            status: frame.status,
            title: frame.identity.title,
            success_criteria: frame.identity.success_criteria,
            success_criteria_compacted: frame.identity.success_criteria_compacted,
            results: frame.results,
            results_compacted: frame.results_compacted,
            results_source: frame.results_source,
            goal: None,
            compaction_summary: None,
            created_at: frame.created_at,
            updated_at: frame.updated_at,
            begun_at: frame.begun_at,
            artifact_hashes: hashes
                .filter_map(|artifact| Some((artifact.path.clone(), artifact.hash.clone()?)))
                .collect(),
            artifacts: frame.artifacts.into_iter().map(|artifact| artifact.path).collect(),
            decisions: frame.decisions,
            log_path: frame.log_path,
            invalidation_reason: frame.invalidation_reason,
            invalidated_at: frame.invalidated_at,
            planned_children: around.planned_children,
            handle: frame.num.to_string(),
            worked_in: frame.session,
            pins: frame.pins.into_iter().map(|pin| (format!("p{}", pin.num), pin.text)).collect(),
            ended_at: frame.ended_at,
            former_ids: around.former_ids,
            consolidated_into: around.consolidated_into,
            derived: frame.identity_derived,
            evidence: around.evidence,
        }
    }
}

impl FrameMetadata {
    /// The frame with the fields of a dialect besides.
    #[must_use]
    pub(crate) fn spoken(self, dialect: Dialect) -> Self {
        if dialect == Dialect::Stack {
            return self;
        }
        let goal = Some(&self.success_criteria).filter(|criteria| !criteria.trim().is_empty());
        let goal = Some(goal.unwrap_or(&self.title).clone());
        Self { goal, compaction_summary: self.results.clone(), ..self }
    }
}

impl StackState {
    /// The tree with the fields of a dialect besides.
    #[must_use]
    pub(crate) fn spoken(mut self, dialect: Dialect) -> Self {
        let frames = std::mem::take(&mut self.frames).into_iter();
        self.frames = frames.map(|(id, frame)| (id, frame.spoken(dialect))).collect();
        self
    }

    /// Keeps only the frames with these ids, of which `roots` are the outermost.
    pub(crate) fn keep(&mut self, ids: &BTreeSet<String>, roots: Vec<String>) {
        self.frames.retain(|id, _| ids.contains(id));
        self.root_frame_ids = roots;
    }

    /// The whole tree of a store. Reads every frame.
    pub(crate) fn read(view: &View<'_>) -> Result<Self, StoreError> {
        let frames = view.all_frames()?;
        let active = view.most_recently_active()?;
        let mut around: HashMap<FrameNum, Around> = HashMap::with_capacity(frames.len());
        let ids: HashMap<_, _> = frames.iter().map(|frame| (frame.num, frame.id.clone())).collect();
        for frame in &frames {
            let parent = frame.parent.and_then(|parent| ids.get(&parent).cloned());
            let into = frame.consolidated.and_then(|into| ids.get(&into).cloned());
            let own = around.entry(frame.num).or_default();
            (own.parent, own.consolidated_into) = (parent, into);
            if let Some(parent) = frame.parent
                && frame.status == Status::Planned
            {
                around.entry(parent).or_default().planned_children.push(frame.id.clone());
            }
        }
        for (frame, evidence) in view.all_evidence()? {
            around.entry(frame).or_default().evidence = evidence;
        }
        for (frame, alias) in view.aliases()? {
            around.entry(frame).or_default().former_ids.push(alias);
        }
        Ok(Self {
            active_frame_id: active.and_then(|num| ids.get(&num).cloned()),
            root_frame_ids: frames
                .iter()
                .filter(|frame| frame.parent.is_none())
                .map(|frame| frame.id.clone())
                .collect(),
            updated_at: frames.iter().map(|frame| frame.updated_at).max().unwrap_or(0),
            frames: frames
                .into_iter()
                .map(|frame| {
                    let around = around.remove(&frame.num).unwrap_or_default();
                    (frame.id.clone(), FrameMetadata::of(frame, around))
                })
                .collect(),
            ..Self::default()
        })
    }
}

impl Queries {
    /// The whole tree. Reads every frame: for exports and people, not for hooks.
    pub(crate) fn state(&self) -> Result<StackState, EngineError> {
        Ok(self.kernel.read(StackState::read)?)
    }

    /// One frame as the specification shapes it.
    pub(crate) fn metadata(&self, frame: &Frame) -> Result<FrameMetadata, EngineError> {
        self.kernel.read(|view| {
            let parent = frame.parent.map(|parent| view.frame(parent)).transpose()?;
            let planned = view.children_with(Some(frame.num), Status::Planned, u32::MAX)?;
            let around = Around {
                parent: parent.map(|parent| parent.id),
                planned_children: planned.into_iter().map(|child| child.id).collect(),
                former_ids: view.aliases_of(frame.num)?,
                evidence: view.evidence(frame.num)?,
                consolidated_into: frame
                    .consolidated
                    .map(|into| view.frame(into))
                    .transpose()?
                    .map(|into| into.id),
            };
            Ok(FrameMetadata::of(frame.clone(), around))
        })
    }
}
