//! Frames that sessions of their own work on, and whether the result was delivered to the caller.

use callstack_core::event::Delegation;
use callstack_core::transcript::{Anchor, SpanNum};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::project::{signed, sql};
use crate::store::View;

const DELEGATION: &str =
    "SELECT span, frame, session, caller, call_message, call, delivered FROM errands";

/// A delegation, and whether its result was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDelegation {
    /// The delegation.
    pub delegation: Delegation,
    /// Whether the result was delivered to its caller.
    pub delivered: bool,
}

pub(crate) fn begin(view: &View<'_>, delegation: &Delegation) -> Result<(), StoreError> {
    view.run(
        "INSERT INTO errands (span, frame, session, caller, call_message, call, delivered)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)",
        params![
            signed(delegation.span.0),
            sql(delegation.frame),
            delegation.session,
            delegation.caller,
            delegation.call.message,
            delegation.call.call
        ],
    )
}

pub(crate) fn deliver(view: &View<'_>, span: SpanNum) -> Result<(), StoreError> {
    view.run("UPDATE errands SET delivered = 1 WHERE span = ?1", [signed(span.0)])
}

impl View<'_> {
    /// The delegations that a session has given others, by the numbers of their spans.
    pub fn delegations_of(&self, caller: &str) -> Result<Vec<StoredDelegation>, StoreError> {
        self.connection
            .prepare_cached(&format!("{DELEGATION} WHERE caller = ?1 ORDER BY span"))
            .and_then(|mut statement| statement.query_map([caller], delegation_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// The newest delegation that a session works on, or worked on.
    pub fn delegation_in(&self, session: &str) -> Result<Option<StoredDelegation>, StoreError> {
        self.connection
            .prepare_cached(&format!("{DELEGATION} WHERE session = ?1 ORDER BY span DESC LIMIT 1"))
            .and_then(|mut statement| statement.query_row([session], delegation_of).optional())
            .map_err(|source| self.failed(source))
    }

    /// The delegation that is worked on in a span, if it is one.
    pub fn delegation(&self, span: SpanNum) -> Result<Option<StoredDelegation>, StoreError> {
        self.connection
            .prepare_cached(&format!("{DELEGATION} WHERE span = ?1"))
            .and_then(|mut statement| {
                statement.query_row([signed(span.0)], delegation_of).optional()
            })
            .map_err(|source| self.failed(source))
    }

    /// Returns the number of delegations that are being worked on: those of frames in progress whose callers wait.
    pub(crate) fn live_delegations(&self) -> Result<u64, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT count(DISTINCT errands.session) FROM errands
                 JOIN frames ON frames.num = errands.frame AND frames.session = errands.session
                 WHERE errands.delivered = 0 AND frames.status = 'in_progress'
                   AND frames.detached = 0",
            )
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
            .map(i64::unsigned_abs)
            .map_err(|source| self.failed(source))
    }
}

fn delegation_of(row: &Row<'_>) -> rusqlite::Result<StoredDelegation> {
    Ok(StoredDelegation {
        delegation: Delegation {
            span: SpanNum(row.get::<_, i64>(0)?.unsigned_abs()),
            frame: frame_num(row.get(1)?),
            session: row.get(2)?,
            caller: row.get(3)?,
            call: Anchor { message: row.get(4)?, call: row.get(5)? },
        },
        delivered: row.get(6)?,
    })
}
