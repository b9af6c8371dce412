//! Masks: lines that replace results of calls while their work goes on.

use callstack_core::event::MaskedOutput;
use callstack_core::fold::Mask;
use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::StoreError;
use crate::project::Writer;
use crate::store::View;

/// A line, and when it was first sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMask {
    /// The line.
    pub mask: Mask,
    /// The serial of the answer with which it was first sent.
    pub settled_serial: i64,
}

/// An earlier line stays as it is: it was sent.
pub(crate) fn add(
    writer: &Writer<'_, '_>,
    session: &str,
    masks: &[MaskedOutput],
    (settled_at, settled_serial): (&str, i64),
) -> Result<(), StoreError> {
    for MaskedOutput { message, part, text } in masks {
        writer.run(
            "INSERT INTO masks (session, message, part, text, settled_at, settled_serial)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (session, message, part) DO UPDATE
               SET settled_at = excluded.settled_at, settled_serial = excluded.settled_serial",
            params![session, message, part, text, settled_at, settled_serial],
        )?;
    }
    writer.run("UPDATE sessions SET changed_seq = ?2 WHERE id = ?1", params![session, writer.seq])
}

impl View<'_> {
    /// The lines of a session.
    pub fn session_masks(&self, session: &str) -> Result<Vec<StoredMask>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT message, part, text, settled_at, settled_serial FROM masks
                 WHERE session = ?1",
            )
            .and_then(|mut statement| statement.query_map([session], mask_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Returns the time at which a message of a session was stored last, in milliseconds since 1970.
    pub fn last_recorded(&self, session: &str) -> Result<Option<i64>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT at FROM messages WHERE session = ?1 ORDER BY seq DESC, version DESC LIMIT 1",
            )
            .and_then(|mut statement| statement.query_row([session], |row| row.get(0)).optional())
            .map_err(|source| self.failed(source))
    }

    /// The latest time at which a message of a session was stored, by clocks that may have been set back since.
    pub fn newest_recording(&self, session: &str) -> Result<Option<i64>, StoreError> {
        self.connection
            .prepare_cached("SELECT max(at) FROM messages WHERE session = ?1")
            .and_then(|mut statement| statement.query_row([session], |row| row.get(0)))
            .map_err(|source| self.failed(source))
    }
}

fn mask_of(row: &Row<'_>) -> rusqlite::Result<StoredMask> {
    let (message, part, text) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let mask = Mask { message, part, text, settled_at: Some(row.get(3)?) };
    Ok(StoredMask { mask, settled_serial: row.get(4)? })
}
