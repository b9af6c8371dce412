//! Numbers of frames by status.

use std::collections::BTreeMap;

use callstack_core::frame::{FrameNum, Status};
use rusqlite::{Params, params};

use crate::error::StoreError;
use crate::project::{ROOTS, WHOLE, sql};
use crate::store::View;

/// The number of frames of each status.
pub type StatusCounts = BTreeMap<Status, u64>;

impl View<'_> {
    /// Returns the number of attached children of a frame, or of roots, by status.
    pub fn counts(&self, parent: Option<FrameNum>) -> Result<StatusCounts, StoreError> {
        self.counted(parent.map_or(ROOTS, sql))
    }

    /// Returns the number of attached frames in the store, by status.
    pub fn all_counts(&self) -> Result<StatusCounts, StoreError> {
        self.counted(WHOLE)
    }

    /// Returns the number of attached roots of sessions that were only read from recordings, by status, without the
    /// session `but`.
    pub(super) fn recorded_roots(&self, but: Option<&str>) -> Result<StatusCounts, StoreError> {
        self.grouped(
            "SELECT f.status, count(*) FROM sessions AS s JOIN frames AS f ON f.num = s.root
             WHERE s.recorded = 1 AND s.id IS NOT ?1 AND f.session = s.id AND f.parent IS NULL
             AND f.detached = 0 AND f.consolidated IS NULL GROUP BY f.status",
            params![but],
        )
    }

    fn counted(&self, parent: i64) -> Result<StatusCounts, StoreError> {
        self.grouped(
            "SELECT status, n FROM frame_counts WHERE parent = ?1 AND n > 0",
            params![parent],
        )
    }

    fn grouped(&self, query: &str, params: impl Params) -> Result<StatusCounts, StoreError> {
        let rows: Vec<(String, i64)> = self
            .connection
            .prepare_cached(query)
            .and_then(|mut statement| {
                statement.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        Ok(rows
            .into_iter()
            .filter_map(|(status, n)| Some((status.parse().ok()?, n.unsigned_abs())))
            .collect())
    }
}
