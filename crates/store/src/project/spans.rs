//! The rows of spans, and the sessions that have to notice their changes.

use callstack_core::transcript::{Anchor, Fold, Outcome, Span, SpanNum};
use rusqlite::params;

use super::{Writer, signed, sql};
use crate::error::StoreError;
use crate::spans::origin_str;

/// Why a fold is held, as it is kept.
fn held(fold: &Fold) -> Result<Option<String>, StoreError> {
    Ok(fold.held.as_ref().map(serde_json::to_string).transpose()?)
}

impl Writer<'_, '_> {
    pub(super) fn open_span(&self, span: &Span) -> Result<(), StoreError> {
        let close = span.close.as_ref();
        let fold = span.fold.as_ref();
        let outcome = span.outcome.as_ref().map(serde_json::to_string).transpose()?;
        self.run(
            "INSERT INTO spans (num, frame, session, open_message, open_call, origin, closed,
               close_message, close_call, outcome, close_undone, detached, foldable, fold_text,
               settled_at, settled_serial, renderer, held)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
               ?17, ?18)",
            params![
                signed(span.num.0),
                sql(span.frame),
                span.session,
                span.open.message,
                span.open.call,
                origin_str(span.origin),
                close.is_some(),
                close.and_then(|close| close.message.as_deref()),
                close.and_then(|close| close.call.as_deref()),
                outcome,
                span.close_undone,
                span.detached,
                span.foldable,
                fold.map(|fold| fold.text.as_str()),
                fold.and_then(|fold| fold.settled_at.as_deref()),
                fold.and_then(|fold| fold.settled_serial),
                fold.map(|fold| fold.renderer),
                fold.map(held).transpose()?.flatten()
            ],
        )?;
        self.place_spans(&span.session)?;
        self.session_changed(span.num)
    }

    pub(super) fn set_fold(&self, span: SpanNum, fold: &Fold) -> Result<(), StoreError> {
        self.run(
            "UPDATE spans SET fold_text = ?2, settled_at = ?3, settled_serial = ?4,
               renderer = ?5, held = ?6 WHERE num = ?1",
            params![
                signed(span.0),
                fold.text,
                fold.settled_at,
                fold.settled_serial,
                fold.renderer,
                held(fold)?
            ],
        )?;
        self.session_changed(span)
    }

    pub(super) fn session_changed(&self, span: SpanNum) -> Result<(), StoreError> {
        self.run(
            "UPDATE sessions SET changed_seq = ?2
             WHERE id = (SELECT session FROM spans WHERE num = ?1)",
            params![signed(span.0), self.seq],
        )
    }

    /// The notes that are due in a session change with its delegations.
    pub(super) fn caller_changed(&self, span: SpanNum) -> Result<(), StoreError> {
        self.run(
            "UPDATE sessions SET changed_seq = ?2
             WHERE id = (SELECT caller FROM errands WHERE span = ?1)",
            params![signed(span.0), self.seq],
        )
    }

    pub(super) fn close_span(
        &self,
        num: u64,
        close: &Anchor,
        outcome: &Outcome,
    ) -> Result<(), StoreError> {
        self.run(
            "UPDATE spans SET closed = 1, close_message = ?2, close_call = ?3, outcome = ?4,
               close_seq = NULL, close_undone = 0, fold_text = NULL, settled_at = NULL,
               settled_serial = NULL, renderer = NULL, held = NULL
             WHERE num = ?1",
            params![signed(num), close.message, close.call, serde_json::to_string(outcome)?],
        )?;
        let span = self.view.span_row(SpanNum(num))?;
        self.place_spans(&span.session)
    }

    /// Stores the places of the messages that open and close a session's spans, once these are stored. The condition
    /// repeats that of the index word for word: otherwise SQLite would not use it.
    pub(super) fn place_spans(&self, session: &str) -> Result<(), StoreError> {
        self.run(
            "UPDATE spans SET
               open_seq = (SELECT seq FROM messages AS m
                 WHERE m.session = ?1 AND m.id = open_message AND m.version = 1),
               close_seq = (SELECT seq FROM messages AS m
                 WHERE m.session = ?1 AND m.id = close_message AND m.version = 1)
             WHERE session = ?1 AND ((open_message IS NOT NULL AND open_seq IS NULL)
               OR (close_message IS NOT NULL AND close_seq IS NULL))",
            params![session],
        )
    }
}
