//! The search index: it finds the messages and frames that contain all of some terms. New messages are indexed later,
//! off every hot path.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use callstack_core::event::Event;
use callstack_core::frame::{Frame, FrameNum};
use callstack_core::search;
use rusqlite::{OptionalExtension as _, Row, params};

use crate::change::Change;
use crate::error::StoreError;
use crate::frames::frame_num;
use crate::messages::{StoredMessage, message_of};
use crate::places::MessageRange;
use crate::project::sql;
use crate::store::View;
use crate::unreadable::{bytes_of, event_of};
use crate::words::Narrowed;

const MESSAGES: &str = "messages";
const EVENTS: &str = "events";
/// Events that are caught up with in one go.
const EVENTS_AT_ONCE: i64 = 256;

/// A message of any session, as a search sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedMessage {
    /// Its number, which grows with each stored message, over all sessions.
    pub num: i64,
    /// The session that it belongs to.
    pub session: String,
    /// The message.
    pub message: StoredMessage,
}

impl Change<'_> {
    /// Indexes some of the messages that were stored since the last call, about `bytes` in all, with the texts that
    /// `text_of` takes out of their JSON, and the frames that changed. Returns whether anything is left.
    pub fn index(
        &mut self,
        bytes: usize,
        text_of: &dyn Fn(&str) -> String,
    ) -> Result<bool, StoreError> {
        let view = self.view();
        let mut left = bytes;
        let mut upto = view.indexed(MESSAGES)?;
        let (mut messages, mut texts) = (Vec::new(), Vec::new());
        while left > 0 {
            let next = view.messages_after(upto, 1)?;
            let Some(next) = next.into_iter().next() else { break };
            messages.push(next.num);
            texts.push(search::terms(&text_of(&next.message.json)));
            left = left.saturating_sub(next.message.json.len().max(1));
            upto = next.num;
        }
        let terms = view.keep_words(&texts)?;
        view.keep_postings(messages.into_iter().zip(terms))?;
        view.set_indexed(MESSAGES, upto)?;
        self.index_frames()?;
        self.view().is_behind()
    }

    fn index_frames(&self) -> Result<(), StoreError> {
        let view = self.view();
        let from = view.indexed(EVENTS)?;
        let failed = |source| view.failed(source);
        let rows: Vec<(i64, Vec<u8>)> = view
            .connection
            .prepare_cached("SELECT seq, body FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2")
            .and_then(|mut statement| {
                statement
                    .query_map([from, EVENTS_AT_ONCE], |row| Ok((row.get(0)?, bytes_of(row, 1)?)))?
                    .collect()
            })
            .map_err(failed)?;
        let mut changed = BTreeSet::new();
        for (_, body) in &rows {
            changed.extend(event_of(body).as_ref().and_then(touched));
        }
        for num in changed {
            view.index_frame(num)?;
        }
        view.set_indexed(EVENTS, rows.last().map_or(from, |(seq, _)| *seq))
    }

    /// Forgets the terms of frames, because the frames themselves were rebuilt.
    pub(crate) fn forget_frame_terms(&self) -> Result<(), StoreError> {
        let view = self.view();
        view.run("INSERT INTO frame_terms (frame_terms) VALUES ('delete-all')", [])?;
        view.run("DELETE FROM indexed WHERE what = ?1", [EVENTS])
    }
}

impl View<'_> {
    /// Whether something was stored that a search can't see yet.
    pub fn is_behind(&self) -> Result<bool, StoreError> {
        let newest = |table: &str| {
            self.connection
                .prepare_cached(table)
                .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
                .map_err(|source| self.failed(source))
        };
        Ok(newest("SELECT coalesce(max(num), 0) FROM messages")? > self.indexed(MESSAGES)?
            || newest("SELECT coalesce(max(seq), 0) FROM events")? > self.indexed(EVENTS)?)
    }

    /// Calls `see` with the messages that have all of these clues in the index, the newest first, until it has seen
    /// enough, and returns whether it has. Without clues these are all messages. With `within`, only those that lie
    /// in one of these ranges; others are not even decoded.
    pub fn visit_messages_known_by<E: From<StoreError>>(
        &self,
        known: &Narrowed,
        within: Option<&[MessageRange]>,
        mut see: impl FnMut(IndexedMessage) -> Result<ControlFlow<()>, E>,
    ) -> Result<bool, E> {
        let failed = |source| E::from(self.failed(source));
        let columns = "seq, version, id, bytes, codec, body, at, num, session";
        let wanted_message = |row: &Row<'_>| {
            let is_within = within.map_or(Ok(true), |within| lies_in(row, within))?;
            is_within.then(|| indexed_message(row)).transpose()
        };
        let Some(wanted) = &known.wanted else {
            let query = format!("SELECT {columns} FROM messages ORDER BY num DESC");
            let mut statement = self.connection.prepare_cached(&query).map_err(failed)?;
            let mut rows = statement.query([]).map_err(failed)?;
            while let Some(row) = rows.next().map_err(failed)? {
                let Some(found) = wanted_message(row).map_err(failed)? else { continue };
                if see(found)?.is_break() {
                    return Ok(true);
                }
            }
            return Ok(false);
        };
        let query = format!("SELECT {columns} FROM messages WHERE num = ?1");
        let mut statement = self.connection.prepare_cached(&query).map_err(failed)?;
        self.holding(wanted, |num| {
            let found = statement.query_row([num], wanted_message).optional().map_err(failed)?;
            Ok(found.flatten().map(&mut see).transpose()?.is_none_or(|flow| flow.is_continue()))
        })
    }

    /// Returns frames that have all of these clues in the index, the newest first, at most `most`. Without clues
    /// these are all frames.
    pub fn frames_known_by(
        &self,
        known: &Narrowed,
        most: usize,
    ) -> Result<Vec<FrameNum>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let frame = |row: &Row<'_>| Ok(frame_num(row.get(0)?));
        let Some(question) = &known.question else {
            return self
                .connection
                .prepare_cached("SELECT num FROM frames ORDER BY num DESC LIMIT ?1")
                .and_then(|mut statement| statement.query_map([most], frame)?.collect())
                .map_err(|source| self.failed(source));
        };
        self.connection
            .prepare_cached(
                "SELECT rowid FROM frame_terms WHERE frame_terms MATCH ?1
                 ORDER BY rowid DESC LIMIT ?2",
            )
            .and_then(|mut statement| {
                statement.query_map(params![question, most], frame)?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// A message by its number; none if it was purged from the store since.
    pub fn indexed_message(&self, num: i64) -> Result<Option<IndexedMessage>, StoreError> {
        let found = self.indexed_messages(
            "SELECT seq, version, id, bytes, codec, body, at, num, session FROM messages
             WHERE num = ?1",
            [num],
        )?;
        Ok(found.into_iter().next())
    }

    fn messages_after(&self, num: i64, most: i64) -> Result<Vec<IndexedMessage>, StoreError> {
        self.indexed_messages(
            "SELECT seq, version, id, bytes, codec, body, at, num, session FROM messages
             WHERE num > ?1 ORDER BY num LIMIT ?2",
            [num, most],
        )
    }

    fn indexed_messages(
        &self,
        query: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<IndexedMessage>, StoreError> {
        self.connection
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_map(params, indexed_message)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Indexes a frame by its present texts and evidence, and nothing else.
    pub(crate) fn index_frame(&self, num: FrameNum) -> Result<(), StoreError> {
        let said = match self.frame(num) {
            // The event that made it can't be read.
            Err(StoreError::NoFrame(_)) => return Ok(()),
            frame => said_of(&frame?),
        };
        let seen = self.evidence(num)?.searchable();
        let terms = search::terms(&format!("{said}\n{seen}"));
        self.run("DELETE FROM frame_terms WHERE rowid = ?1", [sql(num)])?;
        self.run(
            "INSERT INTO frame_terms (rowid, terms) VALUES (?1, ?2)",
            params![sql(num), terms.joined()],
        )?;
        self.keep_words(&[terms]).map(drop)
    }

    fn indexed(&self, what: &str) -> Result<i64, StoreError> {
        self.connection
            .prepare_cached("SELECT upto FROM indexed WHERE what = ?1")
            .and_then(|mut statement| statement.query_row([what], |row| row.get(0)).optional())
            .map(Option::unwrap_or_default)
            .map_err(|source| self.failed(source))
    }

    fn set_indexed(&self, what: &str, upto: i64) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO indexed (what, upto) VALUES (?1, ?2)
             ON CONFLICT (what) DO UPDATE SET upto = excluded.upto",
            params![what, upto],
        )
    }
}

/// Whether the message of a row, with its place first and its session ninth, lies in one of some ranges.
fn lies_in(row: &Row<'_>, ranges: &[MessageRange]) -> rusqlite::Result<bool> {
    let seq = row.get::<_, i64>(0)?.unsigned_abs();
    let session = row.get_ref(8)?.as_str()?;
    Ok(ranges.iter().any(|it| it.session == session && it.first < seq && seq <= it.last))
}

fn indexed_message(row: &Row<'_>) -> rusqlite::Result<IndexedMessage> {
    Ok(IndexedMessage { num: row.get(7)?, session: row.get(8)?, message: message_of(row)? })
}

/// The frame of which an event says something.
fn touched(event: &Event) -> Option<FrameNum> {
    match event {
        Event::FrameCreated { frame } => Some(frame.num),
        Event::FrameEnded { frame, .. }
        | Event::EvidenceTaken { frame, .. }
        | Event::FrameReopened { frame, .. }
        | Event::IdentitySet { frame, .. }
        | Event::ArtifactRecorded { frame, .. }
        | Event::DecisionRecorded { frame, .. }
        | Event::PinSet { frame, .. } => Some(*frame),
        _ => None,
    }
}

/// Returns all texts of a frame, each once: identity, results, decisions, pins, paths, in the order in which a person
/// would read them.
pub fn said_of(frame: &Frame) -> String {
    let identity = &frame.identity;
    let mut lines: Vec<&str> =
        vec![&identity.title, &identity.success_criteria, &identity.success_criteria_compacted];
    lines.extend(frame.results.as_deref());
    lines.extend(frame.results_compacted.as_deref());
    lines.extend(frame.invalidation_reason.as_deref());
    lines.extend(frame.decisions.iter().map(String::as_str));
    lines.extend(frame.pins.iter().map(|pin| pin.text.as_str()));
    lines.extend(frame.artifacts.iter().map(|artifact| artifact.path.as_str()));
    let mut said = BTreeSet::new();
    lines.retain(|line| said.insert(*line));
    lines.join("\n")
}
