//! An inverted index: for each term, the list of messages that contain it, split into segments (here called runs). A
//! run covers messages that were stored one after the other. New messages form a short run, and short runs are
//! gradually merged into longer ones, so that every write is short and a query still reads few runs.

mod lists;
mod merge;

use std::collections::{BTreeSet, HashSet};

use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::StoreError;
use crate::store::View;
use merge::{PACE, Pace};

/// The terms of a message: of each clause all terms of one of its sets.
pub(crate) type Clause = Vec<Vec<u32>>;

/// Terms that are no words have numbers from here on.
const MARKS: u32 = 1 << 31;
/// Bytes of lists that cost as much to read as a message.
const A_MESSAGE: usize = 6 * 1024;

/// Returns the number of a term that is a word, from the word's number in the store.
pub(crate) fn word(num: i64) -> u32 {
    // No store has two thousand million different words; if one had, some would share their lists.
    u32::try_from(num.rem_euclid(i64::from(MARKS))).unwrap_or_default()
}

/// The number of another term.
pub(crate) fn mark(hash: u64) -> u32 {
    u32::try_from((hash ^ (hash >> 32)) & u64::from(MARKS - 1)).unwrap_or_default() | MARKS
}

/// A part of the index: the terms of the messages from `first` to `last`.
#[derive(Clone, Debug)]
struct IndexSegment {
    num: i64,
    /// The number of merges that it comes from.
    level: i64,
    first: i64,
    last: i64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Whole,
    /// It is being written from others, up to a term.
    Unfinished(i64),
    /// All of it is in another one, too.
    Merged,
}

impl IndexSegment {
    /// Where its lists begin, in the order of all.
    fn begin(&self) -> i64 {
        self.num << 32
    }

    fn end(&self) -> i64 {
        self.at(u32::MAX)
    }

    fn at(&self, term: u32) -> i64 {
        self.begin() | i64::from(term)
    }

    fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    /// The number of messages that it may cover.
    fn messages(&self) -> usize {
        usize::try_from(self.last - self.first).unwrap_or_default() + 1
    }
}

/// The term of a place in the order of all.
fn term_at(at: i64) -> u32 {
    u32::try_from(at & i64::from(u32::MAX)).unwrap_or_default()
}

impl View<'_> {
    /// Adds messages to the index, which are newer than all that it has and come in order, each with its terms; then
    /// continues merging.
    pub(crate) fn keep_postings(
        &self,
        messages: impl IntoIterator<Item = (i64, Vec<u32>)>,
    ) -> Result<(), StoreError> {
        self.keep_at(messages, PACE)
    }

    fn keep_at(
        &self,
        messages: impl IntoIterator<Item = (i64, Vec<u32>)>,
        pace: Pace,
    ) -> Result<(), StoreError> {
        let mut messages = messages.into_iter().peekable();
        let Some((first, _)) = messages.peek() else { return Ok(()) };
        let (first, mut newest) = (*first, *first);
        let mut held = Vec::new();
        for (message, terms) in messages {
            newest = message;
            held.extend(terms.into_iter().map(|term| (term, message)));
        }
        held.sort_unstable();
        held.dedup();
        let run = self.new_run(0, first, newest, State::Whole)?;
        let mut written = 0;
        let mut row = lists::Row::default();
        let mut list = lists::List::default();
        for messages in held.chunk_by(|a, b| a.0 == b.0) {
            list.clear();
            for (_, message) in messages {
                list.push(message.abs_diff(first));
            }
            let term = messages.first().map_or(0, |(term, _)| *term);
            if let Some(full) = row.put(term, list.bytes()) {
                written += self.write_row(&run, &full)?;
            }
        }
        written += self.write_row(&run, &row)?;
        self.merge(written, pace)
    }

    /// Passes the messages that match to `see`, the newest first, until it returns false; also some that have only
    /// the rarest terms, where these are so few that a check would cost more. Returns whether it did.
    pub(crate) fn holding<E: From<StoreError>>(
        &self,
        wanted: &[Clause],
        mut see: impl FnMut(i64) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let mut runs = self.runs()?;
        runs.retain(IndexSegment::is_whole);
        let wanted = self.rarest_first(&runs, wanted)?;
        for run in &runs {
            for place in self.holding_in(run, &wanted)?.into_iter().rev() {
                if !see(run.first.saturating_add_unsigned(place))? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns the clauses in the order in which each leaves the fewest messages for the next, with the bytes of
    /// their lists for each thousand messages in the longest run.
    fn rarest_first<'w>(
        &self,
        runs: &[IndexSegment],
        wanted: &'w [Clause],
    ) -> Result<Vec<(usize, &'w Clause)>, StoreError> {
        let longest = runs.iter().max_by_key(|run| run.messages()).filter(|_| wanted.len() > 1);
        let mut ordered = Vec::new();
        for clause in wanted {
            let mut size = 0;
            for (run, terms) in
                longest.iter().flat_map(|run| clause.iter().map(move |it| (run, it)))
            {
                let mut sizes = Vec::new();
                for term in terms {
                    sizes.push(self.size_of(run, *term)?);
                }
                size += sizes.into_iter().min().unwrap_or_default() * 1_000 / run.messages();
            }
            ordered.push((size, clause));
        }
        ordered.sort_by_key(|(size, _)| *size);
        Ok(ordered)
    }

    fn holding_in(
        &self,
        run: &IndexSegment,
        wanted: &[(usize, &Clause)],
    ) -> Result<Vec<u64>, StoreError> {
        let mut found: Option<Vec<u64>> = None;
        for (size, clause) in wanted {
            let bytes = size * run.messages() / 1_000;
            if found.as_ref().is_some_and(|found| found.len() * A_MESSAGE < bytes) {
                break;
            }
            let mut either = Vec::new();
            for terms in *clause {
                let Some(lists) = self.lists_of(run, terms)? else { continue };
                let mut lists = lists.iter();
                let mut of_set = match &found {
                    Some(found) => found.clone(),
                    None => {
                        lists.next().map(|list| lists::places(list).collect()).unwrap_or_default()
                    }
                };
                lists.for_each(|list| lists::keep(list, &mut of_set));
                either.append(&mut of_set);
            }
            if either.is_empty() {
                return Ok(either);
            }
            if clause.len() > 1 {
                either.sort_unstable();
                either.dedup();
            }
            found = Some(either);
        }
        Ok(found.unwrap_or_default())
    }

    /// Returns about how many bytes the list of a term has in a run, without reading a long list.
    fn size_of(&self, run: &IndexSegment, term: u32) -> Result<usize, StoreError> {
        let long = self
            .connection
            .prepare_cached("SELECT length(lists) FROM postings WHERE at = ?1")
            .and_then(|mut statement| {
                statement.query_row([run.at(term)], |row| row.get::<_, i64>(0)).optional()
            })
            .map_err(|source| self.failed(source))?;
        match long.and_then(|long| usize::try_from(long).ok()) {
            Some(long) if long > lists::ROW => Ok(long),
            _ => Ok(self.list_of(run, term)?.map_or(0, |list| list.len())),
        }
    }

    /// The lists of some terms in a run, the shortest first; none where one of the terms stands nowhere in it.
    fn lists_of(
        &self,
        run: &IndexSegment,
        terms: &[u32],
    ) -> Result<Option<Vec<Vec<u8>>>, StoreError> {
        let mut found = Vec::new();
        for term in terms {
            let Some(list) = self.list_of(run, *term)? else { return Ok(None) };
            found.push(list);
        }
        found.sort_by_key(Vec::len);
        Ok(Some(found))
    }

    fn list_of(&self, run: &IndexSegment, term: u32) -> Result<Option<Vec<u8>>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT at, lists FROM postings WHERE at BETWEEN ?1 AND ?2 ORDER BY at DESC LIMIT 1",
            )
            .and_then(|mut statement| {
                let in_row = |row: &Row<'_>| {
                    let first = term_at(row.get(0)?);
                    let row = row.get_ref(1)?.as_blob()?;
                    let list = lists::lists(first, row).find(|(other, _)| *other >= term);
                    Ok(list.filter(|(other, _)| *other == term).map(|(_, list)| list.to_vec()))
                };
                statement.query_row([run.begin(), run.at(term)], in_row).optional()
            })
            .map(Option::flatten)
            .map_err(|source| self.failed(source))
    }

    /// Forgets messages.
    pub(crate) fn forget_postings(&self, messages: &BTreeSet<i64>) -> Result<(), StoreError> {
        for run in self.runs()? {
            if messages.range(run.first..=run.last).next().is_some() {
                self.forget_in(&run, messages)?;
            }
        }
        Ok(())
    }

    fn forget_in(&self, run: &IndexSegment, messages: &BTreeSet<i64>) -> Result<(), StoreError> {
        self.each_row(run, |at, bytes| {
            let mut left = lists::Row::default();
            let mut list = lists::List::default();
            for (term, places) in lists::lists(term_at(at), bytes) {
                list.clear();
                for place in lists::places(places) {
                    if !messages.contains(&run.first.saturating_add_unsigned(place)) {
                        list.push(place);
                    }
                }
                if !list.bytes().is_empty() {
                    // It takes less room than the earlier list in the row.
                    left.put(term, list.bytes());
                }
            }
            if left.bytes() != bytes {
                self.run("DELETE FROM postings WHERE at = ?1", [at])?;
                self.write_row(run, &left)?;
            }
            Ok(())
        })
    }

    /// All terms that the index knows.
    pub(crate) fn known_terms(&self) -> Result<HashSet<u32>, StoreError> {
        let mut terms = HashSet::new();
        for run in self.runs()?.iter().filter(|run| run.is_whole()) {
            self.each_row(run, |at, bytes| {
                terms.extend(lists::lists(term_at(at), bytes).map(|(term, _)| term));
                Ok(())
            })?;
        }
        Ok(terms)
    }

    /// Calls `see` with the rows of a run, each as it is at that moment.
    fn each_row(
        &self,
        run: &IndexSegment,
        mut see: impl FnMut(i64, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut from = run.begin();
        while let Some((at, bytes)) = self.row_from(from, run.end())? {
            see(at, &bytes)?;
            from = at + 1;
        }
        Ok(())
    }

    fn row_from(&self, from: i64, end: i64) -> Result<Option<(i64, Vec<u8>)>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT at, lists FROM postings WHERE at BETWEEN ?1 AND ?2 ORDER BY at LIMIT 1",
            )
            .and_then(|mut statement| {
                let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
                statement.query_row([from, end], row).optional()
            })
            .map_err(|source| self.failed(source))
    }

    /// All runs, those of the newest messages first.
    fn runs(&self) -> Result<Vec<IndexSegment>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT num, level, first, last, upto, is_merged FROM runs ORDER BY first DESC, num DESC",
            )
            .and_then(|mut statement| statement.query_map([], run_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    fn new_run(
        &self,
        level: i64,
        first: i64,
        last: i64,
        state: State,
    ) -> Result<IndexSegment, StoreError> {
        let upto = match state {
            State::Unfinished(upto) => Some(upto),
            State::Whole | State::Merged => None,
        };
        let num = self
            .connection
            .prepare_cached(
                "INSERT INTO runs (level, first, last, upto) VALUES (?1, ?2, ?3, ?4) RETURNING num",
            )
            .and_then(|mut insert| {
                insert.query_row(params![level, first, last, upto], |row| row.get(0))
            })
            .map_err(|source| self.failed(source))?;
        Ok(IndexSegment { num, level, first, last, state })
    }

    /// Writes a row, if there is anything in it, and returns its bytes.
    fn write_row(&self, run: &IndexSegment, row: &lists::Row) -> Result<usize, StoreError> {
        if !row.is_empty() {
            self.run(
                "INSERT INTO postings (at, lists) VALUES (?1, ?2)",
                params![run.at(row.first()), row.bytes()],
            )?;
        }
        Ok(row.bytes().len())
    }
}

fn run_of(row: &Row<'_>) -> rusqlite::Result<IndexSegment> {
    let upto: Option<i64> = row.get(4)?;
    let state = match (row.get(5)?, upto) {
        (true, _) => State::Merged,
        (false, Some(upto)) => State::Unfinished(upto),
        (false, None) => State::Whole,
    };
    let (num, level, first, last) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
    Ok(IndexSegment { num, level, first, last, state })
}

#[cfg(test)]
#[path = "postings_tests.rs"]
mod tests;
