//! Frames that sessions of their own work on, and whether the result was delivered to the caller.

use callstack_core::event::Errand;
use callstack_core::transcript::{Anchor, SpanNum};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::project::{signed, sql};
use crate::store::View;

const ERRAND: &str =
    "SELECT span, frame, session, caller, call_message, call, delivered FROM errands";

/// An errand, and whether its result was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredErrand {
    /// The errand.
    pub errand: Errand,
    /// Whether the result was delivered to its caller.
    pub delivered: bool,
}

pub(crate) fn begin(view: &View<'_>, errand: &Errand) -> Result<(), StoreError> {
    view.run(
        "INSERT INTO errands (span, frame, session, caller, call_message, call, delivered)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)",
        params![
            signed(errand.span.0),
            sql(errand.frame),
            errand.session,
            errand.caller,
            errand.call.message,
            errand.call.call
        ],
    )
}

pub(crate) fn deliver(view: &View<'_>, span: SpanNum) -> Result<(), StoreError> {
    view.run("UPDATE errands SET delivered = 1 WHERE span = ?1", [signed(span.0)])
}

impl View<'_> {
    /// The errands that a session has given others, by the numbers of their spans.
    pub fn errands_of(&self, caller: &str) -> Result<Vec<StoredErrand>, StoreError> {
        self.connection
            .prepare_cached(&format!("{ERRAND} WHERE caller = ?1 ORDER BY span"))
            .and_then(|mut statement| statement.query_map([caller], errand_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// The newest errand that a session works on, or worked on.
    pub fn errand_in(&self, session: &str) -> Result<Option<StoredErrand>, StoreError> {
        self.connection
            .prepare_cached(&format!("{ERRAND} WHERE session = ?1 ORDER BY span DESC LIMIT 1"))
            .and_then(|mut statement| statement.query_row([session], errand_of).optional())
            .map_err(|source| self.failed(source))
    }

    /// The errand that is worked on in a span, if it is one.
    pub fn errand(&self, span: SpanNum) -> Result<Option<StoredErrand>, StoreError> {
        self.connection
            .prepare_cached(&format!("{ERRAND} WHERE span = ?1"))
            .and_then(|mut statement| statement.query_row([signed(span.0)], errand_of).optional())
            .map_err(|source| self.failed(source))
    }

    /// How many errands are being worked on: those of frames in progress whose callers wait.
    pub(crate) fn live_errands(&self) -> Result<u64, StoreError> {
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

fn errand_of(row: &Row<'_>) -> rusqlite::Result<StoredErrand> {
    Ok(StoredErrand {
        errand: Errand {
            span: SpanNum(row.get::<_, i64>(0)?.unsigned_abs()),
            frame: frame_num(row.get(1)?),
            session: row.get(2)?,
            caller: row.get(3)?,
            call: Anchor { message: row.get(4)?, call: row.get(5)? },
        },
        delivered: row.get(6)?,
    })
}
