//! The methods for hosts.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use callstack_core::dialect::Dialect;
use callstack_core::frame::{Frame, FrameNum};
use callstack_core::log_line::LogLine;
use callstack_core::transcript::Span;
use callstack_store::StoredMessage;

use crate::effect::Reaction;
use crate::engine::Engine;
use crate::{
    ChildSession, CompactionPrompt, EngineError, Failure, FrameMetadata, HostMessage, RollbackPlan,
    Settings, SyncAnswer, SyncRequest, SystemRequest, UserMessage, World,
};

impl Engine {
    /// The project's root folder.
    pub fn project(&self) -> &Path {
        self.kernel.env().project()
    }

    /// Returns the dialect for agents. Agents keep the tools that they started with, so it stays as it was when the
    /// engine was opened.
    pub fn dialect(&self) -> Dialect {
        self.kernel.env().dialect()
    }

    /// Returns the source of time and ids.
    pub fn world(&self) -> &dyn World {
        self.kernel.env().world()
    }

    /// Writes a line to the project's log.
    pub fn log_now(&self, line: &LogLine) {
        self.kernel.env().log_now(line);
    }

    /// Returns the present settings.
    pub fn current_settings(&self) -> Result<Arc<Settings>, EngineError> {
        self.kernel.read(|view| self.kernel.settings_in(view))
    }

    /// Returns the notices about the store for the user, each once.
    pub fn take_notices(&self) -> String {
        self.kernel.take_notices()
    }

    /// A frame by its handle.
    pub fn frame(&self, num: FrameNum) -> Result<Frame, EngineError> {
        self.queries.frame(num)
    }

    /// The newest version of every message of a session, in order of first appearance.
    pub fn messages(&self, session: &str) -> Result<Vec<StoredMessage>, EngineError> {
        self.queries.messages(session)
    }

    /// The spans of a session, those that were undone among them.
    pub fn spans(&self, session: &str) -> Result<Vec<Span>, EngineError> {
        self.queries.spans(session)
    }

    /// One frame as the specification shapes it.
    pub fn metadata(&self, frame: &Frame) -> Result<FrameMetadata, EngineError> {
        self.queries.metadata(frame)
    }

    /// Whether agents work in frames in this project.
    pub fn frame_mode(&self) -> Result<bool, EngineError> {
        self.queries.frame_mode()
    }

    /// Whether the store has a session, as it was recorded by that program.
    pub fn has_recorded(&self, session: &str, host: &str) -> Result<bool, EngineError> {
        self.queries.has_recorded(session, host)
    }

    /// Returns the sessions in the store that a session is known to have started.
    pub fn sessions_started_by(&self, session: &str) -> Result<Vec<String>, EngineError> {
        self.queries.sessions_started_by(session)
    }

    /// Returns the reason why messages can't be stored at the moment, if they can't.
    pub fn recording_failure(&self) -> Option<EngineError> {
        self.sessions.recording_failure()
    }

    /// Forgets this process's state of a session; the store keeps all of it.
    pub fn forget(&self, session: &str) {
        self.sessions.forget(session);
    }

    /// Records that a host showed messages of a session that could not be taken over. Until it shows them again, no
    /// text about work that ends there promises that all of it is stored.
    pub fn not_taken(&self, session: &str) {
        self.sessions.not_taken(session);
    }

    /// Requests that the state of the project's files be recorded, soon, at a message after which the work of an
    /// automatic frame may begin, or of a frame that is made after the fact. Returns at once.
    pub fn record_files_at(&self, session: &str, message: &str) -> Result<(), EngineError> {
        self.files.record_files_at(session, message)
    }

    /// Returns the prompt for the summariser of a session that its host is about to compact.
    pub fn compacting(&self, session: &str) -> Result<CompactionPrompt, EngineError> {
        self.compaction.compacting(session)
    }

    /// Records why a turn of a session's agent ended early.
    pub fn session_failed(&self, session: &str, failure: Failure) -> Result<(), EngineError> {
        self.compaction.session_failed(session, failure)
    }

    /// Handles an agent that has fallen silent. A compaction that was asked of the host has then come or will never
    /// come; an agent that stopped only because it had asked for one continues.
    pub fn compaction_over(&self, session: &str) -> Result<Reaction, EngineError> {
        self.compaction.compaction_over(session)
    }

    /// Settles the pending compaction of a session that is gone.
    pub fn compaction_gone(&self, session: &str) -> Result<(), EngineError> {
        self.compaction.compaction_gone(session)
    }

    /// Does the work that is due by now.
    pub fn wake(&self) -> Result<Reaction, EngineError> {
        self.subagents.wake()
    }

    /// Takes note of a child session, or of its new title.
    pub fn child_seen(&self, child: &ChildSession) -> Result<Reaction, EngineError> {
        self.subagents.child_seen(child)
    }

    /// Handles a session that has fallen silent. The frames of a child session end a little later, unless it works
    /// again, with its last words as results.
    pub fn session_idle(&self, session: &str) -> Result<Reaction, EngineError> {
        self.subagents.session_idle(session)
    }

    /// Handles a session that its host has deleted and nobody will continue.
    pub fn session_deleted(&self, session: &str) -> Result<(), EngineError> {
        self.subagents.session_deleted(session)
    }

    /// Follows a host that is about to call its model, and returns the operations for its messages.
    pub fn sync(&self, request: SyncRequest) -> Result<SyncAnswer, EngineError> {
        self.conversations.sync(request)
    }

    /// Stores messages that no later call may show soon, such as the closing reply of a turn.
    pub fn record(&self, session: &str, shown: Vec<HostMessage>) -> Result<(), EngineError> {
        self.conversations.record(session, shown)
    }

    /// The texts to be added to a session's system prompt.
    pub fn system(&self, request: &SystemRequest) -> Result<Vec<String>, EngineError> {
        self.system.system(request)
    }

    /// Records files that a tool wrote as artifacts of the frame that the step belongs to.
    pub fn files_written(&self, session: &str, files: &[String]) -> Result<(), EngineError> {
        self.writes.files_written(session, files)
    }

    /// Records files that a tool call wrote as artifacts of the frame that is open where the call stands in its
    /// step. Where frames began or ended in that step, this is done at the session's next request.
    pub fn files_written_by(
        &self,
        session: &str,
        call: &str,
        files: &[String],
    ) -> Result<(), EngineError> {
        self.writes.files_written_by(session, call, files)
    }

    /// Logs the figures of this process's sessions, before it ends.
    pub fn sum_up_sessions(&self) {
        self.saving.sum_up_sessions();
    }

    /// Makes sure that there is a frame to work in when a user has said something.
    pub fn user_message(&self, message: &UserMessage) -> Result<(), EngineError> {
        self.turns.user_message(message)
    }

    /// Carries out a plan, and returns the files that were restored. Refused where one of its files has changed since
    /// the plan was made.
    pub fn roll_back(&self, plan: &RollbackPlan) -> Result<RollbackPlan, EngineError> {
        self.rollbacks.roll_back(plan)
    }

    /// Has the files of the store looked after while this process does not use it, for processes that stay: soon after
    /// they were deleted or replaced, they are made again.
    pub fn guard(&self) {
        self.kernel.guard();
    }

    /// The same look at them, for the end of a process that a signal ends.
    pub fn last_check(&self) -> impl FnOnce() + Send + use<> {
        self.kernel.guard().last_check()
    }

    /// Checks before a request of a host that the store is still there, and makes it again if it is not. If another
    /// store has replaced it, the state of the old one is forgotten, and the host is asked for everything.
    pub fn attend(&self) -> Result<(), EngineError> {
        self.presence.attend()
    }

    /// Follows a host that has undone everything from a message on, before any further call shows it.
    pub fn undone_from(&self, session: &str, message: &str) -> Result<(), EngineError> {
        self.undo.undone_from(session, message)
    }

    /// Follows a host that has taken an undo back: everything is shown again except for messages that it removed for
    /// good.
    pub fn redone(&self, session: &str, removed: &HashSet<String>) -> Result<(), EngineError> {
        self.undo.redone(session, removed)
    }
}
