//! The place of a frame among its siblings, and the siblings that a context may choose from.

use callstack_core::frame::{Frame, FrameNum};
use rusqlite::{Params, params};

use super::rows::{FRAME, json_list};
use crate::error::StoreError;
use crate::project::{ROOTS, sql};
use crate::store::View;

use super::StatusCounts;

/// The condition under which a frame of the table `frames` is beside another one; ?3 is that one's
/// session.
fn among(frame: &Frame, beside: Beside) -> &'static str {
    match (frame.parent, beside) {
        (None, Beside::Worked) => {
            "(session IS NULL OR session IS ?3 OR NOT EXISTS (
               SELECT 1 FROM sessions WHERE id = frames.session AND recorded = 1))"
        }
        _ => "TRUE",
    }
}

/// The roots that count as siblings. All children of a frame do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Those of other sessions that were only read from recordings, too.
    All,
    /// Only those that were worked in here, and those of the frame's own session.
    Worked,
}

/// Finished siblings that a context may choose from.
#[derive(Debug, Clone, Default)]
pub struct SiblingCandidates {
    /// The frames, the one that ended last first.
    pub frames: Vec<Frame>,
    /// Finished siblings in all.
    pub total: u64,
}

impl View<'_> {
    /// The place of a frame among its siblings, from 1, as they came to be.
    pub fn position(&self, num: FrameNum) -> Result<u64, StoreError> {
        self.connection
            .prepare_cached("SELECT position FROM frames WHERE num = ?1")
            .and_then(|mut statement| statement.query_row([sql(num)], |row| row.get::<_, i64>(0)))
            .map(i64::unsigned_abs)
            .map_err(|source| self.failed(source))
    }

    /// Returns finished siblings that may be relevant: the newest `newest`, and for each of `words` the newest
    /// `a_word` that match it. The cost depends only on these numbers and, among roots, on the number of recorded
    /// ones.
    pub fn sibling_candidates(
        &self,
        frame: &Frame,
        words: &[String],
        newest: u32,
        a_word: u32,
        beside: Beside,
    ) -> Result<SiblingCandidates, StoreError> {
        let (own, other) = (frame.session.as_deref(), among(frame, beside));
        let mut nums: Vec<i64> = self.numbers(
            &format!(
                "SELECT num FROM frames WHERE parent IS ?1 AND finished = 1 AND num <> ?2
                 AND {other} ORDER BY ended_at DESC LIMIT ?4"
            ),
            params![frame.parent.map(sql), sql(frame.num), own, newest],
        )?;
        for word in words {
            nums.extend(self.numbers(
                &format!(
                    "SELECT frame FROM frame_words WHERE parent = ?1 AND word = ?2
                     AND EXISTS (SELECT 1 FROM frames WHERE num = frame_words.frame AND {other})
                     ORDER BY frame DESC LIMIT ?4"
                ),
                params![frame.parent.map_or(ROOTS, sql), word, own, a_word],
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
            .counts_beside(frame, beside)?
            .into_iter()
            .filter(|(status, _)| status.is_finished())
            .map(|(_, count)| count)
            .sum::<u64>()
            .saturating_sub(u64::from(frame.status.is_finished()));
        Ok(SiblingCandidates { frames, total })
    }

    /// Returns the number of attached frames beside a frame, by status, itself included.
    pub fn counts_beside(&self, frame: &Frame, beside: Beside) -> Result<StatusCounts, StoreError> {
        let mut counts = self.counts(frame.parent)?;
        if frame.parent.is_none() && beside == Beside::Worked {
            for (status, count) in self.recorded_roots(frame.session.as_deref())? {
                let found = counts.entry(status).or_default();
                *found = found.saturating_sub(count);
            }
        }
        Ok(counts)
    }

    fn numbers(&self, query: &str, params: impl Params) -> Result<Vec<i64>, StoreError> {
        self.connection
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_map(params, |row| row.get(0))?.collect())
            .map_err(|source| self.failed(source))
    }
}
