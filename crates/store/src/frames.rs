//! Reading frames, and what decisions and contexts need to know of those around them.

use std::collections::{BTreeMap, HashMap};

use callstack_core::decide::Neighbourhood;
use callstack_core::event::Session;
use callstack_core::frame::{Artifact, Frame, FrameNum, Identity, Pin, Status};
use callstack_core::transcript::{Span, SpanNum};
use rusqlite::{OptionalExtension as _, Params, Row, params};

use crate::error::StoreError;
use crate::project::{ROOTS, WHOLE, sql};
use crate::store::View;

const FRAME: &str = "SELECT num, id, parent, session, status, title, criteria, criteria_compacted,
  identity_derived, results, results_compacted, created_at, updated_at, ended_at, log_path, reason,
  invalidated_at, depth, detached, consolidated, results_source FROM frames";

/// Children that an answer names; more are only counted.
const NAMED: u32 = 20;

/// How many frames of each status there are.
pub type StatusCounts = BTreeMap<Status, u64>;

/// Finished siblings that a context may choose from.
#[derive(Debug, Clone, Default)]
pub struct SiblingCandidates {
    /// The frames, the one that ended last first.
    pub frames: Vec<Frame>,
    /// Finished siblings in all.
    pub total: u64,
}

impl View<'_> {
    /// A frame without its artifacts, decisions and pins.
    pub(crate) fn frame_row(&self, num: FrameNum) -> Result<Frame, StoreError> {
        self.connection
            .prepare_cached(&format!("{FRAME} WHERE num = ?1"))
            .and_then(|mut statement| statement.query_row([sql(num)], frame_of).optional())
            .map_err(|source| self.failed(source))?
            .ok_or_else(|| StoreError::NoFrame(num.to_string()))
    }

    /// A whole frame.
    pub fn frame(&self, num: FrameNum) -> Result<Frame, StoreError> {
        self.whole(self.frame_row(num)?)
    }

    /// The ancestors of a frame, its parent first.
    pub fn ancestors(&self, num: FrameNum) -> Result<Vec<Frame>, StoreError> {
        let mut ancestors = Vec::new();
        let mut next = self.frame_row(num)?.parent;
        while let Some(parent) = next {
            let frame = self.frame(parent)?;
            next = frame.parent;
            ancestors.push(frame);
        }
        Ok(ancestors)
    }

    /// Attached children in their order; those that another frame stands for are that one's.
    pub fn children(&self, parent: Option<FrameNum>) -> Result<Vec<Frame>, StoreError> {
        self.wholes(
            &format!(
                "{FRAME} WHERE detached = 0 AND num IN (
                   SELECT num FROM frames WHERE parent IS ?1 AND consolidated IS NULL
                   UNION ALL SELECT num FROM frames WHERE consolidated = ?1) ORDER BY ord"
            ),
            params![parent.map(sql)],
        )
    }

    /// The attached children of a frame that have a status; the first `limit`.
    pub fn children_with(
        &self,
        parent: Option<FrameNum>,
        status: Status,
        limit: u32,
    ) -> Result<Vec<Frame>, StoreError> {
        self.wholes(
            &format!(
                "{FRAME} WHERE parent IS ?1 AND {} AND detached = 0 AND consolidated IS NULL
                 ORDER BY ord LIMIT ?2",
                is(status)
            ),
            params![parent.map(sql), limit],
        )
    }

    /// An attached child of a frame that is in progress, if there is one.
    pub fn running(&self, parent: FrameNum) -> Result<Option<Frame>, StoreError> {
        Ok(self.children_with(Some(parent), Status::InProgress, 1)?.pop())
    }

    /// The finished children of a frame in the order in which they came to be; the first `limit`.
    pub fn finished_children(
        &self,
        parent: FrameNum,
        limit: u32,
    ) -> Result<Vec<Frame>, StoreError> {
        self.wholes(
            &format!("{FRAME} WHERE parent = ?1 AND finished = 1 ORDER BY num LIMIT ?2"),
            params![sql(parent), limit],
        )
    }

    /// How many attached children of each status a frame has, or how many roots.
    pub fn counts(&self, parent: Option<FrameNum>) -> Result<StatusCounts, StoreError> {
        self.counted(parent.map_or(ROOTS, sql))
    }

    /// How many attached frames of each status there are in the store.
    pub fn all_counts(&self) -> Result<StatusCounts, StoreError> {
        self.counted(WHOLE)
    }

    /// The place of a frame among its siblings, from 1, as they came to be.
    pub fn position(&self, num: FrameNum) -> Result<u64, StoreError> {
        self.connection
            .prepare_cached("SELECT position FROM frames WHERE num = ?1")
            .and_then(|mut statement| statement.query_row([sql(num)], |row| row.get::<_, i64>(0)))
            .map(i64::unsigned_abs)
            .map_err(|source| self.failed(source))
    }

    /// Finished siblings that are worth looking at: the newest `newest`, and for each of `words` the
    /// newest `a_word` that are about it. The cost depends on these numbers alone.
    pub fn sibling_candidates(
        &self,
        frame: &Frame,
        words: &[String],
        newest: u32,
        a_word: u32,
    ) -> Result<SiblingCandidates, StoreError> {
        let mut nums: Vec<i64> = self.numbers(
            "SELECT num FROM frames WHERE parent IS ?1 AND finished = 1 AND num <> ?2
             ORDER BY ended_at DESC LIMIT ?3",
            params![frame.parent.map(sql), sql(frame.num), newest],
        )?;
        for word in words {
            nums.extend(self.numbers(
                "SELECT frame FROM frame_words WHERE parent = ?1 AND word = ?2
                 ORDER BY frame DESC LIMIT ?3",
                params![frame.parent.map_or(ROOTS, sql), word, a_word],
            )?);
        }
        nums.sort_unstable();
        nums.dedup();
        let mut frames = self.wholes(
            &format!(
                "{FRAME} WHERE num IN (SELECT value FROM json_each(?1)) AND num <> ?2
                 AND finished = 1 AND detached = 0"
            ),
            params![json_list(nums), sql(frame.num)],
        )?;
        frames.sort_by_key(|sibling| (std::cmp::Reverse(sibling.ended_at), sibling.num));
        let total = self
            .counts(frame.parent)?
            .into_iter()
            .filter(|(status, _)| status.is_finished())
            .map(|(_, count)| count)
            .sum::<u64>()
            .saturating_sub(u64::from(frame.status.is_finished()));
        Ok(SiblingCandidates { frames, total })
    }

    /// Every attached frame, siblings in their order.
    pub fn all_frames(&self) -> Result<Vec<Frame>, StoreError> {
        self.wholes(&format!("{FRAME} WHERE detached = 0 ORDER BY ord"), [])
    }

    /// Every former id with the frame that it still means, in order of the frames.
    pub fn aliases(&self) -> Result<Vec<(FrameNum, String)>, StoreError> {
        self.connection
            .prepare_cached("SELECT frame, alias FROM aliases ORDER BY frame, alias")
            .and_then(|mut statement| {
                statement.query_map([], |row| Ok((frame_num(row.get(0)?), row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// Whether a frame ever left a file with this content (SHA-256 in hex).
    pub fn is_recorded(&self, path: &str, hash: &str) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM artifacts WHERE path = ?1 AND hash = ?2)")
            .and_then(|mut statement| statement.query_row([path, hash], |row| row.get(0)))
            .map_err(|source| self.failed(source))
    }

    /// The former ids of a frame.
    pub fn aliases_of(&self, num: FrameNum) -> Result<Vec<String>, StoreError> {
        self.connection
            .prepare_cached("SELECT alias FROM aliases WHERE frame = ?1 ORDER BY alias")
            .and_then(|mut statement| statement.query_map([sql(num)], |row| row.get(0))?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Pins that were set after the event `seq`, in a frame or its ancestors.
    pub fn pins_since(&self, num: FrameNum, seq: i64) -> Result<Vec<(FrameNum, Pin)>, StoreError> {
        let mut pins = Vec::new();
        let mut next = Some(num);
        while let Some(frame) = next {
            let found: Vec<Pin> = self
                .connection
                .prepare_cached(
                    "SELECT num, text FROM pins WHERE frame = ?1 AND removed = 0 AND seq > ?2
                     ORDER BY num",
                )
                .and_then(|mut statement| {
                    statement.query_map(params![sql(frame), seq], pin_of)?.collect()
                })
                .map_err(|source| self.failed(source))?;
            pins.extend(found.into_iter().map(|pin| (frame, pin)));
            next = self.frame_row(frame)?.parent;
        }
        pins.sort_by_key(|(_, pin)| pin.num);
        Ok(pins)
    }

    /// The frame that was most recently made active in any session that is worked in, and still is.
    pub fn most_recently_active(&self) -> Result<Option<FrameNum>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT active FROM sessions WHERE active IS NOT NULL AND recorded = 0
                 ORDER BY active_seq DESC LIMIT 1",
            )
            .and_then(|mut statement| {
                statement.query_row([], |row| row.get::<_, i64>(0)).optional()
            })
            .map(|found| found.map(frame_num))
            .map_err(|source| self.failed(source))
    }

    fn whole(&self, mut frame: Frame) -> Result<Frame, StoreError> {
        let num = sql(frame.num);
        let read = |frame: &mut Frame| -> rusqlite::Result<()> {
            frame.artifacts = self
                .connection
                .prepare_cached("SELECT path, hash FROM artifacts WHERE frame = ?1 ORDER BY ord")?
                .query_map([num], |row| Ok(Artifact { path: row.get(0)?, hash: row.get(1)? }))?
                .collect::<Result<_, _>>()?;
            frame.decisions = self
                .connection
                .prepare_cached("SELECT text FROM decisions WHERE frame = ?1 ORDER BY ord")?
                .query_map([num], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            frame.pins = self
                .connection
                .prepare_cached(
                    "SELECT num, text FROM pins WHERE frame = ?1 AND removed = 0 ORDER BY num",
                )?
                .query_map([num], pin_of)?
                .collect::<Result<_, _>>()?;
            Ok(())
        };
        read(&mut frame).map_err(|source| self.failed(source))?;
        Ok(frame)
    }

    fn wholes(&self, query: &str, params: impl Params) -> Result<Vec<Frame>, StoreError> {
        let rows: Vec<Frame> = self
            .connection
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_map(params, frame_of)?.collect())
            .map_err(|source| self.failed(source))?;
        self.filled(rows).map_err(|source| self.failed(source))
    }

    /// The frames with their artifacts, decisions and pins: one statement for each kind, however many
    /// frames there are.
    fn filled(&self, mut frames: Vec<Frame>) -> rusqlite::Result<Vec<Frame>> {
        if frames.is_empty() {
            return Ok(frames);
        }
        let nums = json_list(frames.iter().map(|frame| sql(frame.num)));
        let places: HashMap<i64, usize> =
            frames.iter().enumerate().map(|(place, frame)| (sql(frame.num), place)).collect();
        let mut each =
            |query: &str, take: &dyn Fn(&mut Frame, &Row<'_>) -> rusqlite::Result<()>| {
                let mut statement = self.connection.prepare_cached(query)?;
                let mut rows = statement.query([&nums])?;
                while let Some(row) = rows.next()? {
                    if let Some(place) = places.get(&row.get(0)?) {
                        take(&mut frames[*place], row)?;
                    }
                }
                Ok::<_, rusqlite::Error>(())
            };
        each(
            "SELECT frame, path, hash FROM artifacts
             WHERE frame IN (SELECT value FROM json_each(?1)) ORDER BY frame, ord",
            &|frame, row| {
                frame.artifacts.push(Artifact { path: row.get(1)?, hash: row.get(2)? });
                Ok(())
            },
        )?;
        each(
            "SELECT frame, text FROM decisions
             WHERE frame IN (SELECT value FROM json_each(?1)) ORDER BY frame, ord",
            &|frame, row| {
                frame.decisions.push(row.get(1)?);
                Ok(())
            },
        )?;
        each(
            "SELECT frame, num, text FROM pins
             WHERE frame IN (SELECT value FROM json_each(?1)) AND removed = 0
             ORDER BY frame, num",
            &|frame, row| {
                let num = row.get::<_, i64>(1)?.unsigned_abs();
                frame.pins.push(Pin { num, text: row.get(2)? });
                Ok(())
            },
        )?;
        Ok(frames)
    }

    fn numbers(&self, query: &str, params: impl Params) -> Result<Vec<i64>, StoreError> {
        self.connection
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_map(params, |row| row.get(0))?.collect())
            .map_err(|source| self.failed(source))
    }

    fn counted(&self, parent: i64) -> Result<StatusCounts, StoreError> {
        let rows: Vec<(String, i64)> = self
            .connection
            .prepare_cached("SELECT status, n FROM frame_counts WHERE parent = ?1 AND n > 0")
            .and_then(|mut statement| {
                statement.query_map([parent], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        Ok(rows
            .into_iter()
            .filter_map(|(status, n)| Some((status.parse().ok()?, n.unsigned_abs())))
            .collect())
    }

    fn next(&self, table: &str) -> Result<u64, StoreError> {
        self.connection
            .prepare_cached(&format!("SELECT coalesce(max(num), 0) + 1 FROM {table}"))
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
            .map(i64::unsigned_abs)
            .map_err(|source| self.failed(source))
    }
}

/// Handles are never given out twice: frames are detached, never deleted.
impl Neighbourhood for View<'_> {
    type Error = StoreError;

    fn frame(&self, num: FrameNum) -> Result<Frame, StoreError> {
        View::frame(self, num)
    }

    fn frame_by_id(&self, id: &str) -> Result<Option<FrameNum>, StoreError> {
        self.by_id(id)
    }

    fn session(&self, id: &str) -> Result<Option<Session>, StoreError> {
        self.session_row(id)
    }

    fn running_children(&self, num: FrameNum) -> Result<Vec<Frame>, StoreError> {
        self.children_with(Some(num), Status::InProgress, NAMED)
    }

    fn planned_children(&self, num: FrameNum) -> Result<Vec<Frame>, StoreError> {
        self.children_with(Some(num), Status::Planned, NAMED)
    }

    fn child_count(&self, num: Option<FrameNum>) -> Result<u64, StoreError> {
        Ok(self.counts(num)?.values().sum())
    }

    fn live_frames(&self) -> Result<u64, StoreError> {
        Ok(self.all_counts()?.get(&Status::InProgress).copied().unwrap_or(0))
    }

    fn live_sessions(&self) -> Result<u64, StoreError> {
        self.live_errands()
    }

    fn descendants(&self, num: FrameNum, status: Status) -> Result<Vec<Frame>, StoreError> {
        self.wholes(
            &format!(
                "WITH RECURSIVE below(n) AS (
                   SELECT num FROM frames WHERE parent = ?1
                   UNION ALL SELECT frames.num FROM frames JOIN below ON frames.parent = below.n)
                 {FRAME} WHERE num IN below AND {} AND detached = 0 ORDER BY num",
                is(status)
            ),
            params![sql(num)],
        )
    }

    fn subtree(&self, num: FrameNum) -> Result<Vec<Frame>, StoreError> {
        self.wholes(
            &format!(
                "WITH RECURSIVE inside(n) AS (
                   VALUES (?1)
                   UNION ALL SELECT frames.num FROM frames JOIN inside ON frames.parent = inside.n)
                 {FRAME} WHERE num IN inside ORDER BY num"
            ),
            params![sql(num)],
        )
    }

    fn open_spans(&self, session: &str) -> Result<Vec<Span>, StoreError> {
        self.session_open_spans(session)
    }

    fn span(&self, num: SpanNum) -> Result<Span, StoreError> {
        self.span_row(num)
    }

    fn spans_of(&self, frame: FrameNum) -> Result<Vec<Span>, StoreError> {
        self.frame_spans(frame)
    }

    fn next_frame(&self) -> Result<FrameNum, StoreError> {
        self.next("frames").map(FrameNum)
    }

    fn next_span(&self) -> Result<SpanNum, StoreError> {
        self.next("spans").map(SpanNum)
    }

    fn next_pin(&self) -> Result<u64, StoreError> {
        self.next("pins")
    }
}

/// A condition on the status, spelled out as the partial index on open frames has it: SQLite takes that
/// index only where its own condition stands in the statement word for word.
fn is(status: Status) -> String {
    let open = "status IN ('planned', 'in_progress', 'blocked')";
    let covered = matches!(status, Status::Planned | Status::InProgress | Status::Blocked);
    let status = format!("status = '{}'", status.as_str());
    if covered { format!("{open} AND {status}") } else { status }
}

/// Numbers as one parameter, to be read with `json_each`.
pub(crate) fn json_list(nums: impl IntoIterator<Item = i64>) -> String {
    let listed: Vec<_> = nums.into_iter().map(|num| num.to_string()).collect();
    format!("[{}]", listed.join(","))
}

pub(crate) fn frame_num(num: i64) -> FrameNum {
    FrameNum(num.unsigned_abs())
}

fn pin_of(row: &Row<'_>) -> rusqlite::Result<Pin> {
    Ok(Pin { num: row.get::<_, i64>(0)?.unsigned_abs(), text: row.get(1)? })
}

fn frame_of(row: &Row<'_>) -> rusqlite::Result<Frame> {
    let status: String = row.get(4)?;
    let status: Status = status.parse().map_err(|error: String| {
        rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Text, error.into())
    })?;
    // The row keeps the reason while the invalidation is undone, for its redo.
    let reason: Option<String> = row.get(15)?;
    Ok(Frame {
        num: frame_num(row.get(0)?),
        id: row.get(1)?,
        parent: row.get::<_, Option<i64>>(2)?.map(frame_num),
        session: row.get(3)?,
        status,
        identity: Identity {
            title: row.get(5)?,
            success_criteria: row.get(6)?,
            success_criteria_compacted: row.get(7)?,
        },
        identity_derived: row.get(8)?,
        results: row.get(9)?,
        results_compacted: row.get(10)?,
        // A word of a newer version says as little as none.
        results_source: row.get::<_, Option<String>>(20)?.and_then(|word| word.parse().ok()),
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
        ended_at: row.get(13)?,
        artifacts: Vec::new(),
        decisions: Vec::new(),
        pins: Vec::new(),
        log_path: row.get(14)?,
        invalidation_reason: reason.filter(|_| status == Status::Invalidated),
        invalidated_at: row.get(16)?,
        depth: row.get(17)?,
        detached: row.get(18)?,
        consolidated: row.get::<_, Option<i64>>(19)?.map(frame_num),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    /// The cost of a statement must not depend on how many children a frame has.
    #[test]
    fn open_children_are_found_through_their_index() {
        let store = Store::in_memory().unwrap();
        for status in [Status::Planned, Status::InProgress, Status::Blocked] {
            let plan: String = store
                .read(|view| {
                    let query = format!(
                        "EXPLAIN QUERY PLAN {FRAME} WHERE parent IS ?1 AND {} AND detached = 0
                         ORDER BY ord LIMIT ?2",
                        is(status)
                    );
                    view.connection
                        .query_row(&query, params![1, 2], |row| row.get(3))
                        .map_err(|source| view.failed(source))
                })
                .unwrap();
            assert!(plan.contains("frames_open"), "{status}: {plan}");
        }
    }
}
