//! Rows of frames, and the rows that belong to them.

use std::collections::HashMap;

use callstack_core::frame::{Artifact, Frame, FrameNum, Identity, Pin, Status};
use rusqlite::{Params, Row};

use crate::error::StoreError;
use crate::project::sql;
use crate::store::View;

pub(super) const FRAME: &str =
    "SELECT num, id, parent, session, status, title, criteria, criteria_compacted,
  identity_derived, results, results_compacted, created_at, updated_at, ended_at, log_path, reason,
  invalidated_at, depth, detached, consolidated, results_source, begun_at FROM frames";

impl View<'_> {
    pub(super) fn whole(&self, mut frame: Frame) -> Result<Frame, StoreError> {
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

    pub(super) fn wholes(
        &self,
        query: &str,
        params: impl Params,
    ) -> Result<Vec<Frame>, StoreError> {
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
}

/// Returns a condition on the status, spelled as in the partial index on open frames: SQLite uses that index only if
/// the statement contains its condition word for word.
pub(super) fn is(status: Status) -> String {
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

pub(super) fn pin_of(row: &Row<'_>) -> rusqlite::Result<Pin> {
    Ok(Pin { num: row.get::<_, i64>(0)?.unsigned_abs(), text: row.get(1)? })
}

pub(super) fn frame_of(row: &Row<'_>) -> rusqlite::Result<Frame> {
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
        begun_at: row.get(21)?,
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
    use rusqlite::params;

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
