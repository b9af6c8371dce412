//! A host's request before it calls its model, and the answer.

use callstack_core::transcript::FoldOp;

use super::host_message::HostMessage;

/// A host is about to call its model.
#[derive(Clone, Debug)]
pub struct SyncRequest {
    /// The session.
    pub session: String,
    /// The host.
    pub host: String,
    /// Whether the call is the host's own, for a compaction: it lacks the newest messages.
    pub compacting: bool,
    /// How many messages at the beginning are as they were at the last sync.
    pub keep: usize,
    /// The messages after these.
    pub shown: Vec<HostMessage>,
    /// How many operations the host holds, all from answers of this process.
    pub ops: usize,
    /// The serial of the answer whose operations were applied to the host's last request to the model: 0 if there was
    /// no request yet, -1 if that lacked our operations or our system prompt.
    pub applied: i64,
    /// The serial of the newest answer that the host holds; 0 without one.
    pub newest: i64,
}

/// The answer to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncAnswer {
    /// The base that the host builds on is not known here: it should send everything.
    All,
    /// The operations: the first `keep` that the host holds, and then these.
    Ops {
        /// Grows with every answer, across restarts too.
        serial: i64,
        /// How many operations of the host stay.
        keep: usize,
        /// The operations after these.
        ops: Vec<FoldOp>,
    },
}

/// Returns how many operations at the beginning of two lists are the same.
pub(super) fn common(held: &[FoldOp], new: &[FoldOp]) -> usize {
    held.iter().zip(new).take_while(|(held, new)| held == new).count()
}
