//! How many frames there are of each status.

use std::collections::BTreeMap;

use callstack_core::frame::{FrameNum, Status};

use crate::error::StoreError;
use crate::project::{ROOTS, WHOLE, sql};
use crate::store::View;

/// How many frames of each status there are.
pub type StatusCounts = BTreeMap<Status, u64>;

impl View<'_> {
    /// How many attached children of each status a frame has, or how many roots.
    pub fn counts(&self, parent: Option<FrameNum>) -> Result<StatusCounts, StoreError> {
        self.counted(parent.map_or(ROOTS, sql))
    }

    /// How many attached frames of each status there are in the store.
    pub fn all_counts(&self) -> Result<StatusCounts, StoreError> {
        self.counted(WHOLE)
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
}
