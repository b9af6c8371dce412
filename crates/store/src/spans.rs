//! Reading spans, sessions and texts that were sent.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::event::{RecordedFigures, Session};
use callstack_core::frame::FrameNum;
use callstack_core::rendered_slot::{RenderedSlot, RenderedText};
use callstack_core::transcript::{Anchor, Fold, Held, Span, SpanNum, SpanOrigin};
use rusqlite::types::Type;
use rusqlite::{OptionalExtension as _, Params, Row, params};
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::project::{signed, sql};
use crate::store::View;

const SPAN: &str = "SELECT num, frame, session, open_message, open_call, origin, closed,
  close_message, close_call, outcome, close_undone, detached, foldable, fold_text, settled_at,
  settled_serial, renderer, held FROM spans";

pub(crate) fn origin_str(origin: SpanOrigin) -> &'static str {
    match origin {
        SpanOrigin::Root => "root",
        SpanOrigin::Push => "push",
        SpanOrigin::Activate => "activate",
        SpanOrigin::Reopen => "reopen",
        SpanOrigin::Turn => "turn",
        SpanOrigin::FirstTurn => "first_turn",
        SpanOrigin::Todo => "todo",
        SpanOrigin::Since => "since",
    }
}

fn origin_of(text: &str) -> SpanOrigin {
    match text {
        "root" => SpanOrigin::Root,
        "activate" => SpanOrigin::Activate,
        "reopen" => SpanOrigin::Reopen,
        "turn" => SpanOrigin::Turn,
        "first_turn" => SpanOrigin::FirstTurn,
        "todo" => SpanOrigin::Todo,
        "since" => SpanOrigin::Since,
        _ => SpanOrigin::Push,
    }
}

impl View<'_> {
    /// Every span of a session by number, detached ones among them.
    pub fn session_spans(&self, session: &str) -> Result<Vec<Span>, StoreError> {
        self.spans(&format!("{SPAN} WHERE session = ?1 ORDER BY num"), params![session])
    }

    /// The spans of a session that are open and not detached.
    pub fn session_open_spans(&self, session: &str) -> Result<Vec<Span>, StoreError> {
        self.spans(
            &format!(
                "{SPAN} WHERE session = ?1 AND (closed = 0 OR close_undone = 1) AND detached = 0
                 ORDER BY num"
            ),
            params![session],
        )
    }

    /// The spans of a frame by number.
    pub fn frame_spans(&self, frame: FrameNum) -> Result<Vec<Span>, StoreError> {
        self.spans(&format!("{SPAN} WHERE frame = ?1 ORDER BY num"), params![sql(frame)])
    }

    /// Returns the spans that have ended and were too light to be folded, of one frame or of all, without those that
    /// a summary of the host replaces.
    pub fn light_spans(&self, frame: Option<FrameNum>) -> Result<Vec<Span>, StoreError> {
        let mut spans = self.spans(
            &format!(
                "{SPAN} WHERE held IS NOT NULL AND (?1 IS NULL OR frame = ?1) AND closed = 1
                   AND close_undone = 0 AND detached = 0 AND NOT EXISTS (
                     SELECT 1 FROM compactions AS k
                     JOIN messages AS m ON m.session = k.session AND m.id = k.message
                     WHERE k.session = spans.session AND k.summary IS NOT NULL
                       AND m.seq > spans.close_seq)
                 ORDER BY num"
            ),
            params![frame.map(sql)],
        )?;
        let is_light = |fold: &Fold| matches!(fold.held, Some(Held::Light { .. }));
        spans.retain(|span| span.fold.as_ref().is_some_and(is_light));
        Ok(spans)
    }

    /// Returns the attached automatic span of a session at a place, if there is one.
    pub fn automatic_span(
        &self,
        session: &str,
        origin: SpanOrigin,
        open: &Anchor,
    ) -> Result<Option<Span>, StoreError> {
        let spans = self.spans(
            &format!(
                "{SPAN} WHERE session = ?1 AND origin = ?2 AND open_message IS ?3
                   AND open_call IS ?4 AND detached = 0"
            ),
            params![session, origin_str(origin), open.message, open.call],
        )?;
        Ok(spans.into_iter().next())
    }

    /// The frames that began and ended in the steps that a frame closed after the fact, in order; those below
    /// another one of them are left out.
    pub fn frames_closed_with(&self, frame: FrameNum) -> Result<Vec<FrameNum>, StoreError> {
        const NONE: i64 = i64::MAX;
        self.connection
            .prepare_cached(
                "WITH inside AS (
                   SELECT i.num, i.frame FROM spans AS s JOIN spans AS i ON i.session = s.session
                   WHERE s.frame = ?1 AND s.origin = 'since' AND s.detached = 0
                     AND i.num < s.num AND i.foldable = 1 AND i.detached = 0
                     AND i.closed = 1 AND i.close_undone = 0
                     AND coalesce(i.open_seq, ?2) > coalesce(s.open_seq, ?2)
                     AND coalesce(i.close_seq, ?2) <= coalesce(s.close_seq, ?2))
                 SELECT frame FROM inside
                 WHERE (SELECT parent FROM frames WHERE frames.num = inside.frame)
                   NOT IN (SELECT frame FROM inside)
                 GROUP BY frame ORDER BY min(inside.num)",
            )
            .and_then(|mut statement| {
                statement
                    .query_map(params![sql(frame), NONE], |row| Ok(frame_num(row.get(0)?)))?
                    .collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// Returns the texts of the newest folds that were sent in a session and whose spans ended before a place, newest
    /// first.
    pub fn folds_sent_before(
        &self,
        session: &str,
        place: u64,
        limit: u32,
    ) -> Result<Vec<String>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT fold_text FROM spans
                 WHERE session = ?1 AND close_seq <= ?2 AND closed = 1 AND close_undone = 0
                   AND detached = 0 AND settled_at IS NOT NULL AND fold_text IS NOT NULL
                 ORDER BY num DESC LIMIT ?3",
            )
            .and_then(|mut select| {
                select
                    .query_map(params![session, signed(place), limit], |row| row.get(0))?
                    .collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// A span by its number.
    pub fn span_row(&self, num: SpanNum) -> Result<Span, StoreError> {
        self.connection
            .prepare_cached(&format!("{SPAN} WHERE num = ?1"))
            .and_then(|mut statement| statement.query_row([signed(num.0)], span_of))
            .map_err(|source| self.failed(source))
    }

    /// A span, if there is one of this number.
    pub(crate) fn span_if_any(&self, num: SpanNum) -> Result<Option<Span>, StoreError> {
        self.connection
            .prepare_cached(&format!("{SPAN} WHERE num = ?1"))
            .and_then(|mut statement| statement.query_row([signed(num.0)], span_of).optional())
            .map_err(|source| self.failed(source))
    }

    /// Spans of other sessions that were opened by the tool call `call`.
    pub fn spans_opened_by(&self, call: &str, not_in: &str) -> Result<Vec<Span>, StoreError> {
        self.spans(
            &format!("{SPAN} WHERE open_call = ?1 AND session <> ?2 ORDER BY num"),
            params![call, not_in],
        )
    }

    /// The span that a call of a session opened, unless that was undone. A place without a call opened
    /// none.
    pub fn span_opened_at(&self, session: &str, at: &Anchor) -> Result<Option<Span>, StoreError> {
        let opened = self.spans(
            &format!(
                "{SPAN} WHERE open_call = ?1 AND session = ?2 AND open_message = ?3
                 AND detached = 0 ORDER BY num DESC LIMIT 1"
            ),
            params![at.call, session, at.message],
        )?;
        Ok(opened.into_iter().next())
    }

    /// The spans that calls of a message of a session opened.
    pub fn spans_opened_in(&self, session: &str, message: &str) -> Result<Vec<Span>, StoreError> {
        self.spans(
            &format!("{SPAN} WHERE session = ?1 AND open_message = ?2 ORDER BY num"),
            params![session, message],
        )
    }

    /// The spans that a call of a session closed, unless that was undone, the outermost first.
    pub fn spans_closed_at(&self, session: &str, at: &Anchor) -> Result<Vec<Span>, StoreError> {
        self.spans(
            &format!(
                "{SPAN} WHERE session = ?1 AND close_message = ?2 AND close_call = ?3
                 AND close_undone = 0 AND detached = 0 ORDER BY num"
            ),
            params![session, at.message, at.call],
        )
    }

    /// A session by the host's id.
    pub fn session_row(&self, id: &str) -> Result<Option<Session>, StoreError> {
        self.connection
            .prepare_cached("SELECT id, host, parent, root, active FROM sessions WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([id], session_of).optional())
            .map_err(|source| self.failed(source))
    }

    /// The sessions, the one that was active last first.
    pub fn sessions(&self, limit: u32) -> Result<Vec<Session>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT id, host, parent, root, active FROM sessions
                 ORDER BY active_seq DESC LIMIT ?1",
            )
            .and_then(|mut statement| statement.query_map([limit], session_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Returns the sessions that work in a frame, except those that were only read from recordings.
    pub fn working_sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT id, host, parent, root, active FROM sessions
                 WHERE active IS NOT NULL AND recorded = 0 ORDER BY id",
            )
            .and_then(|mut statement| statement.query_map([], session_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// The ids of the sessions that were only read from recordings.
    pub fn recorded_sessions(&self) -> Result<BTreeSet<String>, StoreError> {
        self.connection
            .prepare_cached("SELECT id FROM sessions WHERE recorded = 1")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Returns the figures of each session that was only read from a recording, as far as they are known.
    pub fn recorded_figures(&self) -> Result<BTreeMap<String, RecordedFigures>, StoreError> {
        let rows: Vec<(String, Option<RecordedFigures>)> = self
            .connection
            .prepare_cached(
                "SELECT id, figures FROM sessions WHERE recorded = 1 AND figures IS NOT NULL",
            )
            .and_then(|mut statement| {
                statement.query_map([], |row| Ok((row.get(0)?, json_of(row, 1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        Ok(rows.into_iter().filter_map(|(id, figures)| Some((id, figures?))).collect())
    }

    /// Returns the figures of a session that was only read from a recording.
    pub fn figures_of(&self, session: &str) -> Result<Option<RecordedFigures>, StoreError> {
        self.connection
            .prepare_cached("SELECT figures FROM sessions WHERE id = ?1 AND recorded = 1")
            .and_then(|mut statement| {
                statement.query_row([session], |row| json_of(row, 0)).optional()
            })
            .map(Option::flatten)
            .map_err(|source| self.failed(source))
    }

    /// Whether a session was only read from a recording.
    pub fn is_recorded(&self, session: &str) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached("SELECT recorded FROM sessions WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([session], |row| row.get(0)).optional())
            .map(Option::unwrap_or_default)
            .map_err(|source| self.failed(source))
    }

    /// The sessions that a session started.
    pub fn sessions_below(&self, session: &str) -> Result<Vec<Session>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT id, host, parent, root, active FROM sessions WHERE parent = ?1 ORDER BY id",
            )
            .and_then(|mut statement| statement.query_map([session], session_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Returns the session that was worked in last, without regard to those that were only read from recordings.
    pub fn latest_session(&self) -> Result<Option<Session>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT id, host, parent, root, active FROM sessions WHERE recorded = 0
                 ORDER BY active_seq DESC LIMIT 1",
            )
            .and_then(|mut statement| statement.query_row([], session_of).optional())
            .map_err(|source| self.failed(source))
    }

    /// Returns sessions except one, those that were worked in last first, without those that were only read from
    /// recordings.
    pub fn latest_sessions(&self, not: &str, most: usize) -> Result<Vec<String>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.connection
            .prepare_cached(
                "SELECT id FROM sessions WHERE recorded = 0 AND id <> ?1
                 ORDER BY active_seq DESC LIMIT ?2",
            )
            .and_then(|mut statement| {
                statement.query_map(params![not, most], |row| row.get(0))?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// Returns the newest event that changed a session's spans, its active frame or its messages; 0 for an unknown
    /// session.
    pub fn session_revision(&self, session: &str) -> Result<i64, StoreError> {
        self.connection
            .prepare_cached("SELECT changed_seq FROM sessions WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([session], |row| row.get(0)).optional())
            .map(Option::unwrap_or_default)
            .map_err(|source| self.failed(source))
    }

    /// A text that was sent, by session and slot.
    pub fn render(&self, session: &str, slot: &RenderedSlot) -> Result<Option<String>, StoreError> {
        let slot = slot.to_string();
        self.connection
            .prepare_cached("SELECT text FROM renders WHERE session = ?1 AND slot = ?2")
            .and_then(|mut statement| {
                statement.query_row(params![session, slot], |row| row.get(0)).optional()
            })
            .map_err(|source| self.failed(source))
    }

    /// The texts of a session for a purpose, or all, in the order in which they were made: slot, text, and the number
    /// of the event that holds it.
    pub fn renders(
        &self,
        session: &str,
        kind: Option<RenderedText>,
    ) -> Result<Vec<(RenderedSlot, String, i64)>, StoreError> {
        let prefix = kind.map_or("", RenderedText::prefix);
        let rows: Vec<(String, String, i64)> = self
            .connection
            .prepare_cached(
                "SELECT slot, text, seq FROM renders
                 WHERE session = ?1 AND substr(slot, 1, length(?2)) = ?2 ORDER BY seq",
            )
            .and_then(|mut statement| {
                statement
                    .query_map(params![session, prefix], |row| {
                        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                    })?
                    .collect()
            })
            .map_err(|source| self.failed(source))?;
        let rows = rows.into_iter();
        Ok(rows.map(|(slot, text, seq)| (RenderedSlot::from(slot.as_str()), text, seq)).collect())
    }

    /// A setting of the store.
    pub fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare_cached("SELECT value FROM settings WHERE name = ?1")
            .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
            .map_err(|source| self.failed(source))
    }

    /// All settings of the store, by name.
    pub fn settings(&self) -> Result<BTreeMap<String, String>, StoreError> {
        self.connection
            .prepare_cached("SELECT name, value FROM settings")
            .and_then(|mut statement| {
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    fn spans(&self, query: &str, params: impl Params) -> Result<Vec<Span>, StoreError> {
        self.connection
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_map(params, span_of)?.collect())
            .map_err(|source| self.failed(source))
    }
}

fn session_of(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: row.get(0)?,
        host: row.get(1)?,
        parent: row.get(2)?,
        root: row.get::<_, Option<i64>>(3)?.map(frame_num),
        active: row.get::<_, Option<i64>>(4)?.map(frame_num),
    })
}

/// Reads a column as JSON.
fn json_of<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

fn span_of(row: &Row<'_>) -> rusqlite::Result<Span> {
    let closed: bool = row.get(6)?;
    let fold_text: Option<String> = row.get(13)?;
    let settled_at = row.get(14)?;
    let settled_serial = row.get(15)?;
    let renderer: Option<u32> = row.get(16)?;
    let held = json_of(row, 17)?;
    Ok(Span {
        num: SpanNum(row.get::<_, i64>(0)?.unsigned_abs()),
        frame: frame_num(row.get(1)?),
        session: row.get(2)?,
        open: Anchor { message: row.get(3)?, call: row.get(4)? },
        origin: origin_of(&row.get::<_, String>(5)?),
        close: closed
            .then(|| Ok::<_, rusqlite::Error>(Anchor { message: row.get(7)?, call: row.get(8)? }))
            .transpose()?,
        outcome: json_of(row, 9)?,
        close_undone: row.get(10)?,
        detached: row.get(11)?,
        foldable: row.get(12)?,
        fold: fold_text.map(|text| Fold {
            text,
            settled_at,
            settled_serial,
            renderer: renderer.unwrap_or(0),
            held,
        }),
    })
}
