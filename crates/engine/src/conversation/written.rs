//! Files that calls wrote in a step in which frames began or ended: whose they are is known once the host
//! shows the order of the calls.

use std::sync::Arc;

use callstack_core::decide::Command;
use callstack_core::frame::{Artifact, FrameNum, Status};
use callstack_core::transcript::Span;

use super::Conversation;
use super::state::Written;
use crate::error::EngineError;
use crate::frames::Frames;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::queries::Queries;
use crate::sessions::Sessions;

/// Records which frames wrote which files.
pub(crate) struct FileWrites {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) queries: Arc<Queries>,
    pub(crate) frames: Arc<Frames>,
    pub(crate) sessions: Arc<Sessions>,
}

impl FileWrites {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        frames: &Arc<Frames>,
        sessions: &Arc<Sessions>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            frames: Arc::clone(frames),
            sessions: Arc::clone(sessions),
        }
    }

    /// Records files that a tool call wrote as artifacts of the frame that is open where the call stands in
    /// its step. Where frames began or ended in that step, this is done at the session's next request.
    pub(crate) fn files_written_by(
        &self,
        session: &str,
        call: &str,
        files: &[String],
    ) -> Result<(), EngineError> {
        let active = self.queries.active(session)?;
        let conversation = self.sessions.conversation(session);
        let mut conversation = lock(&conversation);
        if conversation.step_frame.is_none() || conversation.step_frame == active {
            drop(conversation);
            return self.files_written(session, files);
        }
        let artifacts = files.iter().map(|file| {
            let (path, hash) = self.kernel.env().project_file(file);
            Artifact { path, hash }
        });
        let written = Written { call: call.to_owned(), artifacts: artifacts.collect() };
        conversation.written.push(written);
        Ok(())
    }

    /// Records files that a tool wrote as artifacts of the frame that the step belongs to.
    pub(crate) fn files_written(&self, session: &str, files: &[String]) -> Result<(), EngineError> {
        let Some(frame) = self.working_frame(session)? else { return Ok(()) };
        for file in files {
            let (path, hash) = self.kernel.env().project_file(file);
            self.frames
                .change(&Command::AddArtifact { frame, artifact: Artifact { path, hash } })?;
        }
        Ok(())
    }

    /// Returns the frame that a session's current step belongs to: the one that was open when the step began, even if
    /// the step has a push, or the active one if that has ended.
    pub(crate) fn working_frame(&self, session: &str) -> Result<Option<FrameNum>, EngineError> {
        let step = {
            let conversation = self.sessions.conversation(session);
            let conversation = lock(&conversation);
            conversation.step_frame
        };
        match step {
            Some(step)
                if self
                    .queries
                    .frame(step)
                    .is_ok_and(|frame| frame.status == Status::InProgress) =>
            {
                Ok(Some(step))
            }
            _ => self.queries.active(session),
        }
    }

    /// Records files whose frames were not known when they were written.
    pub(crate) fn give_written(&self, conversation: &mut Conversation) -> Result<(), EngineError> {
        for Written { call, artifacts } in std::mem::take(&mut conversation.written) {
            let Some(frame) = self.frame_of_call(conversation, &call)? else { continue };
            for artifact in artifacts {
                self.frames.change(&Command::AddArtifact { frame, artifact })?;
            }
        }
        Ok(())
    }

    /// The frame that is open where a call of the newest steps stands; where the call is not shown, the one
    /// that was open when the step began.
    fn frame_of_call(
        &self,
        conversation: &Conversation,
        wanted: &str,
    ) -> Result<Option<FrameNum>, EngineError> {
        let begun = conversation.step_frame;
        let steps = conversation.messages().rev();
        let step = steps.map(|message| {
            let calls = message.calls().map(|call| call.id.clone());
            (message.id.as_str(), calls.collect::<Vec<_>>())
        });
        let step = step.take(1 + SHOWN_TOGETHER);
        let Some((id, calls)) =
            step.into_iter().find(|(_, calls)| calls.iter().any(|it| it == wanted))
        else {
            return Ok(begun);
        };
        let spans: Vec<&Span> = conversation
            .spans
            .iter()
            .filter(|it| !it.detached && !it.origin.is_automatic())
            .collect();
        let mut frame = begun;
        for call in calls.iter().take_while(|call| *call != wanted) {
            let is_here = |message: &Option<String>, made: &Option<String>| {
                message.as_deref() == Some(id) && made.as_deref() == Some(call)
            };
            if let Some(span) = spans.iter().find(|it| is_here(&it.open.message, &it.open.call)) {
                frame = Some(span.frame);
            }
            let closed = |it: &&&Span| {
                it.live_close().is_some_and(|close| is_here(&close.message, &close.call))
            };
            if let Some(span) = spans.iter().find(closed) {
                frame = self.queries.frame(span.frame)?.parent.or(frame);
            }
        }
        Ok(frame)
    }
}

/// Messages after a step with which it may be shown.
const SHOWN_TOGETHER: usize = 8;
