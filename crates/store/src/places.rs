//! The places of frames' work in the transcripts of sessions, and the frame to which a message belongs.

use callstack_core::frame::FrameNum;
use callstack_core::transcript::SpanNum;
use rusqlite::{OptionalExtension as _, params};

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::messages::{StoredMessage, message_of};
use crate::project::{signed, sql};
use crate::store::View;

/// A part of a session's transcript in which a frame was worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRange {
    /// The session.
    pub session: String,
    /// The place of the last message before it: 0 for the session's beginning.
    pub first: u64,
    /// The place of its last message.
    pub last: u64,
}

impl MessageRange {
    /// Returns the number of its messages.
    pub fn messages(&self) -> u64 {
        self.last.saturating_sub(self.first)
    }

    /// Whether all of another one is part of it.
    pub fn holds(&self, other: &Self) -> bool {
        self.session == other.session && self.first <= other.first && other.last <= self.last
    }
}

/// Spans with the places of the last message before them and of their last one. A span whose first or last message is
/// unknown reaches from the beginning or to the end of the transcript: too much is better than too little.
pub(crate) const STRETCHES: &str = "SELECT num, frame, session, coalesce(open_seq, 0) AS first,
    origin NOT IN ('root', 'turn', 'first_turn', 'todo') AND open_call IS NOT NULL AS takes_calls,
    CASE WHEN closed = 0 OR close_undone = 1 OR close_seq IS NULL
      THEN (SELECT coalesce(max(seq), 0) FROM messages AS m WHERE m.session = spans.session)
      ELSE close_seq END AS last,
    (open_message IS NULL OR open_seq IS NOT NULL)
      AND (close_message IS NULL OR close_undone = 1 OR close_seq IS NOT NULL) AS placed
  FROM spans";

/// The end of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanEnd {
    /// The place of its last message.
    pub seq: u64,
    /// The time at which that message was first stored.
    pub at: i64,
}

impl View<'_> {
    /// The place of the last message before a span: 0 for the session's beginning.
    pub fn span_begins(&self, span: SpanNum) -> Result<u64, StoreError> {
        self.connection
            .prepare_cached("SELECT coalesce(open_seq, 0) FROM spans WHERE num = ?1")
            .and_then(|mut statement| {
                statement.query_row([signed(span.0)], |row| row.get::<_, i64>(0))
            })
            .map(i64::unsigned_abs)
            .map_err(|source| self.failed(source))
    }

    /// Returns the place where a span ended; none while it is open, or if its last message is not stored.
    pub fn span_ends(&self, span: SpanNum) -> Result<Option<SpanEnd>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT m.seq, m.at FROM spans AS s
                 JOIN messages AS m ON m.session = s.session AND m.seq = s.close_seq
                 WHERE s.num = ?1 AND s.closed = 1 AND s.close_undone = 0
                 ORDER BY m.version LIMIT 1",
            )
            .and_then(|mut statement| {
                let end = |row: &rusqlite::Row<'_>| {
                    Ok(SpanEnd { seq: row.get::<_, i64>(0)?.unsigned_abs(), at: row.get(1)? })
                };
                statement.query_row([signed(span.0)], end).optional()
            })
            .map_err(|source| self.failed(source))
    }

    /// Returns the ranges of a frame's work, in the order in which it was done. No message is in two of them.
    pub fn ranges(&self, frame: FrameNum) -> Result<Vec<MessageRange>, StoreError> {
        let found: Vec<MessageRange> = self
            .connection
            .prepare_cached(&format!(
                "SELECT session, first, last FROM ({STRETCHES} WHERE frame = ?1) ORDER BY num"
            ))
            .and_then(|mut statement| {
                statement
                    .query_map([sql(frame)], |row| {
                        Ok(MessageRange {
                            session: row.get(0)?,
                            first: row.get::<_, i64>(1)?.unsigned_abs(),
                            last: row.get::<_, i64>(2)?.unsigned_abs(),
                        })
                    })?
                    .collect()
            })
            .map_err(|source| self.failed(source))?;
        let mut ranges: Vec<MessageRange> = Vec::with_capacity(found.len());
        for mut next in found {
            let before = ranges.iter().filter(|it| it.session == next.session);
            let covered = before.map(|it| it.last).max().unwrap_or(0);
            next.first = next.first.max(covered);
            if next.first < next.last {
                ranges.push(next);
            }
        }
        Ok(ranges)
    }

    /// Whether the beginning and the end of a frame's work are known. Either may have been a message that was lost
    /// before it was written.
    pub fn is_placed(&self, frame: FrameNum) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached(&format!(
                "SELECT NOT EXISTS (SELECT 1 FROM ({STRETCHES} WHERE frame = ?1) WHERE NOT placed)"
            ))
            .and_then(|mut statement| statement.query_row([sql(frame)], |row| row.get(0)))
            .map_err(|source| self.failed(source))
    }

    /// Returns the innermost frame to whose work the message at a place belongs: of two that contain it, the one that
    /// began later.
    pub fn frame_at(&self, session: &str, seq: u64) -> Result<Option<FrameNum>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT frame FROM spans
                 WHERE session = ?1 AND detached = 0 AND coalesce(open_seq, 0) < ?2
                   AND (closed = 0 OR close_undone = 1 OR close_seq IS NULL OR close_seq >= ?2)
                 ORDER BY coalesce(open_seq, 0) DESC, num DESC LIMIT 1",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![session, signed(seq)], |row| Ok(frame_num(row.get(0)?)))
                    .optional()
            })
            .map_err(|source| self.failed(source))
    }

    /// Returns messages of a session by their places, after `first` up to `last`: all versions of each, the older
    /// before the newer, or only the newest.
    pub fn messages_between(
        &self,
        session: &str,
        (first, last): (u64, u64),
        all_versions: bool,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT seq, version, id, bytes, codec, body, at FROM messages AS m
                 WHERE session = ?1 AND seq > ?2 AND seq <= ?3 AND (?4 OR version =
                   (SELECT max(version) FROM messages WHERE session = ?1 AND seq = m.seq))
                 ORDER BY seq, version",
            )
            .and_then(|mut statement| {
                statement
                    .query_map(
                        params![session, signed(first), signed(last), all_versions],
                        message_of,
                    )?
                    .collect()
            })
            .map_err(|source| self.failed(source))
    }
}
