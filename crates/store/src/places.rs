//! Where frames' work stands in the transcripts of sessions, and in whose work a message stands.

use callstack_core::frame::FrameNum;
use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::messages::{StoredMessage, message_of};
use crate::project::{signed, sql};
use crate::store::View;

/// Where a message is in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePlace {
    /// The innermost frame whose work it is part of.
    pub frame: FrameNum,
    /// Its place in that frame's log, from 1.
    pub position: u64,
}

/// Which frames were worked on where in a session.
#[derive(Clone, Debug)]
pub struct SessionWork {
    session: String,
    /// Of two that hold a message the one that began later comes first.
    innermost_first: Vec<Work>,
}

/// Work in a frame.
#[derive(Clone, Debug)]
struct Work {
    frame: FrameNum,
    /// The place in front of it.
    first: u64,
    /// Its last message; none where it goes on.
    close: Option<String>,
}

/// A part of a session's transcript in which a frame was worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The session.
    pub session: String,
    /// The place of the last message before it: 0 for the session's beginning.
    pub first: u64,
    /// The place of its last message.
    pub last: u64,
}

impl Stretch {
    /// How many messages it has.
    pub fn messages(&self) -> u64 {
        self.last.saturating_sub(self.first)
    }
}

/// Spans with the places of the last message before them and of their last one. A span whose beginning
/// or end no message is known by reaches from or to the end of the transcript: too much is better than
/// too little.
pub(crate) const STRETCHES: &str = "SELECT s.num, s.frame, s.session, coalesce(o.seq, 0) AS first,
    CASE WHEN s.closed = 0 OR s.close_undone = 1 OR c.seq IS NULL
      THEN (SELECT coalesce(max(seq), 0) FROM messages WHERE session = s.session)
      ELSE c.seq END AS last,
    (s.open_message IS NULL OR o.seq IS NOT NULL)
      AND (s.close_message IS NULL OR s.close_undone = 1 OR c.seq IS NOT NULL) AS placed
  FROM spans AS s
  LEFT JOIN messages AS o ON o.session = s.session AND o.id = s.open_message AND o.version = 1
  LEFT JOIN messages AS c ON c.session = s.session AND c.id = s.close_message AND c.version = 1";

impl View<'_> {
    /// Where the work of a frame stands, in the order in which it was done. No message is in two of
    /// them.
    pub fn stretches(&self, frame: FrameNum) -> Result<Vec<Stretch>, StoreError> {
        let found: Vec<Stretch> = self
            .connection
            .prepare_cached(&format!(
                "SELECT session, first, last FROM ({STRETCHES} WHERE s.frame = ?1) ORDER BY num"
            ))
            .and_then(|mut statement| {
                statement
                    .query_map([sql(frame)], |row| {
                        Ok(Stretch {
                            session: row.get(0)?,
                            first: row.get::<_, i64>(1)?.unsigned_abs(),
                            last: row.get::<_, i64>(2)?.unsigned_abs(),
                        })
                    })?
                    .collect()
            })
            .map_err(|source| self.failed(source))?;
        let mut stretches: Vec<Stretch> = Vec::with_capacity(found.len());
        for mut next in found {
            let before = stretches.iter().filter(|it| it.session == next.session);
            let covered = before.map(|it| it.last).max().unwrap_or(0);
            next.first = next.first.max(covered);
            if next.first < next.last {
                stretches.push(next);
            }
        }
        Ok(stretches)
    }

    /// Whether it is known where the work of a frame begins and ends. A message that was lost before it was
    /// written may have been its beginning or its end.
    pub fn is_placed(&self, frame: FrameNum) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached(&format!(
                "SELECT NOT EXISTS (SELECT 1 FROM ({STRETCHES} WHERE s.frame = ?1) WHERE NOT placed)"
            ))
            .and_then(|mut statement| statement.query_row([sql(frame)], |row| row.get(0)))
            .map_err(|source| self.failed(source))
    }

    /// Where a message of a session is in the tree: in the frame whose work was going on.
    pub fn message_place(
        &self,
        session: &str,
        seq: u64,
    ) -> Result<Option<MessagePlace>, StoreError> {
        let Some(frame) = self.frame_at(&self.session_work(session)?, seq)? else {
            return Ok(None);
        };
        Ok(Some(MessagePlace { frame, position: self.position_in(frame, session, seq)? }))
    }

    /// Which frames were worked on where in a session.
    pub fn session_work(&self, session: &str) -> Result<SessionWork, StoreError> {
        let work = |row: &Row<'_>| {
            let (frame, first) = (frame_num(row.get(0)?), row.get::<_, i64>(1)?.unsigned_abs());
            Ok(Work { frame, first, close: row.get(2)? })
        };
        self.connection
            .prepare_cached(
                "SELECT s.frame, coalesce(o.seq, 0) AS first,
                   CASE WHEN s.closed = 1 AND s.close_undone = 0 THEN s.close_message END
                 FROM spans AS s
                 LEFT JOIN messages AS o
                   ON o.session = s.session AND o.id = s.open_message AND o.version = 1
                 WHERE s.session = ?1 AND s.detached = 0 ORDER BY first DESC, s.num DESC",
            )
            .and_then(|mut statement| statement.query_map([session], work)?.collect())
            .map(|innermost_first| SessionWork { session: session.to_owned(), innermost_first })
            .map_err(|source| self.failed(source))
    }

    /// The innermost frame whose work the message at a place is part of. Where work ends is only looked
    /// for until one is found: most of a session's has ended before or has not begun.
    pub fn frame_at(&self, work: &SessionWork, seq: u64) -> Result<Option<FrameNum>, StoreError> {
        let mut last_of = self
            .connection
            .prepare_cached(
                "SELECT seq FROM messages WHERE session = ?1 AND id = ?2 AND version = 1",
            )
            .map_err(|source| self.failed(source))?;
        for Work { frame, close, .. } in work.innermost_first.iter().filter(|it| it.first < seq) {
            let last: Option<i64> = last_of
                .query_row(params![work.session, close], |row| row.get(0))
                .optional()
                .map_err(|source| self.failed(source))?;
            if last.is_none_or(|last| seq <= last.unsigned_abs()) {
                return Ok(Some(*frame));
            }
        }
        Ok(None)
    }

    /// The place of a session's message in the log of the frame whose work it is part of.
    pub fn position_in(&self, frame: FrameNum, session: &str, seq: u64) -> Result<u64, StoreError> {
        let mut before = 0;
        for stretch in self.stretches(frame)? {
            if stretch.session == session && stretch.first < seq && seq <= stretch.last {
                before += seq - stretch.first;
                break;
            }
            before += stretch.messages();
        }
        Ok(before)
    }

    /// Messages of a session by their places, from behind `first` to `last`: all versions of each, the
    /// older before the newer, or only the newest.
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
