//! A frame that turned out to be part of another one's work.

use callstack_core::frame::FrameNum;
use rusqlite::params;

use super::{ROOTS, Writer, sql};
use crate::error::StoreError;

impl Writer<'_, '_> {
    /// Puts an outermost frame, with all that is below it, below another one, as its last child.
    pub(super) fn place(&self, num: FrameNum, parent: FrameNum) -> Result<(), StoreError> {
        let frame = self.view.frame_row(num)?;
        let depth = self.view.frame_row(parent)?.depth + 1;
        self.run(
        "WITH RECURSIVE below(n) AS (
           VALUES (?1) UNION ALL SELECT frames.num FROM frames JOIN below ON frames.parent = below.n)
         UPDATE frames SET depth = depth + ?2 WHERE num IN below",
        params![sql(num), i64::from(depth) - i64::from(frame.depth)],
    )?;
        self.run(
            "UPDATE frames SET parent = ?2,
           position = (SELECT coalesce(sum(n), 0) + 1 FROM frame_counts WHERE parent = ?2)
         WHERE num = ?1",
            params![sql(num), sql(parent)],
        )?;
        self.run(
            "UPDATE frame_words SET parent = ?2 WHERE frame = ?1 AND parent = ?3",
            params![sql(num), sql(parent), frame.parent.map_or(ROOTS, sql)],
        )?;
        if frame.detached || frame.consolidated.is_some() {
            return Ok(());
        }
        self.count_in(frame.parent.map_or(ROOTS, sql), frame.status, -1)?;
        self.count_in(sql(parent), frame.status, 1)
    }
}
