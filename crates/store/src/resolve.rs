//! Resolves references that people type.

use callstack_core::frame::{Frame, FrameNum};
use rusqlite::params;

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::store::View;

/// Candidates that an ambiguity names.
const NAMED: usize = 5;
/// Frames that are suggested by their titles.
const SUGGESTED: i64 = 3;

impl View<'_> {
    /// The frame that a reference means: a handle, an id, a former id, or any unique prefix of these.
    /// An exact match wins over one with the same beginning.
    pub fn resolve(&self, reference: &str) -> Result<Frame, StoreError> {
        let reference = reference.trim();
        let mut found = self.exact(reference)?;
        if found.is_empty() {
            found = self.beginning_with(reference)?;
        }
        match found.as_slice() {
            [] => Err(StoreError::NoFrame(reference.to_owned())),
            [num] => self.frame(*num),
            several => {
                let candidates = several
                    .iter()
                    .take(NAMED)
                    .map(|num| {
                        let frame = self.frame_row(*num)?;
                        Ok((frame.num, frame.id, frame.identity.title))
                    })
                    .collect::<Result<_, StoreError>>()?;
                let more = several.len() > NAMED;
                Err(StoreError::Ambiguous { reference: reference.to_owned(), candidates, more })
            }
        }
    }

    /// Returns frames that may have been meant by a reference that names none, with their titles: the one with this
    /// number, else the newest with these words in their titles.
    pub fn near(&self, reference: &str) -> Result<Vec<(FrameNum, String)>, StoreError> {
        let reference = reference.trim();
        if let Ok(num) = reference.trim_start_matches(['#', 'f', 'F']).parse().map(FrameNum) {
            return match self.frame_row(num) {
                Ok(frame) => Ok(vec![(num, frame.identity.title)]),
                Err(StoreError::NoFrame(_)) => Ok(Vec::new()),
                Err(error) => Err(error),
            };
        }
        if reference.is_empty() {
            return Ok(Vec::new());
        }
        self.connection
            .prepare_cached(
                "SELECT num, title FROM frames
                 WHERE detached = 0 AND instr(lower(title), lower(?1)) > 0 ORDER BY num DESC LIMIT ?2",
            )
            .and_then(|mut statement| {
                statement
                    .query_map(params![reference, SUGGESTED], |row| {
                        Ok((frame_num(row.get(0)?), row.get(1)?))
                    })?
                    .collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// The frame that an id or a former id means.
    pub(crate) fn by_id(&self, id: &str) -> Result<Option<FrameNum>, StoreError> {
        let found = self.nums(
            "SELECT num FROM frames WHERE id = ?1 UNION SELECT frame FROM aliases WHERE alias = ?1",
            id,
            id,
        )?;
        Ok(found.first().copied())
    }

    fn exact(&self, reference: &str) -> Result<Vec<FrameNum>, StoreError> {
        if let Ok(num) = reference.parse::<FrameNum>() {
            return match self.frame_row(num) {
                Ok(frame) => Ok(vec![frame.num]),
                Err(StoreError::NoFrame(_)) => Ok(Vec::new()),
                Err(error) => Err(error),
            };
        }
        self.nums(
            "SELECT num FROM frames WHERE id = ?1
             UNION SELECT frame FROM aliases WHERE alias = ?1",
            reference,
            reference,
        )
    }

    fn beginning_with(&self, reference: &str) -> Result<Vec<FrameNum>, StoreError> {
        if reference.is_empty() {
            return Ok(Vec::new());
        }
        // Every handle begins with `f`, whatever the ids begin with.
        if reference == "f" {
            return self.nums("SELECT num FROM frames WHERE id > ?1 ORDER BY num LIMIT 6", "", "");
        }
        if let Ok(FrameNum(digits)) = reference.parse::<FrameNum>() {
            return self.handles_beginning_with(digits);
        }
        // The highest character ends the range of all texts with this beginning.
        let end = format!("{reference}\u{10ffff}");
        self.nums(
            "SELECT num FROM frames WHERE id >= ?1 AND id < ?2
             UNION SELECT frame FROM aliases WHERE alias >= ?1 AND alias < ?2 LIMIT 6",
            reference,
            &end,
        )
    }

    fn handles_beginning_with(&self, digits: u64) -> Result<Vec<FrameNum>, StoreError> {
        let mut found = Vec::new();
        // Handles are written without leading zeros.
        if digits == 0 {
            return Ok(found);
        }
        let (mut low, mut high) = (digits, digits);
        while found.len() <= NAMED && high < i64::MAX.unsigned_abs() / 10 {
            low *= 10;
            high = high * 10 + 9;
            let nums: Vec<i64> = self
                .connection
                .prepare_cached("SELECT num FROM frames WHERE num BETWEEN ?1 AND ?2 LIMIT 6")
                .and_then(|mut statement| {
                    statement
                        .query_map(
                            params![crate::project::signed(low), crate::project::signed(high)],
                            |row| row.get(0),
                        )?
                        .collect()
                })
                .map_err(|source| self.failed(source))?;
            found.extend(nums.into_iter().map(frame_num));
        }
        Ok(found)
    }

    fn nums(&self, query: &str, from: &str, to: &str) -> Result<Vec<FrameNum>, StoreError> {
        let both = query.contains("?2");
        self.connection
            .prepare_cached(query)
            .and_then(|mut statement| {
                let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0).map(frame_num);
                if both {
                    statement.query_map(params![from, to], read)?.collect()
                } else {
                    statement.query_map(params![from], read)?.collect()
                }
            })
            .map_err(|source| self.failed(source))
    }
}
