//! The manager's methods for frames that are planned, renamed or invalidated.

use callstack_core::decide::{Command, Invalidate, Plan, PlannedChild};
use callstack_core::frame::{Identity, Status};

use super::{FrameStateManager, titled};
use crate::error::EngineError;
use crate::state::FrameMetadata;

/// A frame to be planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewFrame {
    /// The id that it gets; none for a new one, `plan-…`.
    pub id: Option<String>,
    /// Its identity.
    pub identity: Identity,
    /// Frames below it.
    pub children: Vec<NewFrame>,
}

/// The outcome of an invalidation.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalidated {
    /// The frame and, after it, the planned frames below it that went with it.
    pub invalidated: Vec<FrameMetadata>,
    /// The frames below it that are still in progress and were left.
    pub in_progress: Vec<FrameMetadata>,
}

impl FrameStateManager<'_> {
    /// Plans a frame with this id below `parent`, or as a root.
    ///
    /// A `conflict` where the id is or was another frame's, or the parent has ended.
    pub fn create_planned_frame(
        &self,
        id: &str,
        identity: Identity,
        parent: Option<&str>,
    ) -> Result<FrameMetadata, EngineError> {
        let frame = NewFrame { id: Some(id.to_owned()), identity, children: Vec::new() };
        let planned = self.plan(parent, vec![frame])?;
        planned.into_iter().next().ok_or_else(|| {
            EngineError::invalid("nothing was planned", "Give a title and success criteria.")
        })
    }

    /// Plans several frames at once below `parent`, in working order; each before those below it. All of them, or
    /// none where one is invalid.
    pub fn create_planned_children(
        &self,
        parent: &str,
        children: Vec<NewFrame>,
    ) -> Result<Vec<FrameMetadata>, EngineError> {
        self.plan(Some(parent), children)
    }

    /// Begins a planned or blocked frame in the session that works in it or in its parent; its id stays.
    ///
    /// A `conflict` where that session is in another frame: work goes depth-first.
    pub fn activate_frame(&self, frame: &str) -> Result<FrameMetadata, EngineError> {
        self.begin(&self.engine.resolve(frame)?)
    }

    /// Gives a frame another id, for instance `ses_…` for `plan-…`. The old one stays an alias.
    ///
    /// A `conflict` where the new one is or was another frame's.
    pub fn replace_frame_id(&self, old: &str, new: &str) -> Result<FrameMetadata, EngineError> {
        if new.trim().is_empty() {
            return Err(EngineError::invalid("the new id is empty", "Give the new id."));
        }
        let frame = self.engine.resolve(old)?.num;
        self.changed(&Command::Rename { frame, id: new.to_owned() })
    }

    /// Declares a frame irrelevant, with the planned frames below it. Those in progress below it are named and left;
    /// ended ones stay as they are.
    pub fn invalidate_frame(&self, frame: &str, reason: &str) -> Result<Invalidated, EngineError> {
        let found = self.engine.resolve(frame)?;
        let command = Command::Invalidate(Invalidate {
            frame: found.num,
            reason: reason.to_owned(),
            anchor: self.engine.queries.anchor_in(&self.caller, &found)?,
        });
        let decision = self.engine.frames.change(&command)?;
        let gone: Result<Vec<_>, _> =
            decision.frames.into_iter().map(|num| self.engine.frame(num)).collect();
        Ok(Invalidated { invalidated: self.all(&gone?)?, in_progress: self.all(&decision.left)? })
    }

    /// All frames of a status, in the order in which they came to be. Reads every frame.
    pub fn get_frames_by_status(&self, status: Status) -> Result<Vec<FrameMetadata>, EngineError> {
        let mut frames: Vec<_> = self
            .engine
            .state()?
            .frames
            .into_values()
            .filter(|frame| frame.status == status)
            .collect();
        frames.sort_by_key(|frame| (frame.handle.len(), frame.handle.clone()));
        Ok(frames)
    }

    fn plan(
        &self,
        parent: Option<&str>,
        children: Vec<NewFrame>,
    ) -> Result<Vec<FrameMetadata>, EngineError> {
        let parent = parent.map(|parent| self.engine.resolve(parent)).transpose()?;
        let children = self.named(children)?;
        let parent = parent.map(|parent| parent.num);
        let decision = self.engine.frames.change(&Command::Plan(Plan { parent, children }))?;
        let frames: Result<Vec<_>, _> =
            decision.frames.into_iter().map(|num| self.engine.frame(num)).collect();
        self.all(&frames?)
    }

    fn named(&self, children: Vec<NewFrame>) -> Result<Vec<PlannedChild>, EngineError> {
        children
            .into_iter()
            .map(|child| {
                Ok(PlannedChild {
                    id: child.id.unwrap_or_else(|| self.engine.world().id("plan-")),
                    identity: titled(child.identity)?,
                    children: self.named(child.children)?,
                })
            })
            .collect()
    }
}
