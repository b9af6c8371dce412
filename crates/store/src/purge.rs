//! Removing messages for good. Their rows stay, with nothing in them, so that places in transcripts stay
//! what they are, and so that a host which shows the messages again does not bring them back: a message is known by
//! session and id.
//!
//! A purge also removes the messages' hashes, the evidence, and the copies in names and results of frames from earlier
//! events (`copies`). That is the only change that is ever made to events; the tables are derived again afterwards, and
//! texts that repeated purged content are rendered again. All other texts that were sent stay byte for byte, and so
//! do those in unrelated sessions even if they have the same words (`reach`, `repeats`). The step of a push is purged
//! whole where some of its calls belong to the frame.

mod copies;
mod late;
mod repeats;
mod retries;
mod scope;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Instant;

use callstack_core::event::{Event, PurgedMessages};
use callstack_core::frame::FrameNum;
use callstack_core::transcript::Span;
use rusqlite::{Connection, params};

use crate::bodies::PURGED;
use crate::change::Change;
use crate::checkpoint;
use crate::connect::BUSY;
use crate::error::{StoreError, at};
use crate::frames::frame_num;
use crate::kept;
use crate::places::MessageRange;
use crate::project::{signed, sql};
use crate::store::{Store, View};
use crate::trust::logs_put_aside;
use crate::unreadable::{bytes_of, event_of};

use copies::Going;
pub use copies::{Copies, REMOVED};
pub use late::PastPurge;

/// The content of a purge.
#[derive(Clone, Debug, Default)]
pub struct Purge {
    /// The name of the person or program that removes it.
    pub by: String,
    /// The frames whose logs go.
    pub frames: Vec<FrameNum>,
    /// Those of them whose messages stay.
    pub unplaced: Vec<FrameNum>,
    /// Where the messages stand.
    pub ranges: Vec<MessageRange>,
    /// The sessions that go as a whole, with messages that processes have been shown and not stored yet.
    pub sessions: Vec<String>,
}

impl Purge {
    /// The frames whose messages go.
    pub fn emptied(&self) -> BTreeSet<FrameNum> {
        self.frames.iter().filter(|frame| !self.unplaced.contains(frame)).copied().collect()
    }
}

/// Whether the bytes are gone from the files, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erased {
    /// They are.
    Wholly,
    /// Another process was reading all the time, and its next write takes them out of the write-ahead log.
    LogLeft,
}

impl View<'_> {
    /// A frame and all frames below it, undone ones too.
    pub fn frames_from(&self, frame: FrameNum) -> Result<Vec<FrameNum>, StoreError> {
        self.frames_where(
            "WITH RECURSIVE inside(num) AS (
               SELECT num FROM frames WHERE num = ?1
               UNION SELECT f.num FROM frames AS f JOIN inside AS i ON f.parent = i.num
             ) SELECT num FROM inside ORDER BY num",
            sql(frame),
        )
    }

    /// The frames that were worked on in a session.
    pub fn frames_in(&self, session: &str) -> Result<Vec<FrameNum>, StoreError> {
        self.frames_where(
            "SELECT DISTINCT frame FROM spans WHERE session = ?1 ORDER BY frame",
            session,
        )
    }

    /// All of a session's transcript.
    pub fn whole_session(&self, session: &str) -> Result<MessageRange, StoreError> {
        let last: i64 = self
            .connection
            .prepare_cached("SELECT coalesce(max(seq), 0) FROM messages WHERE session = ?1")
            .and_then(|mut statement| statement.query_row([session], |row| row.get(0)))
            .map_err(|source| self.failed(source))?;
        Ok(MessageRange { session: session.to_owned(), first: 0, last: last.unsigned_abs() })
    }

    /// The messages of ranges that are there to be purged, by their sessions, and the bytes of all
    /// their versions as they came.
    pub fn purgeable(
        &self,
        ranges: &[MessageRange],
    ) -> Result<(BTreeMap<String, BTreeSet<String>>, u64), StoreError> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut bytes = 0;
        for range in ranges {
            let rows: Vec<(i64, String, i64)> = self
                .connection
                .prepare_cached(
                    "SELECT num, id, bytes FROM messages
                     WHERE session = ?1 AND seq > ?2 AND seq <= ?3 AND codec <> ?4",
                )
                .and_then(|mut statement| {
                    let place =
                        params![range.session, signed(range.first), signed(range.last), PURGED];
                    statement
                        .query_map(place, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                        .collect()
                })
                .map_err(|source| self.failed(source))?;
            for (num, id, size) in rows {
                if seen.insert(num) {
                    bytes += size.unsigned_abs();
                    found.entry(range.session.clone()).or_default().insert(id);
                }
            }
        }
        Ok((found, bytes))
    }

    fn frames_where(
        &self,
        query: &str,
        param: impl rusqlite::ToSql,
    ) -> Result<Vec<FrameNum>, StoreError> {
        self.connection
            .prepare_cached(query)
            .and_then(|mut statement| {
                statement.query_map([param], |row| Ok(frame_num(row.get(0)?)))?.collect()
            })
            .map_err(|source| self.failed(source))
    }
}

impl Store {
    /// Removes messages for good: their bodies, their entries in the search index, the evidence that was taken from
    /// them, their hashes in the log of events, and the copies in names and results of frames. `due` decides what
    /// goes, from the state that is then changed: nothing can be stored in between. `returned` makes the new text of
    /// each span whose fold repeated them. The logs of these frames are marked as purged, too. Remains in the file go
    /// with [`Self::erase`].
    pub fn purge<E: From<StoreError>>(
        &self,
        at_time: i64,
        due: impl FnOnce(&View<'_>) -> Result<Purge, E>,
        returned: &dyn Fn(&View<'_>, &Span) -> Result<String, E>,
    ) -> Result<(), E> {
        self.write(|change| {
            let purge = due(&change.view())?;
            // Deleted content is always overwritten, not only where that costs no further write.
            change.view().set_pragma("secure_delete", "ON")?;
            let outcome = change.purge(at_time, &purge, returned);
            change.view().set_pragma("secure_delete", "FAST")?;
            outcome
        })
    }

    /// Writes the whole file again, so that nothing of the purged content is left in it. Write-ahead logs that were put
    /// aside are deleted, and so are copies that killed processes have left.
    pub fn erase(&self) -> Result<Erased, StoreError> {
        let failed = |source| at(self.path(), source);
        for path in logs_put_aside(self.path()) {
            fs::remove_file(&path).map_err(|source| StoreError::Io { path, source })?;
        }
        kept::remove_remains(self.path(), self.trusted(), BUSY)?;
        kept::forget_others(self.path(), self.trusted())?;
        self.with_connection(|open| {
            open.execute_batch("VACUUM").map_err(failed)?;
            open.mark_log(self.path())?;
            let erased = match open.parts() {
                (connection, Some(presence)) => {
                    let empty = || emptied_log(connection);
                    let erased = checkpoint::noting(self.path(), presence, BUSY, empty);
                    erased.unwrap_or(Ok(Erased::LogLeft))
                }
                (connection, None) => emptied_log(connection),
            };
            erased.map_err(failed)
        })
    }
}

fn emptied_log(connection: &Connection) -> rusqlite::Result<Erased> {
    let begun = Instant::now();
    loop {
        if checkpoint::empty_log(connection)? {
            return Ok(Erased::Wholly);
        }
        if begun.elapsed() > BUSY {
            return Ok(Erased::LogLeft);
        }
    }
}

impl Change<'_> {
    fn purge<E: From<StoreError>>(
        &mut self,
        at: i64,
        purge: &Purge,
        returned: &dyn Fn(&View<'_>, &Span) -> Result<String, E>,
    ) -> Result<(), E> {
        let Purge { by, frames, ranges, sessions, .. } = purge;
        let (found, _) = self.view().purgeable(ranges)?;
        let seen = self.view().purge_evidence(frames, ranges)?;
        self.empty(at, ranges)?;
        let going = Going { frames: purge.emptied(), ranges, messages: &found };
        self.remove_copies(&going, &seen, returned)?;
        let view = self.view();
        // Terms of deleted rows stay in the index until its parts are merged.
        view.run("INSERT INTO frame_terms (frame_terms) VALUES ('optimize')", [])?;
        view.forget_words()?;
        view.forget_hashes(&found)?;
        let (by, frames, sessions) = (by.clone(), frames.clone(), sessions.clone());
        Ok(self.append(
            at,
            &[Event::Purged { by, frames, messages: purged_messages(found), sessions }],
        )?)
    }

    /// Removes the bodies of messages, with their entries in the search index.
    fn empty(&self, at: i64, ranges: &[MessageRange]) -> Result<(), StoreError> {
        let view = self.view();
        let mut gone = BTreeSet::new();
        for range in ranges {
            let place = params![range.session, signed(range.first), signed(range.last), PURGED, at];
            gone.extend(view.kept_in(range)?);
            view.run(
                "UPDATE messages SET hash = x'', at = ?5, bytes = 0, codec = ?4, body = x''
                 WHERE session = ?1 AND seq > ?2 AND seq <= ?3 AND codec <> ?4",
                place,
            )?;
        }
        view.forget_postings(&gone)
    }
}

fn purged_messages(messages: BTreeMap<String, BTreeSet<String>>) -> Vec<PurgedMessages> {
    let messages = messages.into_iter();
    messages
        .map(|(session, ids)| PurgedMessages { session, ids: ids.into_iter().collect() })
        .collect()
}

impl View<'_> {
    fn set_pragma(&self, name: &str, value: &str) -> Result<(), StoreError> {
        let set = self.connection.pragma_update(None, name, value);
        set.map_err(|source| self.failed(source))
    }

    /// The messages of a range that were not purged yet.
    fn kept_in(&self, range: &MessageRange) -> Result<Vec<i64>, StoreError> {
        let place = params![range.session, signed(range.first), signed(range.last), PURGED];
        self.connection
            .prepare_cached(
                "SELECT num FROM messages
                 WHERE session = ?1 AND seq > ?2 AND seq <= ?3 AND codec <> ?4",
            )
            .and_then(|mut statement| statement.query_map(place, |row| row.get(0))?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Removes hashes: they would confirm a correct guess of a message.
    fn forget_hashes(&self, purged: &BTreeMap<String, BTreeSet<String>>) -> Result<(), StoreError> {
        self.rewrite_events("messages_recorded", |event| {
            let Event::MessagesRecorded { session, messages } = event else { return false };
            let Some(ids) = purged.get(session) else { return false };
            let mut changed = false;
            for message in messages.iter_mut().filter(|message| ids.contains(&message.id)) {
                message.hash.clear();
                changed = true;
            }
            changed
        })
    }

    /// Changes events of a kind for good, where `change` returns that it did. Nothing but a purge ever changes an
    /// event.
    pub(crate) fn rewrite_events(
        &self,
        kind: &str,
        mut change: impl FnMut(&mut Event) -> bool,
    ) -> Result<(), StoreError> {
        let events: Vec<(i64, Vec<u8>)> = self
            .connection
            .prepare_cached("SELECT seq, body FROM events WHERE body GLOB ?1")
            .and_then(|mut statement| {
                let begins = format!("{{\"kind\":\"{kind}\"*");
                statement.query_map([begins], |row| Ok((row.get(0)?, bytes_of(row, 1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        for (seq, body) in events {
            let Some(mut event) = event_of(&body) else { continue };
            if change(&mut event) {
                let body = serde_json::to_string(&event)?;
                self.run("UPDATE events SET body = ?2 WHERE seq = ?1", params![seq, body])?;
            }
        }
        Ok(())
    }
}
