//! Merging runs: a little with each change that adds one, so that no change is long. Runs that are being merged are
//! still read until the merged run is complete.

use rusqlite::params;

use super::lists::{self, List, Row};
use super::{IndexSegment, State, term_at};
use crate::error::StoreError;
use crate::store::View;

/// So many runs become one.
const PARTS: usize = 4;

/// The amount of merging in one change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Runs of so many messages are not merged further: the newest messages are wanted first, and lists of a long run
    /// are read whole.
    pub(super) long: i64,
    /// The fewest bytes that are written before a merge is left for the next time.
    pub(super) least: usize,
}

pub(super) const PACE: Pace = Pace { long: 16_384, least: 32 * 1024 };

impl View<'_> {
    /// Does the merges that are due, for an index that has grown by some bytes: twice as much on each level, so that
    /// no level falls behind the others.
    pub(super) fn merge(&self, grown: usize, pace: Pace) -> Result<(), StoreError> {
        let bytes = (2 * grown).max(pace.least);
        for level in 0.. {
            let runs = self.runs()?;
            if runs.iter().all(|run| run.level < level) {
                return Ok(());
            }
            self.remove_merged(level, &runs, bytes)?;
            let is_begun = |run: &&IndexSegment| {
                run.level == level + 1 && matches!(run.state, State::Unfinished(_))
            };
            let begun = runs.iter().find(is_begun);
            let parts = match begun {
                Some(begun) => parts_of(begun, &runs),
                None => due(level, &runs, pace.long),
            };
            let [first, .., last] = &parts[..] else { continue };
            let run = match begun {
                Some(begun) => begun.clone(),
                None => self.new_run(level + 1, first.first, last.last, State::Unfinished(-1))?,
            };
            self.go_on(&run, &parts, bytes)?;
        }
        Ok(())
    }

    /// Continues to write a run from its parts, up to some bytes.
    fn go_on(
        &self,
        run: &IndexSegment,
        parts: &[IndexSegment],
        bytes: usize,
    ) -> Result<(), StoreError> {
        let State::Unfinished(upto) = run.state else { return Ok(()) };
        let mut heads = Vec::new();
        for part in parts {
            heads.extend(Head::after(self, part, upto)?);
        }
        let mut row = Row::default();
        let mut list = List::default();
        let mut written = 0;
        while let Some(term) = heads.iter().map(|head| head.term).min() {
            list.clear();
            for head in heads.iter_mut().filter(|head| head.term == term) {
                let shift = head.first.abs_diff(run.first);
                let places = lists::places(&head.list);
                places.for_each(|place| list.push(shift + place));
                head.advance(self)?;
            }
            heads.retain(|head| !head.is_over);
            let Some(full) = row.put(term, list.bytes()) else { continue };
            written += self.write_row(run, &full)?;
            if written >= bytes {
                // The lists at the beginning of the next row come again the next time.
                return self.run(
                    "UPDATE runs SET upto = ?2 WHERE num = ?1",
                    params![run.num, full.last()],
                );
            }
        }
        self.write_row(run, &row)?;
        self.run("UPDATE runs SET upto = NULL WHERE num = ?1", [run.num])?;
        for part in parts {
            self.run("UPDATE runs SET is_merged = TRUE WHERE num = ?1", [part.num])?;
        }
        Ok(())
    }

    /// Removes merged runs of a level, a few rows for each row that is written.
    fn remove_merged(
        &self,
        level: i64,
        runs: &[IndexSegment],
        bytes: usize,
    ) -> Result<(), StoreError> {
        let mut left = 4 * bytes.div_ceil(lists::ROW);
        let is_merged = |run: &&IndexSegment| run.level == level && run.state == State::Merged;
        for run in runs.iter().filter(is_merged) {
            let limit = i64::try_from(left).unwrap_or(i64::MAX);
            let removed = self
                .connection
                .prepare_cached(
                    "DELETE FROM postings WHERE at IN
                       (SELECT at FROM postings WHERE at BETWEEN ?1 AND ?2 LIMIT ?3)",
                )
                .and_then(|mut delete| delete.execute([run.begin(), run.end(), limit]))
                .map_err(|source| self.failed(source))?;
            left = left.saturating_sub(removed);
            if left == 0 {
                break;
            }
            self.run("DELETE FROM runs WHERE num = ?1", [run.num])?;
        }
        Ok(())
    }
}

/// Returns the runs from which a begun run is written, the oldest first.
fn parts_of(begun: &IndexSegment, runs: &[IndexSegment]) -> Vec<IndexSegment> {
    let is_part =
        |run: &&IndexSegment| run.is_whole() && run.level + 1 == begun.level && begun.covers(run);
    runs.iter().rev().filter(is_part).cloned().collect()
}

/// The oldest runs of a level that are to become one, the oldest first; none while they are too few. They
/// follow each other, so that no run knows messages from between those of another.
fn due(level: i64, runs: &[IndexSegment], long: i64) -> Vec<IndexSegment> {
    let mut parts: Vec<IndexSegment> = Vec::new();
    for run in runs.iter().rev().filter(|run| run.is_whole() && run.level == level) {
        if run.last - run.first >= long {
            parts.clear();
        } else {
            parts.push(run.clone());
        }
        if parts.len() == PARTS {
            return parts;
        }
    }
    Vec::new()
}

impl IndexSegment {
    fn covers(&self, other: &Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// The list of a run that comes next.
struct Head {
    first: i64,
    end: i64,
    /// The row that it is in, and the rest of that.
    at: i64,
    row: Vec<u8>,
    begins: usize,
    term: u32,
    list: Vec<u8>,
    is_over: bool,
}

impl Head {
    /// Returns the first row after a term; none where there is none.
    fn after(view: &View<'_>, run: &IndexSegment, upto: i64) -> Result<Option<Self>, StoreError> {
        let from = view.row_before(run, upto)?;
        let mut head = Self {
            first: run.first,
            end: run.end(),
            at: from - 1,
            row: Vec::new(),
            begins: 0,
            term: 0,
            list: Vec::new(),
            is_over: false,
        };
        head.advance(view)?;
        while !head.is_over && i64::from(head.term) <= upto {
            head.advance(view)?;
        }
        Ok((!head.is_over).then_some(head))
    }

    fn advance(&mut self, view: &View<'_>) -> Result<(), StoreError> {
        if self.begins >= self.row.len() {
            let Some((at, row)) = view.row_from(self.at + 1, self.end)? else {
                self.is_over = true;
                return Ok(());
            };
            (self.at, self.row, self.begins, self.term) = (at, row, 0, term_at(at));
        }
        let rest = self.row.get(self.begins..).unwrap_or_default();
        let Some((term, list, rest)) = lists::next(rest, self.term) else {
            // A row that ends too early; the next one is intact.
            self.begins = self.row.len();
            return self.advance(view);
        };
        self.term = term;
        self.list.clear();
        self.list.extend_from_slice(list);
        self.begins = self.row.len() - rest.len();
        Ok(())
    }
}

impl View<'_> {
    /// Where the row begins in which a term would stand.
    fn row_before(&self, run: &IndexSegment, term: i64) -> Result<i64, StoreError> {
        let Ok(term) = u32::try_from(term) else { return Ok(run.begin()) };
        self.connection
            .prepare_cached("SELECT max(at) FROM postings WHERE at BETWEEN ?1 AND ?2")
            .and_then(|mut statement| {
                statement.query_row([run.begin(), run.at(term)], |row| row.get(0))
            })
            .map(|at: Option<i64>| at.unwrap_or_else(|| run.begin()))
            .map_err(|source| self.failed(source))
    }
}
