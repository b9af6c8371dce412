//! The store of callstack's data: the event log, the tables that are derived from it, and the bodies of messages, in
//! one SQLite file that several processes use at the same time.
//!
//! Not here: the meaning of commands (`core`), and callers (`engine`, `hosts`).

mod answers;
mod bodies;
mod change;
mod checkpoint;
mod compactions;
mod connect;
mod connections;
mod delegations;
mod elsewhere;
mod error;
mod evidence;
mod feed;
mod file_states;
mod frames;
mod git_exclude;
mod guard;
mod handle;
mod history;
mod kept;
mod locate;
mod logs;
mod masks;
mod messages;
mod named_steps;
mod places;
mod plan;
mod postings;
mod presence;
mod project;
mod purge;
mod rebuild;
mod resolve;
mod restore;
mod schema;
mod search;
mod session_states;
mod sharing;
mod spans;
mod store;

mod subagents;
mod suggestions;
mod trust;
mod unreadable;
mod watch;
mod words;
mod write_turns;

pub use callstack_plain_files as plain;
pub use change::Change;
pub use compactions::CompactionCounts;
pub use delegations::StoredDelegation;
pub use error::{Damage, StoreError, Unrestorable};
pub use feed::{EventBatch, EventCursor, InvalidCursor, LoggedEvent};
pub use frames::{Beside, SiblingCandidates, StatusCounts};
pub use git_exclude::{exclude_from_git, include_in_git};
pub use guard::Guard;
pub use locate::{
    DATABASE, FOLDER, find, is_kept_from_git, keep_from_git, last_written, prepare, project_root,
    restrict,
};
pub use logs::{LOGS, LogDue, log_path};
pub use masks::StoredMask;
pub use messages::{MessageBody, StoredMessage};
pub use places::{MessageRange, SpanEnd};
pub use plain::open_plain;
pub use purge::{Copies, Erased, PastPurge, Purge, REMOVED};
pub use rebuild::{Health, Rebuilt};
pub use schema::VERSION as SCHEMA_VERSION;
pub use search::{IndexedMessage, said_of};
pub use sharing::{share_file_in, share_folder_in};
pub use store::{Store, View};
pub use suggestions::{StoredSuggestion, SuggestionCounts};
pub use trust::{Distrust, Foreign, Inspection, Record, Registry, StoreId, TakenOver, Trusted};
pub use unreadable::{LeftOut, Omitted};
pub use watch::{StopWatch, Watch};
pub use words::Narrowed;
pub use write_turns::{Incident, Turns};
