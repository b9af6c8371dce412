//! The evidence of the work in frames, one row for each span that was closed.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::compaction::PendingCompaction;
use callstack_core::event::Event;
use callstack_core::evidence::Evidence;
use callstack_core::frame::FrameNum;
use callstack_core::transcript::SpanNum;
use rusqlite::{Params, Row, params};

use crate::error::StoreError;
use crate::frames::{frame_num, json_list};
use crate::places::MessageRange;
use crate::project::{Writer, signed, sql};
use crate::store::View;

/// Rows that count: not those of a span that was undone, or whose close was, nor that of a root's first turn where
/// the evidence of the whole root is known.
const COUNTED: &str = "FROM evidence AS e LEFT JOIN spans AS s ON s.num = e.span
  WHERE (s.num IS NULL OR (s.close_undone = 0 AND s.detached = 0))
    AND (s.num IS NULL OR s.origin <> 'first_turn' OR NOT EXISTS (
      SELECT 1 FROM evidence AS w JOIN spans AS r ON r.num = w.span
      WHERE w.frame = e.frame AND r.origin = 'root' AND r.close_undone = 0 AND r.detached = 0))";

pub(crate) fn apply(
    writer: &Writer<'_, '_>,
    frame: FrameNum,
    span: Option<SpanNum>,
    evidence: &Evidence,
) -> Result<(), StoreError> {
    let span = span.map(|span| signed(span.0));
    writer.run("DELETE FROM evidence WHERE span = ?1", params![span])?;
    if evidence.is_empty() {
        return Ok(());
    }
    writer.run(
        "INSERT INTO evidence (num, frame, span, brief, body) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![writer.seq, sql(frame), span, evidence.brief(), serde_json::to_string(evidence)?],
    )
}

impl View<'_> {
    /// Returns the evidence of the work in a frame, all of its ranges.
    pub fn evidence(&self, frame: FrameNum) -> Result<Evidence, StoreError> {
        let query = format!("SELECT e.frame, e.body {COUNTED} AND e.frame = ?1 ORDER BY e.num");
        let mut found = self.evidence_by_frame(&query, [sql(frame)])?;
        Ok(found.remove(&frame).unwrap_or_default())
    }

    /// Returns the evidence of every frame that has any.
    pub fn all_evidence(&self) -> Result<BTreeMap<FrameNum, Evidence>, StoreError> {
        self.evidence_by_frame(&format!("SELECT e.frame, e.body {COUNTED} ORDER BY e.num"), [])
    }

    /// Returns the evidence that was taken when a span was last closed.
    pub fn span_evidence(&self, span: SpanNum) -> Result<Evidence, StoreError> {
        let found = self.evidence_by_frame(
            "SELECT frame, body FROM evidence WHERE span = ?1",
            params![signed(span.0)],
        )?;
        Ok(found.into_values().next().unwrap_or_default())
    }

    /// Returns the end of the last range of work in each of some frames, in a line, where that is known.
    pub fn evidence_briefs(
        &self,
        frames: impl IntoIterator<Item = FrameNum>,
    ) -> Result<BTreeMap<FrameNum, String>, StoreError> {
        let query = format!(
            "SELECT e.frame, e.brief {COUNTED} AND e.brief <> ''
             AND e.frame IN (SELECT value FROM json_each(?1)) ORDER BY e.num"
        );
        let row = |row: &Row<'_>| Ok((frame_num(row.get(0)?), row.get(1)?));
        self.connection
            .prepare_cached(&query)
            .and_then(|mut statement| {
                statement.query_map([json_list(frames.into_iter().map(sql))], row)?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    fn evidence_by_frame(
        &self,
        query: &str,
        params: impl Params,
    ) -> Result<BTreeMap<FrameNum, Evidence>, StoreError> {
        let rows: Vec<(i64, String)> = self
            .connection
            .prepare_cached(query)
            .and_then(|mut statement| {
                statement.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        let mut by_frame: BTreeMap<FrameNum, Evidence> = BTreeMap::new();
        for (frame, body) in rows {
            let later = serde_json::from_str(&body)?;
            let known = by_frame.entry(frame_num(frame)).or_default();
            *known = std::mem::take(known).then(later);
        }
        Ok(by_frame)
    }

    /// Removes for good the evidence that was taken from messages that go: that of every span in which any of them
    /// stands and, for purged `frames`, the evidence that they were imported with. Returns the frames that lost any.
    pub(crate) fn purge_evidence(
        &self,
        frames: &[FrameNum],
        ranges: &[MessageRange],
    ) -> Result<Vec<FrameNum>, StoreError> {
        let spans = self.standing_in(ranges)?.into_keys();
        let spans: BTreeSet<_> = spans.map(|span| signed(span.0)).collect();
        let gone = self.column(
            "DELETE FROM evidence WHERE span IN (SELECT value FROM json_each(?1))
               OR (span IS NULL AND frame IN (SELECT value FROM json_each(?2)))
             RETURNING frame",
            [json_list(spans.iter().copied()), json_list(frames.iter().copied().map(sql))],
        )?;
        self.rewrite_events("evidence_taken", |event| {
            let Event::EvidenceTaken { frame, span, evidence } = event else { return false };
            let goes = match span {
                Some(span) => spans.contains(&signed(span.0)),
                None => frames.contains(frame),
            };
            goes && !std::mem::take(&mut **evidence).is_empty()
        })?;
        self.purge_awaited(&ranges.iter().map(|it| it.session.as_str()).collect())?;
        Ok(BTreeSet::from_iter(gone).into_iter().map(frame_num).collect())
    }

    /// A frame that ends once a summary is there has its evidence in the pending compaction.
    fn purge_awaited(&self, sessions: &BTreeSet<&str>) -> Result<(), StoreError> {
        self.rewrite_events("compaction_asked", |event| {
            let Event::CompactionAsked { compaction } = event else { return false };
            sessions.contains(compaction.session.as_str()) && forget(compaction)
        })?;
        for session in sessions {
            let Some(mut pending) = self.pending_compaction(session)? else { continue };
            if forget(&mut pending) {
                let body = serde_json::to_string(&pending)?;
                self.run(
                    "UPDATE pending_compactions SET body = ?2 WHERE session = ?1",
                    params![session, body],
                )?;
            }
        }
        Ok(())
    }

    fn column(&self, query: &str, params: impl Params) -> Result<Vec<i64>, StoreError> {
        self.connection
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_map(params, |row| row.get(0))?.collect())
            .map_err(|source| self.failed(source))
    }
}

fn forget(pending: &mut PendingCompaction) -> bool {
    let Some(completion) = &mut pending.completion else { return false };
    !std::mem::take(&mut completion.seen).is_empty()
}
