//! The event log as readers follow it: the events after a place, in the order in which they were committed.
//!
//! Writers take turns, and numbers are given within their transactions. Numbers therefore have no gaps and never
//! appear later than greater ones. No event is ever deleted; a purge changes the bodies of earlier ones and appends
//! [`Event::Purged`](callstack_core::event::Event::Purged).

use std::fmt;
use std::str::FromStr;

use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use rusqlite::{OptionalExtension as _, params};
use serde::{Serialize, Serializer};

use crate::error::StoreError;
use crate::project::signed;
use crate::store::{Store, View};
use crate::unreadable::{bytes_of, event_of};

/// The most bytes of the bodies of a batch, unless it is a single event.
const BATCH_BYTES: usize = 8 << 20;

/// A place in the event log: directly after an event, or at the beginning.
///
/// Its text is the event's number and time, `12-1763900000000`, or the number alone. The time shows whether another
/// store, or an older state of the same one, has an event of that number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCursor {
    /// The number of the event; 0 for the beginning of the log.
    pub seq: u64,
    /// The time of the event in milliseconds since 1970, where it is known.
    pub at: Option<i64>,
}

impl EventCursor {
    /// The beginning of the log.
    pub const START: Self = Self { seq: 0, at: None };
}

impl From<u64> for EventCursor {
    fn from(seq: u64) -> Self {
        Self { seq, at: None }
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{}-{at}", self.seq),
            None => write!(f, "{}", self.seq),
        }
    }
}

impl Serialize for EventCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that is no place in an event log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no place in an event log: a number such as `12`, or a number and a time such as `12-1763900000000`"
)]
pub struct InvalidCursor(String);

impl FromStr for EventCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let invalid = || InvalidCursor(text.chars().take(60).collect());
        let (seq, at) = match text.split_once('-') {
            Some((seq, at)) => (seq, Some(at.parse().map_err(|_| invalid())?)),
            None => (text, None),
        };
        Ok(Self { seq: seq.parse().map_err(|_| invalid())?, at })
    }
}

/// An event with its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// The number of the event, from 1.
    pub seq: u64,
    /// When it happened; milliseconds since 1970.
    pub at: i64,
    /// The event. None if its body can't be read: it is damaged, or of a kind that a newer callstack added.
    pub event: Option<Event>,
}

impl LoggedEvent {
    /// The place after the event.
    pub fn cursor(&self) -> EventCursor {
        EventCursor { seq: self.seq, at: Some(self.at) }
    }

    /// The session that the event names; see [`Event::session`].
    pub fn session(&self) -> Option<&str> {
        self.event.as_ref().and_then(Event::session)
    }

    /// The frame that the event names; see [`Event::frame`].
    pub fn frame(&self) -> Option<FrameNum> {
        self.event.as_ref().and_then(Event::frame)
    }
}

/// The events after a place, or the answer that the log does not continue from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventBatch<E = LoggedEvent> {
    /// The next events in order, without a gap; none if there are no further ones.
    Events(Vec<E>),
    /// The place is not in this log: another store, or an older state of the same one, has replaced the log in which
    /// it was. The reader has to read everything again, and to continue from `newest`.
    Gap {
        /// The end of the log.
        newest: EventCursor,
    },
}

impl View<'_> {
    /// The end of the event log.
    pub fn newest_event(&self) -> Result<EventCursor, StoreError> {
        let newest = self
            .connection
            .prepare_cached("SELECT seq, at FROM events ORDER BY seq DESC LIMIT 1")
            .and_then(|mut statement| {
                statement.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?))).optional()
            })
            .map_err(|source| self.failed(source))?;
        Ok(newest.map_or(EventCursor::START, |(seq, at)| EventCursor {
            seq: seq.unsigned_abs(),
            at: Some(at),
        }))
    }

    /// The events after a place, at most `limit` and about 8 MB.
    pub fn events_after(&self, after: EventCursor, limit: usize) -> Result<EventBatch, StoreError> {
        let failed = |source| self.failed(source);
        if !self.has_place(after)? {
            return Ok(EventBatch::Gap { newest: self.newest_event()? });
        }
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut log = self
            .connection
            .prepare_cached("SELECT seq, at, body FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2")
            .map_err(failed)?;
        let mut rows = log.query(params![signed(after.seq), limit]).map_err(failed)?;
        let (mut events, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next().map_err(failed)? {
            let body = bytes_of(row, 2).map_err(failed)?;
            bytes += body.len();
            if bytes > BATCH_BYTES && !events.is_empty() {
                break;
            }
            events.push(LoggedEvent {
                seq: row.get::<_, i64>(0).map_err(failed)?.unsigned_abs(),
                at: row.get(1).map_err(failed)?,
                event: event_of(&body),
            });
        }
        Ok(EventBatch::Events(events))
    }

    /// Whether a place is in this log.
    fn has_place(&self, cursor: EventCursor) -> Result<bool, StoreError> {
        if cursor.seq == 0 {
            return Ok(true);
        }
        let found: Option<i64> = self
            .connection
            .prepare_cached("SELECT at FROM events WHERE seq = ?1")
            .and_then(|mut statement| {
                statement.query_row([signed(cursor.seq)], |row| row.get(0)).optional()
            })
            .map_err(|source| self.failed(source))?;
        Ok(found.is_some_and(|at| cursor.at.is_none_or(|known| known == at)))
    }
}

impl Store {
    /// The events after a place, at most `limit` and about 8 MB, whichever process appended them.
    pub fn events_after(
        &self,
        after: impl Into<EventCursor>,
        limit: usize,
    ) -> Result<EventBatch, StoreError> {
        let after = after.into();
        self.read_whichever(|view| view.events_after(after, limit))
    }

    /// Reads the store that is at the path now, even if it has just replaced another one: for readers that notice
    /// that by the log itself.
    pub(crate) fn read_whichever<T>(
        &self,
        read: impl Fn(&View<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.read(&read) {
            Err(StoreError::Replaced { .. }) => self.read(&read),
            outcome => outcome,
        }
    }
}
