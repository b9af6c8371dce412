//! The order of planned frames.

use callstack_core::frame::FrameNum;
use rusqlite::params;

use crate::error::StoreError;
use crate::project::sql;
use crate::store::View;

/// Puts a planned frame directly before a planned sibling: the places of the planned siblings are distributed again
/// among them.
pub(crate) fn order(view: &View<'_>, frame: FrameNum, before: FrameNum) -> Result<(), StoreError> {
    let planned: Vec<(i64, i64)> = view
        .connection
        .prepare_cached(
            "SELECT num, ord FROM frames WHERE status = 'planned' AND detached = 0
               AND parent IS (SELECT parent FROM frames WHERE num = ?1) ORDER BY ord",
        )
        .and_then(|mut statement| {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            statement.query_map([sql(frame)], row)?.collect()
        })
        .map_err(|source| view.failed(source))?;
    let mut nums: Vec<i64> = planned.iter().map(|(num, _)| *num).collect();
    nums.retain(|num| *num != sql(frame));
    let at = nums.iter().position(|num| *num == sql(before)).unwrap_or(nums.len());
    nums.insert(at, sql(frame));
    for (num, (_, ord)) in nums.iter().zip(&planned) {
        view.run("UPDATE frames SET ord = ?2 WHERE num = ?1", params![num, ord])?;
    }
    Ok(())
}
