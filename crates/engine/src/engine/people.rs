//! The methods for people, at a terminal or on a page.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callstack_core::compaction::{CompactionType, PendingCompaction};
use callstack_core::context::RenderedContext;
use callstack_core::frame::{Frame, FrameNum};
use callstack_core::subagent::{SubagentSession, SubagentSettings, SubagentStats};
use callstack_core::trace::SessionTrace;
use callstack_store::{StoreError, StoredMessage};

use crate::engine::Engine;
use crate::feed::{EventBatch, EventCursor, EventWatch, FeedEvent};
use crate::import::Imports;
use crate::saving::Savings;
use crate::search::{SearchAnswer, SearchRequest};
use crate::tree::{TreeLine, TreeNotes};
use crate::{
    AutonomySettings, Configured, Decoder, EngineError, Health, ImportSummary, LogEntry, LogPart,
    LogRequest, PastCounts, PastMessages, PastSession, PurgeOutcome, PurgePlan, Reach, Reader,
    Rebuilt, RollbackPlan, Setting, Settings, StackState, SubagentFilter, Summarizer,
    SummarizerError, SummaryRequest, TokenUsage, TraceRequest, Traced, WorkTree,
};

impl Engine {
    /// Takes over recorded sessions. One that a call of another among them started stands below the frame of that
    /// call. `progress` is called with the places of the session and the message that are next.
    pub fn take_over_sessions(
        &self,
        sessions: &[PastSession],
        messages: &PastMessages<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<PastCounts, EngineError> {
        self.takeovers.take_over_sessions(sessions, messages, progress)
    }

    /// Sets the function that is asked for changed settings whenever settings are read: the user may have changed the
    /// configuration since the start. The first one counts.
    pub fn reread_settings_with(
        &self,
        reread: impl Fn() -> Option<Settings> + Send + Sync + 'static,
    ) {
        self.kernel.env().reread_settings_with(reread);
    }

    /// Returns a notice for the user of each thing that happened to the files of the store since the last call.
    pub fn file_notices(&self) -> Vec<String> {
        self.presence.notices()
    }

    /// Returns databases in the state folder that were put aside, since an earlier state came into their place.
    pub fn databases_aside(&self) -> Vec<PathBuf> {
        self.kernel.databases_aside()
    }

    /// Returns the settings of this process, without those that are set in the store: [`Engine::current_settings`].
    pub fn settings(&self) -> &Settings {
        self.kernel.env().initial_settings()
    }

    /// Every setting, in the table's order.
    pub fn configuration(&self) -> Result<Vec<Configured>, EngineError> {
        self.kernel.configuration()
    }

    /// Returns the value and the source of a setting.
    pub fn configured_as(&self, setting: &'static Setting) -> Result<Configured, EngineError> {
        self.kernel.configured_as(setting)
    }

    /// Sets a setting in the project, or resets it.
    pub fn configure(
        &self,
        setting: &'static Setting,
        value: Option<&str>,
    ) -> Result<Configured, EngineError> {
        self.kernel.configure(setting, value)
    }

    /// The database file.
    pub fn store_path(&self) -> &Path {
        self.kernel.store_path()
    }

    /// Returns the settings of this store, by the names of their variables. They override the user's own
    /// configuration, until they are reset.
    pub fn stored_settings(&self) -> Result<BTreeMap<String, String>, EngineError> {
        self.kernel.stored_settings()
    }

    /// Sets a setting of the store, or resets it. The caller has to check whether the value makes sense.
    pub fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), EngineError> {
        self.kernel.set_setting(name, value)
    }

    /// Requests that the files of `.opencode/stack` and the logs be brought up to date, in the background: a process
    /// that was killed may have left them out of date, and somebody may have removed some. They follow every change
    /// by themselves.
    pub fn write_files(&self) {
        self.project_files.write_files();
    }

    /// Returns why the files of `.opencode/stack` could not be written last, until they are.
    pub fn files_failure(&self) -> Option<EngineError> {
        self.project_files.files_failure()
    }

    /// Refuses the folder `.opencode/stack` if git tracks files in it that would be written: a commit would take them
    /// along.
    pub fn check_files_untracked(&self) -> Result<(), EngineError> {
        self.project_files.check_untracked()
    }

    /// Why logs were last not written, until they are.
    pub fn logs_failure(&self) -> Option<EngineError> {
        self.project_files.logs_failure()
    }

    /// Checks the store. Changes nothing.
    pub fn check(&self) -> Result<Health, EngineError> {
        self.kernel.check()
    }

    /// Derives the store's tables from its events; those that can't be read are left out.
    pub fn rebuild(&self) -> Result<Rebuilt, EngineError> {
        self.kernel.rebuild()
    }

    /// Removes the files of `.opencode/stack` if they are this store's, and returns whether they were; none where
    /// there are none.
    pub fn remove_files(&self) -> Result<Option<bool>, EngineError> {
        self.project_files.remove_files()
    }

    /// Whether nothing was ever done in the store.
    pub fn is_unused(&self) -> Result<bool, EngineError> {
        self.kernel.is_unused()
    }

    /// Messages in the store, their bytes as they came and as they are stored.
    pub fn message_sizes(&self) -> Result<(u64, u64, u64), EngineError> {
        self.kernel.message_sizes()
    }

    /// Whether the store can be read but not changed.
    pub fn is_read_only(&self) -> bool {
        self.kernel.is_read_only()
    }

    /// Has a host show a notice to the user.
    pub fn notify(&self, notice: String) {
        self.kernel.notify(notice);
    }

    /// Returns the present settings for what callstack does unasked.
    pub fn autonomy(&self) -> Result<AutonomySettings, EngineError> {
        self.queries.autonomy()
    }

    /// Returns the purpose of the next compaction of a session.
    pub fn compaction_type(&self, session: &str) -> Result<CompactionType, EngineError> {
        self.queries.compaction_type(session)
    }

    /// The compaction that a session waits for.
    pub fn pending_compaction(
        &self,
        session: &str,
    ) -> Result<Option<PendingCompaction>, EngineError> {
        self.queries.pending_compaction(session)
    }

    /// Stops waiting for a compaction of a session; its frame stays as it is.
    pub fn clear_compaction_tracking(
        &self,
        session: &str,
        reason: &str,
    ) -> Result<(), EngineError> {
        self.queries.clear_compaction_tracking(session, reason)
    }

    /// The frame that a reference (handle, id, former id or a unique prefix) means.
    pub fn resolve(&self, reference: &str) -> Result<Frame, EngineError> {
        self.queries.resolve(reference)
    }

    /// The frame that a session works in.
    pub fn active(&self, session: &str) -> Result<Option<FrameNum>, EngineError> {
        self.queries.active(session)
    }

    /// The session that a person at a terminal means when none is named: the one that worked last, with the
    /// last message of its transcript. Nobody works in one that was only read from a recording.
    pub fn latest_session(&self) -> Result<Option<(String, Option<String>)>, EngineError> {
        self.queries.latest_session()
    }

    /// The whole tree, or a frame with all that is below it as a tree of its own. Reads every frame.
    pub fn export(&self, root: Option<FrameNum>) -> Result<StackState, EngineError> {
        self.queries.export(root)
    }

    /// The frames of a session with all that is below them as a tree of their own. Reads every frame.
    pub fn export_session(&self, session: &str) -> Result<StackState, EngineError> {
        self.queries.export_session(session)
    }

    /// The session that a reference (its id or a unique prefix of it) means, with the last message of its
    /// transcript.
    pub fn find_session(&self, reference: &str) -> Result<(String, Option<String>), EngineError> {
        self.queries.find_session(reference)
    }

    /// The frames that a session works in, the root first and the active one last.
    pub fn stack(&self, session: &str) -> Result<Vec<Frame>, EngineError> {
        self.queries.stack(session)
    }

    /// The messages of a frame's spans, in order; a root's are all those of its session. Of the step that
    /// opened a frame it has the calls that are the frame's.
    pub fn log(&self, frame: &Frame) -> Result<Vec<StoredMessage>, EngineError> {
        self.queries.log(frame)
    }

    /// Messages in a frame's log.
    pub fn log_length(&self, frame: &Frame) -> Result<u64, EngineError> {
        self.queries.log_length(frame)
    }

    /// A part of a frame's log.
    pub fn read_log(&self, frame: &Frame, request: &LogRequest) -> Result<LogPart, EngineError> {
        self.queries.read_log(frame, request)
    }

    /// Passes a part of a frame's log to `see`, one message at a time, until it has seen enough. Returns the number
    /// of messages in the whole log, and the place of the first one after the part, if there is one.
    pub fn visit_log<E: From<EngineError> + From<StoreError>>(
        &self,
        frame: &Frame,
        request: &LogRequest,
        see: impl FnMut(LogEntry) -> Result<ControlFlow<()>, E>,
    ) -> Result<(u64, Option<u64>), E> {
        self.queries.visit_log(frame, request, see)
    }

    /// Finds places that match a query: words without any match are searched as a literal string, which may begin and
    /// end within words.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, EngineError> {
        self.queries.search(request)
    }

    /// The same within the messages of a session, and its frames, where `session` is given.
    pub fn search_in(
        &self,
        request: &SearchRequest,
        session: Option<&str>,
    ) -> Result<SearchAnswer, EngineError> {
        self.queries.search_in(request, session)
    }

    /// The whole tree. Reads every frame: for exports and people, not for hooks.
    pub fn state(&self) -> Result<StackState, EngineError> {
        self.queries.state()
    }

    /// Returns the present settings of child sessions' frames.
    pub fn subagent_settings(&self) -> Result<SubagentSettings, EngineError> {
        self.queries.subagent_settings()
    }

    /// Returns the number of imported sessions.
    pub fn imported_sessions(&self) -> Result<u64, EngineError> {
        self.queries.imported_sessions()
    }

    /// Whether a frame never ended in a session that was imported.
    pub fn is_left_open(&self, frame: &Frame) -> Result<bool, EngineError> {
        self.queries.is_left_open(frame)
    }

    /// The notes to the frames of a tree. Reads the evidence of all frames.
    pub fn tree_notes(&self, lines: &[TreeLine]) -> Result<TreeNotes, EngineError> {
        self.queries.tree_notes(lines)
    }

    /// The tree in drawing order: below each frame its children, in the order in which they came to be.
    /// `session` decides which frame counts as active.
    pub fn tree(&self, session: Option<&str>) -> Result<Vec<TreeLine>, EngineError> {
        self.queries.tree(session)
    }

    /// The child sessions that a filter takes, in the order in which they were first seen.
    pub fn subagents(&self, filter: &SubagentFilter) -> Result<Vec<SubagentSession>, EngineError> {
        self.queries.subagents(filter)
    }

    /// Returns the number of child sessions since the store was made, by their ends.
    pub fn subagent_stats(&self) -> Result<SubagentStats, EngineError> {
        self.queries.subagent_stats()
    }

    /// The end of the event log.
    pub fn newest_event(&self) -> Result<EventCursor, EngineError> {
        self.queries.newest_event()
    }

    /// The events after a place in the log, whichever process appended them: at most `limit` and about 8 MB, in order,
    /// with secrets masked.
    pub fn events_after(
        &self,
        after: impl Into<EventCursor>,
        limit: usize,
    ) -> Result<EventBatch<FeedEvent>, EngineError> {
        self.queries.events_after(after.into(), limit)
    }

    /// Follows the event log from a place on. Each watch is for one thread; there may be any number of them.
    pub fn watch_events(&self, after: impl Into<EventCursor>) -> EventWatch {
        self.queries.watch_events(after.into())
    }

    /// Forgets the rendered contexts of a session, and returns their number.
    pub fn invalidate_cache(&self, session: &str) -> usize {
        self.contexts.invalidate_cache(session)
    }

    /// Forgets all rendered contexts, and returns their number.
    pub fn invalidate_all_cache(&self) -> usize {
        self.contexts.invalidate_all_cache()
    }

    /// Sets the reader of stored messages from which evidence is taken. Without one there is no evidence. The first
    /// one counts.
    pub fn read_messages_with(&self, reader: Reader) {
        self.span_reader.read_messages_with(reader);
    }

    /// Sets the decoder of stored messages with which requests are looked at. The first one counts.
    pub fn decode_messages_with(&self, decoder: Decoder) {
        self.views.decode_messages_with(decoder);
    }

    /// Sets the model that writes missing results, where its settings ask for that. The first one counts.
    pub fn summarize_with(&self, summarizer: Arc<dyn Summarizer>) {
        self.results.summarize_with(summarizer);
    }

    /// Asks the model, and waits for its answer: the full results.
    pub fn ask_summarizer(&self, request: &SummaryRequest) -> Result<String, SummarizerError> {
        self.results.ask_summarizer(request)
    }

    /// Checks that states of the project's files can be recorded, where they should be.
    pub fn check_work_tree(&self) -> Result<(), EngineError> {
        self.files.check_work_tree()
    }

    /// Sets the recorder of the project's files, which is used where frames begin and end. Without it frames can't be
    /// rolled back. The first one counts.
    pub fn record_files_with(&self, work_tree: Box<dyn WorkTree>) {
        self.files.record_files_with(work_tree);
    }

    /// Returns the XML context of a frame for a session, with its cost in estimated tokens. It is rendered again when
    /// anything in it has changed, and after 30 seconds.
    pub fn generate_frame_context(
        &self,
        session: &str,
        frame: &str,
    ) -> Result<Arc<RenderedContext>, EngineError> {
        self.system.generate_frame_context(session, frame)
    }

    /// Returns the tokens that a session takes and may take, as last reported by its host.
    pub fn usage(&self, session: &str) -> TokenUsage {
        self.system.usage(session)
    }

    /// Returns the figures of a session's requests, with and without callstack.
    pub fn savings(&self, session: &str) -> Result<Savings, EngineError> {
        self.saving.savings(session)
    }

    /// Returns the sessions of a project with their frames, for exports. Reads every frame.
    pub fn find_traces(&self, request: TraceRequest) -> Result<Traced, EngineError> {
        self.traces.find(request)
    }

    /// Returns a session that was found, by its place, with its steps; none where there is nothing in it.
    pub fn trace(
        &self,
        traced: &Traced,
        place: usize,
    ) -> Result<Option<SessionTrace>, EngineError> {
        self.traces.session(traced, place)
    }

    /// Takes over the frames of folders (`.opencode/stack`, `.opencode/flame`, or a project that has them) and
    /// of files (a state or a single frame). Without any path, those of this project.
    pub fn import(&self, paths: &[PathBuf]) -> Result<ImportSummary, EngineError> {
        self.imports.import(paths)
    }

    /// Returns the effects of an import of these paths.
    pub fn would_import(&self, paths: &[PathBuf]) -> Result<ImportSummary, EngineError> {
        self.imports.would_import(paths)
    }

    /// The same for a store that does not exist yet: every frame is new to it.
    pub fn frames_in(paths: &[PathBuf]) -> Result<ImportSummary, EngineError> {
        Imports::frames_in(paths)
    }

    /// Whether frames lie in this project that [`Engine::import`] takes over without any path.
    pub fn has_frames_of_others(&self) -> Result<bool, EngineError> {
        self.imports.has_frames_of_others()
    }

    /// Whether a folder holds frames that [`Engine::import`] takes over.
    pub fn holds_frames(folder: &Path) -> bool {
        Imports::holds_frames(folder)
    }

    /// Returns the plan of a rollback of the files of a frame and the frames below it. Changes no file.
    pub fn rollback_plan(&self, frame: &str, reach: Reach) -> Result<RollbackPlan, EngineError> {
        self.rollbacks.rollback_plan(frame, reach)
    }

    /// Returns the plan of taking back the last rollback of a frame.
    pub fn rollback_undo_plan(&self, frame: &str) -> Result<RollbackPlan, EngineError> {
        self.rollbacks.rollback_undo_plan(frame)
    }

    /// Returns the plan of a purge of a frame (handle, id, beginning of an id) with all below it, or of a session
    /// (its id or the beginning of it). Changes nothing.
    pub fn purge_plan(&self, reference: &str) -> Result<PurgePlan, EngineError> {
        self.purges.purge_plan(reference)
    }

    /// Carries out a purge on behalf of `by`: removes the messages, and the copies that callstack made of them. Texts
    /// that an agent or a person gave stay: titles, results, decisions and pins. So do the names of files that were
    /// changed, and everything that the host itself keeps.
    pub fn purge(&self, plan: PurgePlan, by: &str) -> Result<PurgeOutcome, EngineError> {
        self.purges.purge(plan, by)
    }
}
