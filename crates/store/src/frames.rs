//! Reading frames, one by one and with those below and above them.

mod counts;
mod neighbourhood;
mod rows;
mod siblings;

use std::collections::BTreeSet;

use callstack_core::frame::{Frame, FrameNum, Pin, Status};
use rusqlite::{OptionalExtension as _, params};

use crate::error::StoreError;
use crate::project::sql;
use crate::store::View;

pub use counts::StatusCounts;
use rows::{FRAME, frame_of, is, pin_of};
pub(crate) use rows::{frame_num, json_list};
pub use siblings::{Beside, SiblingCandidates};

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

    /// Returns attached children in their order; those that another frame replaces are children of that one.
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

    /// The newest finished children of a frame in the order in which they came to be.
    pub fn newest_finished_children(
        &self,
        parent: FrameNum,
        limit: u32,
    ) -> Result<Vec<Frame>, StoreError> {
        let mut newest = self.wholes(
            &format!("{FRAME} WHERE parent = ?1 AND finished = 1 ORDER BY num DESC LIMIT ?2"),
            params![sql(parent), limit],
        )?;
        newest.reverse();
        Ok(newest)
    }

    /// Every attached frame, siblings in their order.
    pub fn all_frames(&self) -> Result<Vec<Frame>, StoreError> {
        self.wholes(&format!("{FRAME} WHERE detached = 0 ORDER BY ord"), [])
    }

    /// Passes the frames to `see` in their order, one at a time, without artifacts, decisions and pins.
    pub fn each_frame(&self, mut see: impl FnMut(Frame)) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(&format!("{FRAME} WHERE detached = 0 ORDER BY ord"))
            .and_then(|mut statement| {
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    see(frame_of(row)?);
                }
                Ok(())
            })
            .map_err(|source| self.failed(source))
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

    /// Whether a file with this content (SHA-256 in hex) is recorded for one of these frames: `since`, which ended at
    /// `ended` (milliseconds since 1970), a frame below it, one that ended then or later, or one that is not finished.
    pub fn is_left_since(
        &self,
        path: &str,
        hash: &str,
        since: FrameNum,
        ended: i64,
    ) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT EXISTS (
                   SELECT 1 FROM artifacts AS a JOIN frames AS f ON f.num = a.frame
                   WHERE a.path = ?1 AND a.hash = ?2 AND (
                     f.finished = 0 OR f.ended_at >= ?4 OR ?3 IN (
                       WITH RECURSIVE above(num) AS (
                         SELECT a.frame
                         UNION SELECT g.parent FROM frames AS g JOIN above AS u ON g.num = u.num
                       ) SELECT num FROM above)))",
            )
            .and_then(|mut statement| {
                statement.query_row(params![path, hash, sql(since), ended], |row| row.get(0))
            })
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

    /// Returns the frames that never ended in sessions that were only read from recordings.
    pub fn left_open(&self) -> Result<BTreeSet<FrameNum>, StoreError> {
        self.connection
            .prepare_cached(&format!(
                "SELECT num FROM frames WHERE {} AND detached = 0
                 AND session IN (SELECT id FROM sessions WHERE recorded = 1)",
                is(Status::InProgress)
            ))
            .and_then(|mut statement| {
                statement.query_map([], |row| Ok(frame_num(row.get(0)?)))?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// Returns the frame that was most recently made active, and still is, in any session that is worked in.
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
}
