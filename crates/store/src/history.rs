//! The end of the log of events that a process knows of. A log only grows: one that ends earlier, or continues
//! differently, belongs to another store or to a copy.

use rusqlite::{Connection, OptionalExtension as _};

/// The ends of a log of events: number and time of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    first: Option<(i64, i64)>,
    newest: Option<(i64, i64)>,
}

impl History {
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let end = |order| {
            connection
                .prepare_cached(&format!(
                    "SELECT seq, at FROM events ORDER BY seq {order} LIMIT 1"
                ))?
                .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        };
        Ok(Self { first: end("ASC")?, newest: end("DESC")? })
    }

    /// Returns the history with further events.
    pub(crate) fn extended(self, newest: (i64, i64)) -> Self {
        Self { first: self.first.or(Some(newest)), newest: Some(newest) }
    }

    /// Whichever of two is longer.
    pub(crate) fn longer(self, other: Self) -> Self {
        if other.newest.map(|it| it.0) > self.newest.map(|it| it.0) { other } else { self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.newest.is_none()
    }

    /// Whether a log goes on from here.
    pub(crate) fn is_in(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let Some((seq, at)) = self.newest else { return Ok(true) };
        let found: Option<i64> = connection
            .prepare_cached("SELECT at FROM events WHERE seq = ?1")?
            .query_row([seq], |row| row.get(0))
            .optional()?;
        Ok(found == Some(at))
    }

    /// Returns the number of events of this log that another one lacks, which is an earlier state of it or unrelated.
    pub(crate) fn lost_in(&self, other: &Self) -> u64 {
        let length = |history: &Self| history.newest.map_or(0, |(seq, _)| seq);
        let is_earlier = self.first == other.first;
        let kept = if is_earlier { length(other).min(length(self)) } else { 0 };
        (length(self) - kept).unsigned_abs()
    }
}
