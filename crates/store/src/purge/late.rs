//! Messages that a process was shown before a purge, and that it writes after it. They are purged as if they had been
//! there, and stay known, so that they are not stored when they are shown again.

use std::collections::{BTreeSet, HashSet};

use callstack_core::event::{Event, PurgedMessages};
use callstack_core::frame::FrameNum;
use rusqlite::{OptionalExtension as _, params};

use crate::bodies::PURGED;
use crate::change::Change;
use crate::error::StoreError;
use crate::messages::MessageBody;
use crate::places::MessageRange;
use crate::project::signed;
use crate::store::View;
use crate::unreadable::{bytes_of, event_of};

use super::purged_messages;

/// A purge, as the log of events has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastPurge {
    /// The name of the person or program that removed the messages.
    pub by: String,
    /// The frames whose messages went.
    pub frames: Vec<FrameNum>,
    /// The messages.
    pub messages: Vec<PurgedMessages>,
    /// The sessions that went as a whole.
    pub sessions: Vec<String>,
}

impl PastPurge {
    /// Whether messages of a session went.
    pub fn concerns(&self, session: &str) -> bool {
        self.messages.iter().any(|it| it.session == session)
            || self.sessions.iter().any(|it| it == session)
    }
}

impl View<'_> {
    /// The purges since an event.
    pub fn purges_after(&self, seq: u64) -> Result<Vec<PastPurge>, StoreError> {
        let bodies: Vec<Vec<u8>> = self
            .connection
            .prepare_cached(
                "SELECT body FROM events
                 WHERE seq > ?1 AND body GLOB '{\"kind\":\"purged\"*' ORDER BY seq",
            )
            .and_then(|mut statement| {
                statement.query_map([signed(seq)], |row| bytes_of(row, 0))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        let purge = |body: Vec<u8>| match event_of(&body)? {
            Event::Purged { by, frames, messages, sessions } => {
                Some(PastPurge { by, frames, messages, sessions })
            }
            _ => None,
        };
        Ok(bodies.into_iter().filter_map(purge).collect())
    }

    /// The ids of a session's messages that were purged.
    pub fn purged_messages(&self, session: &str) -> Result<HashSet<String>, StoreError> {
        self.connection
            .prepare_cached("SELECT DISTINCT id FROM messages WHERE session = ?1 AND codec = ?2")
            .and_then(|mut statement| {
                statement.query_map(params![session, PURGED], |row| row.get(0))?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// The place of a message in its session.
    fn place_of(&self, session: &str, id: &str) -> Result<Option<u64>, StoreError> {
        self.connection
            .prepare_cached("SELECT seq FROM messages WHERE session = ?1 AND id = ?2 LIMIT 1")
            .and_then(|mut statement| {
                statement.query_row([session, id], |row| row.get::<_, i64>(0)).optional()
            })
            .map(|seq| seq.map(i64::unsigned_abs))
            .map_err(|source| self.failed(source))
    }
}

impl Change<'_> {
    /// Stores messages, except that those at the places that `gone` returns, once all have places, are purged on
    /// behalf of `by`. Their content never reaches the disk.
    pub fn record_late<E: From<StoreError>>(
        &mut self,
        at: i64,
        session: &str,
        messages: &[MessageBody],
        by: &str,
        gone: impl FnOnce(&View<'_>) -> Result<Vec<MessageRange>, E>,
    ) -> Result<(), E> {
        let view = self.view();
        // Pages that have no room in memory would be written before the end of the transaction.
        view.set_pragma("cache_spill", "OFF")?;
        view.set_pragma("secure_delete", "ON")?;
        let outcome = self.record_without(at, session, messages, by, gone);
        view.set_pragma("secure_delete", "FAST")?;
        view.set_pragma("cache_spill", "ON")?;
        outcome
    }

    fn record_without<E: From<StoreError>>(
        &mut self,
        at: i64,
        session: &str,
        messages: &[MessageBody],
        by: &str,
        gone: impl FnOnce(&View<'_>) -> Result<Vec<MessageRange>, E>,
    ) -> Result<(), E> {
        self.record_messages(at, session, messages)?;
        let view = self.view();
        let gone = gone(&view)?;
        let holds = |seq: u64| {
            let mut own = gone.iter().filter(|it| it.session == session);
            own.any(|it| it.first < seq && seq <= it.last)
        };
        let ids: BTreeSet<_> = messages.iter().map(|message| message.id.as_str()).collect();
        let mut places = Vec::new();
        for id in ids {
            if let Some(seq) = view.place_of(session, id)?.filter(|seq| holds(*seq)) {
                places.push(MessageRange {
                    session: session.to_owned(),
                    first: seq - 1,
                    last: seq,
                });
            }
        }
        let (found, _) = view.purgeable(&places)?;
        if found.is_empty() {
            return Ok(());
        }
        self.empty(at, &places)?;
        view.forget_hashes(&found)?;
        let (by, messages) = (by.to_owned(), purged_messages(found));
        let (frames, sessions) = (Vec::new(), Vec::new());
        Ok(self.append(at, &[Event::Purged { by, frames, messages, sessions }])?)
    }
}
