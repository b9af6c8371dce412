//! Compactions of sessions: those that are waited for, and those that came.

use std::collections::BTreeMap;

use callstack_core::compaction::{Compaction, CompactionType, PendingCompaction};
use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::results::ResultsSource;
use rusqlite::types::Type;
use rusqlite::{OptionalExtension as _, Params, Row, params};

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::project::{Writer, sql};
use crate::store::View;

/// The numbers of compactions of each type: those that brought a summary, and those that failed.
pub type CompactionCounts = BTreeMap<CompactionType, (u64, u64)>;

const COMPACTION: &str =
    "SELECT session, kind, frame, message, summary, failure, notice FROM compactions";

pub(crate) fn apply(writer: &Writer<'_, '_>, event: &Event) -> Result<(), StoreError> {
    match event {
        Event::CompactionAsked { compaction } => writer.run(
            "INSERT INTO pending_compactions (session, frame, body, seq) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session) DO UPDATE
               SET frame = excluded.frame, body = excluded.body, seq = excluded.seq",
            params![
                compaction.session,
                sql(compaction.frame),
                serde_json::to_string(compaction)?,
                writer.seq
            ],
        ),
        Event::CompactionDropped { session, .. } => drop_pending(writer, session),
        Event::CompactionSettled { compaction } => {
            let Compaction { session, kind, frame, message, summary, failure, notice } =
                &**compaction;
            let notice = notice.as_ref().map(serde_json::to_string).transpose()?;
            writer.run(
                "INSERT INTO compactions
                   (seq, at, session, kind, frame, message, summary, failure, notice)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    writer.seq,
                    writer.at,
                    session,
                    kind.as_str(),
                    frame.map(sql),
                    message,
                    summary,
                    failure,
                    notice
                ],
            )?;
            drop_pending(writer, session)
        }
        Event::CompactionTold { session } => writer.run(
            "UPDATE compactions SET notice = NULL WHERE session = ?1 AND notice IS NOT NULL",
            params![session],
        ),
        Event::CheckpointSet { frame, results, results_compacted } => writer.run(
            "UPDATE frames SET results = ?2, results_compacted = ?3, results_source = ?5,
               updated_at = ?4 WHERE num = ?1",
            params![
                sql(*frame),
                results,
                results_compacted,
                writer.at,
                ResultsSource::Compaction.as_str()
            ],
        ),
        _ => Ok(()),
    }
}

fn drop_pending(writer: &Writer<'_, '_>, session: &str) -> Result<(), StoreError> {
    writer.run("DELETE FROM pending_compactions WHERE session = ?1", params![session])
}

/// A frame that has ended, or was undone, waits for no compaction any more.
pub(crate) fn forget(writer: &Writer<'_, '_>, frame: FrameNum) -> Result<(), StoreError> {
    writer.run("DELETE FROM pending_compactions WHERE frame = ?1", params![sql(frame)])
}

impl View<'_> {
    /// The compaction that a session waits for.
    pub fn pending_compaction(
        &self,
        session: &str,
    ) -> Result<Option<PendingCompaction>, StoreError> {
        self.connection
            .prepare_cached("SELECT body FROM pending_compactions WHERE session = ?1")
            .and_then(|mut statement| statement.query_row([session], pending_of).optional())
            .map_err(|source| self.failed(source))
    }

    /// The compactions that sessions wait for, the newest first.
    pub fn pending_compactions(&self, limit: u32) -> Result<Vec<PendingCompaction>, StoreError> {
        self.connection
            .prepare_cached("SELECT body FROM pending_compactions ORDER BY seq DESC LIMIT ?1")
            .and_then(|mut statement| statement.query_map([limit], pending_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Whether a session's summary, by the host's message that holds it, was taken over already.
    pub fn knows_summary(&self, session: &str, message: &str) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM compactions WHERE session = ?1 AND message = ?2)",
            )
            .and_then(|mut statement| {
                statement.query_row(params![session, message], |row| row.get(0))
            })
            .map_err(|source| self.failed(source))
    }

    /// The newest compaction of a session that brought a summary.
    pub fn last_summary(&self, session: &str) -> Result<Option<Compaction>, StoreError> {
        let newest = "WHERE session = ?1 AND summary IS NOT NULL ORDER BY seq DESC LIMIT 1";
        Ok(self.compactions(newest, params![session])?.pop())
    }

    /// The newest summary of a frame.
    pub fn frame_summary(&self, frame: FrameNum) -> Result<Option<Compaction>, StoreError> {
        let newest = "WHERE frame = ?1 AND summary IS NOT NULL ORDER BY seq DESC LIMIT 1";
        Ok(self.compactions(newest, params![sql(frame)])?.pop())
    }

    /// The other sessions that were compacted to a summary, the newest first.
    pub fn sessions_with_summary(
        &self,
        summary: &str,
        not_in: &str,
    ) -> Result<Vec<String>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT session FROM compactions WHERE summary = ?1 AND session <> ?2
                 ORDER BY seq DESC LIMIT 8",
            )
            .and_then(|mut statement| {
                statement.query_map(params![summary, not_in], |row| row.get(0))?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// Returns the compactions that a session's agent has not been informed of, the oldest first.
    pub fn unannounced_compactions(&self, session: &str) -> Result<Vec<Compaction>, StoreError> {
        self.compactions("WHERE session = ?1 AND notice IS NOT NULL ORDER BY seq", params![session])
    }

    /// Returns the numbers of compactions, of a session or of all.
    pub fn compaction_counts(&self, session: Option<&str>) -> Result<CompactionCounts, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT kind, count(summary), count(*) - count(summary) FROM compactions
                 WHERE ?1 IS NULL OR session = ?1 GROUP BY kind",
            )
            .and_then(|mut statement| {
                statement
                    .query_map([session], |row| {
                        let count = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
                        Ok((kind_of(row, 0)?, (count(1)?, count(2)?)))
                    })?
                    .collect()
            })
            .map_err(|source| self.failed(source))
    }

    fn compactions(&self, which: &str, params: impl Params) -> Result<Vec<Compaction>, StoreError> {
        self.connection
            .prepare_cached(&format!("{COMPACTION} {which}"))
            .and_then(|mut statement| statement.query_map(params, compaction_of)?.collect())
            .map_err(|source| self.failed(source))
    }
}

fn pending_of(row: &Row<'_>) -> rusqlite::Result<PendingCompaction> {
    let body: String = row.get(0)?;
    serde_json::from_str(&body).map_err(|error| unreadable(0, error))
}

fn compaction_of(row: &Row<'_>) -> rusqlite::Result<Compaction> {
    let notice: Option<String> = row.get(6)?;
    Ok(Compaction {
        session: row.get(0)?,
        kind: kind_of(row, 1)?,
        frame: row.get::<_, Option<i64>>(2)?.map(frame_num),
        message: row.get(3)?,
        summary: row.get(4)?,
        failure: row.get(5)?,
        notice: notice
            .map(|text| serde_json::from_str(&text))
            .transpose()
            .map_err(|error| unreadable(6, error))?,
    })
}

fn kind_of(row: &Row<'_>, at: usize) -> rusqlite::Result<CompactionType> {
    row.get::<_, String>(at)?.parse().map_err(|error: String| unreadable(at, error))
}

fn unreadable(
    column: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}
