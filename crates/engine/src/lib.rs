//! The engine: the table of operations, the live sessions of hosts, and the content of requests.
//!
//! Not here: the protocols of hosts (`hosts`), views on a terminal (`cli`), and the rules for changes (`core`).

mod assembly;
mod autonomy;
mod background;
mod calibration;
mod call;
mod changed_files;
mod closing;
mod commands;
mod compaction;
mod consolidation;
mod conversation;
mod delegations;
mod dense;
pub mod effect;
mod engine;
mod error;
mod evidence;
mod export;
mod feed;
mod files;
mod flame;
mod frames;
mod generator;
mod handles;
mod hint;
mod idempotency;
mod import;
mod inspection;
mod kernel;
pub mod layout;
mod lifecycle;
mod lock;
mod log;
mod log_file;
pub mod manager;
mod masking;
mod mirror;
pub mod operation;
pub mod operations;
mod outputs;
mod path_text;
pub mod presets;
mod project_files;
mod purge;
mod queries;
mod recorder;
mod requests;
mod rollback;
pub mod saving;
mod schema;
pub mod search;
mod session;
mod sessions;
mod settings;
mod slash;
mod state;
mod still_sent;
mod subagents;
mod summarizer;
mod system;
pub mod tools;
mod traces;
pub mod tree;
pub mod unfinished;
mod vanished;
mod views;
mod work;
mod work_tree;
mod world;

pub use callstack_store::plain;
pub use compaction::{CompactionPrompt, Summary};
pub use conversation::broken::Failure;
pub use conversation::mode::off as frame_mode_is_off;
pub use conversation::past::{
    PastAside, PastCaller, PastCounts, PastMessage, PastMessages, PastSession,
};
pub use conversation::{HostMessage, ReturnedTask, SyncAnswer, SyncRequest};
pub use engine::{Engine, Health, LeftOut, Omitted, Rebuilt};
pub use error::{EngineError, Kind};
pub use evidence::Reader;
pub use feed::{EventBatch, EventCursor, EventWatch, FeedEvent, InvalidCursor, StopWatch};
pub use files::LARGEST_FILE;
pub use hint::Hint;
pub use import::{ImportSource, ImportSummary, Skipped};
pub use kernel::configuration::{Configured, Source};
pub use log::{LogEntry, LogPart, LogRequest, LoggedMessage, WholeLog};
pub use manager::FrameStateManager;
pub use operations::figures::{Estimate, Figures, RequestFigures};
pub use operations::near::{InheritedPins, NearFrame, NearFrames};
pub use operations::settings::{SettingEntry, SettingsOutput};
pub use operations::summarizer::{SummarizerOutput, SummarizerWord};
pub use path_text::path_text;
pub use purge::{PurgeOutcome, PurgePlan, Said};
pub use rollback::{Reach, Restoring, RollbackPlan, RolledBack};
pub use session::UserMessage;
pub use settings::{
    AutonomySettings, FrameSessions, Given, Kept, Level, MaskOutputs, Placement, Profile, SETTINGS,
    SUBAGENT_VARIABLES, SUMMARIZER_VARIABLES, Scope, Setting, Settings, SummarizerSettings, Unit,
    UserConfiguration, Values, WireFormat,
};
pub use slash::{SLASH, Slash, SlashAnswer, SlashRequest};
pub use state::{FrameMetadata, StackState};
pub use subagents::{ChildSession, ChildStatus, SubagentFilter};
pub use summarizer::{Summarizer, SummarizerError, SummaryRequest};
pub use system::{SystemRequest, TokenUsage};
pub use traces::{TraceRequest, TraceScope, Traced};
pub use views::Decoder;
pub use views::frames::{CheckedView, FrameList, ListedFrame, ListedSession};
pub use work_tree::{FileChange, FileChangeKind, FilePatch, LeftAlone, Why, WorkTree};
pub use world::{SystemWorld, World};
