//! Removing what was said in a frame or a session for good.

use callstack_core::frame::FrameNum;
use callstack_store::{Erased, Stretch, log_path};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::log::files;

/// What a purge would remove.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PurgePlan {
    /// What it is about, as people are told: a frame's label or a session.
    pub what: String,
    /// The frames whose history goes: one with all below it, or those of a session.
    pub frames: Vec<FrameNum>,
    /// The sessions in whose transcripts it is.
    pub sessions: Vec<String>,
    /// Those of them whose messages stay: where their work begins or ends is not known, and more than it would
    /// go. They go with their session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unplaced: Vec<FrameNum>,
    /// Messages that are still there.
    pub messages: u64,
    /// Bytes of them as they came.
    pub bytes: u64,
    /// Log files that go, relative to the project.
    pub logs: Vec<String>,
    #[serde(skip)]
    stretches: Vec<Stretch>,
}

/// What a purge did.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PurgeOutcome {
    /// What was removed.
    #[serde(flatten)]
    pub plan: PurgePlan,
    /// Whether the bytes are gone from the database's files; else another process is still reading, and
    /// they go with its next write.
    pub erased: bool,
}

impl Engine {
    /// What purging a frame (handle, id, beginning of an id) with all below it, or a session (its id or
    /// the beginning of it), would remove. Changes nothing.
    pub fn purge_plan(&self, reference: &str) -> Result<PurgePlan, EngineError> {
        // The id of a session is that of its root frame, too.
        let exact = self.store.read(|view| view.session_row(reference))?.map(|session| session.id);
        let session = match exact {
            Some(session) => session,
            None => match self.resolve(reference) {
                Ok(frame) => return self.plan_of_frame(frame.num, frame.label()),
                Err(no_frame) => self.find_session(reference).map_err(|_| no_frame)?.0,
            },
        };
        let (frames, stretch) = self.store.read(|view| {
            Ok::<_, EngineError>((view.frames_in(&session)?, view.whole_session(&session)?))
        })?;
        self.plan_of(format!("session {session}"), (frames, Vec::new()), vec![stretch])
    }

    fn plan_of_frame(&self, frame: FrameNum, what: String) -> Result<PurgePlan, EngineError> {
        let (frames, unplaced, stretches) = self.store.read(|view| {
            let frames = view.frames_from(frame)?;
            let (mut unplaced, mut stretches) = (Vec::new(), Vec::new());
            for frame in &frames {
                if view.is_placed(*frame)? {
                    stretches.extend(view.stretches(*frame)?);
                } else {
                    unplaced.push(*frame);
                }
            }
            Ok::<_, EngineError>((frames, unplaced, stretches))
        })?;
        self.plan_of(what, (frames, unplaced), stretches)
    }

    fn plan_of(
        &self,
        what: String,
        (frames, unplaced): (Vec<FrameNum>, Vec<FrameNum>),
        stretches: Vec<Stretch>,
    ) -> Result<PurgePlan, EngineError> {
        let (found, bytes) = self.store.read(|view| view.purgeable(&stretches))?;
        let paths = frames.iter().map(|frame| log_path(*frame));
        let logs = paths.filter(|path| self.project.join(path).exists()).collect();
        Ok(PurgePlan {
            what,
            frames,
            unplaced,
            messages: found.values().map(|ids| ids.len() as u64).sum(),
            sessions: found.into_keys().collect(),
            bytes,
            logs,
            stretches,
        })
    }

    /// Removes what a plan says, on behalf of `by`. Titles, results, decisions and pins of frames stay, as
    /// does what the model was sent in place of the messages; so does what the host itself keeps.
    pub fn purge(&self, plan: PurgePlan, by: &str) -> Result<PurgeOutcome, EngineError> {
        self.store.purge(self.now(), by, &plan.frames, &plan.stretches)?;
        // No writer may bring back what it read before, nor leave a file that was not there when the plan
        // was made.
        let lock = files::alone(&self.folder)?;
        for frame in &plan.frames {
            files::remove(&self.project.join(log_path(*frame)))?;
        }
        files::remove_unfinished(&self.folder)?;
        drop(lock);
        // Logs of other frames hold the messages as well: those around it, those within a session.
        files::write_due(&self.store, &self.project, &self.folder)?;
        let erased = self.store.erase()?;
        Ok(PurgeOutcome { plan, erased: erased == Erased::Wholly })
    }
}
