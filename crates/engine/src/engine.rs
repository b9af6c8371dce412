//! The engine: one store, and everything that is done to it. It only joins the parts, each of which uses those below
//! it and none above.

mod hosts;
mod people;

use std::path::Path;
use std::sync::Arc;

use callstack_store::Trusted;

use crate::assembly::Contexts;
use crate::autonomy::Suggestions;
use crate::closing::{Endings, SpanClosing};
use crate::commands::Commands;
use crate::compaction::Compactions;
use crate::conversation::files_before::StepQueries;
use crate::conversation::fixing::Fixing;
use crate::conversation::folding::Folding;
use crate::conversation::fork::Forks;
use crate::conversation::framing::WorkFraming;
use crate::conversation::history::Histories;
use crate::conversation::notes::Notes;
use crate::conversation::past::Takeovers;
use crate::conversation::sync::Conversations;
use crate::conversation::undo::Undo;
use crate::conversation::written::FileWrites;
use crate::delegations::Delegation;
use crate::error::EngineError;
use crate::evidence::{SpanEvidence, SpanReader};
use crate::frames::Frames;
use crate::generator::ResultsMaker;
use crate::idempotency::Idempotency;
use crate::import::Imports;
use crate::kernel::Kernel;
use crate::lifecycle::Lifecycle;
use crate::project_files::ProjectFiles;
use crate::purge::Purges;
use crate::queries::Queries;
use crate::rollback::Rollbacks;
use crate::saving::SavingReports;
use crate::session::UserTurns;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::subagents::Subagents;
use crate::system::SystemPrompts;
use crate::traces::Traces;
use crate::vanished::Presence;
use crate::views::Views;
use crate::work_tree::FileStates;
use crate::world::World;
pub use callstack_store::{Health, LeftOut, Omitted, Rebuilt};

/// The engine of one project. May be shared between threads and exist in several processes at once.
pub struct Engine {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) project_files: Arc<ProjectFiles>,
    pub(crate) queries: Arc<Queries>,
    pub(crate) commands: Arc<Commands>,
    pub(crate) span_reader: Arc<SpanReader>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) spans: Arc<SpanEvidence>,
    pub(crate) contexts: Arc<Contexts>,
    pub(crate) frames: Arc<Frames>,
    pub(crate) results: Arc<ResultsMaker>,
    pub(crate) files: Arc<FileStates>,
    pub(crate) writes: Arc<FileWrites>,
    pub(crate) saving: Arc<SavingReports>,
    pub(crate) traces: Arc<Traces>,
    pub(crate) subagents: Arc<Subagents>,
    pub(crate) idempotency: Arc<Idempotency>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) delegation: Arc<Delegation>,
    pub(crate) compaction: Arc<Compactions>,
    pub(crate) turns: Arc<UserTurns>,
    pub(crate) undo: Arc<Undo>,
    pub(crate) system: Arc<SystemPrompts>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) steps: Arc<StepQueries>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) imports: Arc<Imports>,
    pub(crate) takeovers: Arc<Takeovers>,
    pub(crate) rollbacks: Arc<Rollbacks>,
    pub(crate) purges: Arc<Purges>,
    pub(crate) views: Arc<Views>,
}

impl Engine {
    /// Opens the store of a project, making it if there is none.
    #[expect(
        clippy::too_many_lines,
        reason = "a statement for each part, in the order in which they stand on each other"
    )]
    pub fn open(
        trusted: Trusted,
        settings: Settings,
        world: Box<dyn World>,
    ) -> Result<Self, EngineError> {
        let kernel = Arc::new(Kernel::open(trusted, settings, world)?);
        let queries = Arc::new(Queries::new(&kernel));
        let commands = Arc::new(Commands::new(kernel.env()));
        let span_reader = Arc::new(SpanReader::new(kernel.env()));
        let project_files = Arc::new(ProjectFiles::new(&kernel));
        let sessions = Arc::new(Sessions::new(&kernel, &project_files));
        let spans = Arc::new(SpanEvidence::new(&kernel, &span_reader, &sessions));
        let contexts = Arc::new(Contexts::new(kernel.env()));
        let frames = Arc::new(Frames::new(&kernel, &queries, &commands));
        let results = Arc::new(ResultsMaker::new(&kernel, &span_reader, &spans));
        let closing = Arc::new(SpanClosing::new(&commands, &contexts));
        let endings = Arc::new(Endings::new(&kernel, &spans, &closing));
        let files = Arc::new(FileStates::new(&kernel));
        let fixing = Arc::new(Fixing::new(&kernel, &contexts, &span_reader, &sessions));
        let writes = Arc::new(FileWrites::new(&kernel, &queries, &frames, &sessions));
        let saving = Arc::new(SavingReports::new(&kernel, &sessions, &writes));
        let traces = Arc::new(Traces::new(&kernel));
        let framing = Arc::new(WorkFraming::new(
            &kernel,
            &queries,
            &sessions,
            &span_reader,
            &contexts,
            &commands,
        ));
        let suggestions = Arc::new(Suggestions::new(&kernel, &queries));
        let subagents = Arc::new(Subagents::new(
            &kernel,
            &queries,
            &frames,
            &span_reader,
            &spans,
            &sessions,
            &framing,
            &writes,
            &saving,
            &endings,
        ));
        let idempotency = Arc::new(Idempotency::new(&kernel));
        let lifecycle = Arc::new(Lifecycle::new(
            &kernel,
            &frames,
            &contexts,
            &endings,
            &subagents,
            &idempotency,
        ));
        let delegation = Arc::new(Delegation::new(
            &kernel,
            &queries,
            &commands,
            &contexts,
            &span_reader,
            &spans,
            &sessions,
            &files,
            &fixing,
            &closing,
        ));
        let compaction = Arc::new(Compactions::new(
            &kernel,
            &queries,
            &contexts,
            &span_reader,
            &spans,
            &sessions,
            &closing,
        ));
        let turns = Arc::new(UserTurns::new(&kernel, &queries, &frames, &sessions, &subagents));
        let undo = Arc::new(Undo::new(&kernel, &queries, &frames, &sessions));
        let system =
            Arc::new(SystemPrompts::new(&kernel, &queries, &contexts, &sessions, &suggestions));
        let folding = Arc::new(Folding::new(&kernel, &span_reader, &sessions, &fixing));
        let forks = Arc::new(Forks::new(&kernel, &frames, &sessions));
        let notes =
            Arc::new(Notes::new(&kernel, &queries, &sessions, &delegation, &suggestions, &system));
        let presence = Arc::new(Presence::new(&kernel, &project_files, &contexts, &sessions));
        let steps = Arc::new(StepQueries::new(&kernel, &sessions, &files));
        let histories = Arc::new(Histories::new(&frames, &turns, &forks, &compaction));
        let conversations = Arc::new(Conversations::new(
            &kernel,
            &sessions,
            &files,
            &fixing,
            &compaction,
            &subagents,
            &framing,
            &writes,
            &presence,
            &undo,
            &folding,
            &notes,
            &forks,
            &histories,
        ));
        let imports = Arc::new(Imports::new(&kernel));
        let takeovers =
            Arc::new(Takeovers::new(&kernel, &queries, &sessions, &frames, &framing, &lifecycle));
        let rollbacks = Arc::new(Rollbacks::new(&kernel, &queries, &files));
        let purges = Arc::new(Purges::new(&kernel, &queries, &contexts));
        let views = Arc::new(Views::new(&kernel, &queries, &span_reader, &files));
        Ok(Self {
            kernel,
            project_files,
            queries,
            commands,
            span_reader,
            sessions,
            spans,
            contexts,
            frames,
            results,
            files,
            writes,
            saving,
            traces,
            subagents,
            idempotency,
            lifecycle,
            delegation,
            compaction,
            turns,
            undo,
            system,
            presence,
            steps,
            conversations,
            imports,
            takeovers,
            rollbacks,
            purges,
            views,
        })
    }

    /// Opens the store of a project without checking whether it may be trusted: for tests, examples and measurements.
    pub fn open_unchecked(
        project: &Path,
        settings: Settings,
        world: Box<dyn World>,
    ) -> Result<Self, EngineError> {
        Self::open(Trusted::unchecked(project)?, settings, world)
    }
}
