//! A session as its host continues it: new messages are stored, undos are followed, finished frames are folded.

pub(crate) mod broken;
mod calibrated;
pub(crate) mod children;
pub(crate) mod copied;
mod entry;
pub(crate) mod files_before;
pub(crate) mod fixing;
pub(crate) mod folding;
#[cfg(test)]
mod folding_tests;
pub(crate) mod fork;
pub(crate) mod framing;
pub(crate) mod history;
#[cfg(test)]
mod history_tests;
pub(crate) mod host_message;
pub(crate) mod masking;
pub(crate) mod mode;
pub(crate) mod named_steps;
pub(crate) mod notes;
mod observed;
pub(crate) mod outside;
pub(crate) mod past;
mod purged;
pub(crate) mod results;
mod seen;
pub(crate) mod snapshot;
pub(crate) mod stale;
mod state;
pub(crate) mod stored_notes;
pub(crate) mod sync;
mod sync_request;
#[cfg(test)]
mod transactions_tests;
pub(crate) mod undo;
mod watch;
pub(crate) mod written;

pub use host_message::{HostMessage, ReturnedTask};
pub(crate) use state::{Conversation, START};
pub use sync_request::{SyncAnswer, SyncRequest};
