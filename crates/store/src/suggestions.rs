//! Suggestions and their outcomes.

use callstack_core::autonomy::{Heuristic, Suggestion, SuggestionEnd};
use callstack_core::frame::FrameNum;
use rusqlite::types::Type;
use rusqlite::{OptionalExtension as _, Params, Row, params};

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::project::{signed, sql};
use crate::store::View;

const SUGGESTION: &str = "SELECT num, session, frame, heuristic, confidence, subject, reason,
  created_at, expires_at, outcome, ended_at FROM suggestions";

/// A suggestion with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSuggestion {
    /// The suggestion.
    pub suggestion: Suggestion,
    /// Its end, as of the time that was asked for; none while it waits.
    pub end: Option<SuggestionEnd>,
    /// The time of its end; milliseconds since 1970.
    pub ended_at: Option<i64>,
}

/// The numbers of a heuristic's suggestions by their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuggestionCounts {
    /// Waiting.
    pub pending: u64,
    /// Followed by a push or pop in time.
    pub acted_on: u64,
    /// Followed by nothing.
    pub expired: u64,
    /// Cleared.
    pub cleared: u64,
}

impl SuggestionCounts {
    /// All of them.
    pub fn made(&self) -> u64 {
        self.pending + self.acted_on + self.expired + self.cleared
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            pending: self.pending + other.pending,
            acted_on: self.acted_on + other.acted_on,
            expired: self.expired + other.expired,
            cleared: self.cleared + other.cleared,
        }
    }
}

pub(crate) fn add(view: &View<'_>, suggestion: &Suggestion) -> Result<(), StoreError> {
    view.run(
        "INSERT INTO suggestions (num, session, frame, heuristic, confidence, subject, reason,
           created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            signed(suggestion.num),
            suggestion.session,
            sql(suggestion.frame),
            suggestion.heuristic.as_str(),
            suggestion.confidence,
            suggestion.subject,
            suggestion.reason,
            suggestion.created_at,
            suggestion.expires_at
        ],
    )
}

pub(crate) fn end(
    view: &View<'_>,
    num: u64,
    end: SuggestionEnd,
    at: i64,
) -> Result<(), StoreError> {
    view.run(
        "UPDATE suggestions SET outcome = ?2, ended_at = ?3 WHERE num = ?1",
        params![signed(num), end.as_str(), at],
    )
}

impl View<'_> {
    /// The number that the next suggestion gets.
    pub fn next_suggestion(&self) -> Result<u64, StoreError> {
        self.connection
            .prepare_cached("SELECT coalesce(max(num), 0) + 1 FROM suggestions")
            .and_then(|mut select| select.query_row([], |row| row.get::<_, i64>(0)))
            .map(i64::unsigned_abs)
            .map_err(|source| self.failed(source))
    }

    /// The suggestions about a frame that were made after a time (milliseconds since 1970), oldest first; those that
    /// have expired at `now` are marked.
    pub fn frame_suggestions(
        &self,
        frame: FrameNum,
        after: i64,
        now: i64,
    ) -> Result<Vec<StoredSuggestion>, StoreError> {
        self.suggestions(
            &format!("{SUGGESTION} WHERE frame = ?1 AND created_at > ?2 ORDER BY num"),
            params![sql(frame), after],
            now,
        )
    }

    /// The newest suggestions, of a session or of all, newest first; those that have expired at `now` are marked.
    pub fn newest_suggestions(
        &self,
        session: Option<&str>,
        limit: u32,
        now: i64,
    ) -> Result<Vec<StoredSuggestion>, StoreError> {
        match session {
            Some(session) => self.suggestions(
                &format!("{SUGGESTION} WHERE session = ?1 ORDER BY num DESC LIMIT ?2"),
                params![session, limit],
                now,
            ),
            None => self.suggestions(
                &format!("{SUGGESTION} ORDER BY num DESC LIMIT ?1"),
                params![limit],
                now,
            ),
        }
    }

    /// The suggestions of a session that wait at a time (milliseconds since 1970), oldest first.
    pub fn pending_suggestions(
        &self,
        session: &str,
        now: i64,
    ) -> Result<Vec<Suggestion>, StoreError> {
        let waiting = self.suggestions(
            &format!(
                "{SUGGESTION} WHERE session = ?1 AND outcome IS NULL AND expires_at > ?2 ORDER BY num"
            ),
            params![session, now],
            now,
        )?;
        Ok(waiting.into_iter().map(|stored| stored.suggestion).collect())
    }

    /// A suggestion by its number.
    pub fn suggestion(&self, num: u64, now: i64) -> Result<Option<StoredSuggestion>, StoreError> {
        self.connection
            .prepare_cached(&format!("{SUGGESTION} WHERE num = ?1"))
            .and_then(|mut select| {
                select.query_row([signed(num)], |row| stored(row, now)).optional()
            })
            .map_err(|source| self.failed(source))
    }

    /// Returns the outcomes of all suggestions until a time (milliseconds since 1970), by heuristic.
    pub fn suggestion_counts(
        &self,
        now: i64,
    ) -> Result<Vec<(Heuristic, SuggestionCounts)>, StoreError> {
        let rows: Vec<(String, SuggestionCounts)> = self
            .connection
            .prepare_cached(
                "SELECT heuristic,
                   sum(outcome IS NULL AND expires_at > ?1),
                   sum(outcome IS 'acted_on'),
                   sum(outcome IS 'expired' OR (outcome IS NULL AND expires_at <= ?1)),
                   sum(outcome IS 'cleared')
                 FROM suggestions GROUP BY heuristic",
            )
            .and_then(|mut select| {
                let count = |row: &Row<'_>, at| row.get::<_, i64>(at).map(i64::unsigned_abs);
                select
                    .query_map([now], |row| {
                        let counts = SuggestionCounts {
                            pending: count(row, 1)?,
                            acted_on: count(row, 2)?,
                            expired: count(row, 3)?,
                            cleared: count(row, 4)?,
                        };
                        Ok((row.get(0)?, counts))
                    })?
                    .collect()
            })
            .map_err(|source| self.failed(source))?;
        let known =
            rows.into_iter().filter_map(|(name, counts)| Some((name.parse().ok()?, counts)));
        let mut known: Vec<(Heuristic, _)> = known.collect();
        known.sort_by_key(|(heuristic, _)| *heuristic);
        Ok(known)
    }

    fn suggestions(
        &self,
        query: &str,
        params: impl Params,
        now: i64,
    ) -> Result<Vec<StoredSuggestion>, StoreError> {
        self.connection
            .prepare_cached(query)
            .and_then(|mut select| select.query_map(params, |row| stored(row, now))?.collect())
            .map_err(|source| self.failed(source))
    }
}

fn stored(row: &Row<'_>, now: i64) -> rusqlite::Result<StoredSuggestion> {
    let heuristic: String = row.get(3)?;
    let suggestion = Suggestion {
        num: row.get::<_, i64>(0)?.unsigned_abs(),
        session: row.get(1)?,
        frame: frame_num(row.get(2)?),
        heuristic: heuristic.parse().map_err(|error| unreadable(3, error))?,
        confidence: row.get(4)?,
        subject: row.get(5)?,
        reason: row.get(6)?,
        created_at: row.get(7)?,
        expires_at: row.get(8)?,
    };
    let outcome: Option<String> = row.get(9)?;
    let ended = outcome.map(|end| end.parse::<SuggestionEnd>()).transpose();
    let ended = ended.map_err(|error| unreadable(9, error))?;
    let expired = ended.is_none() && !suggestion.waits(now);
    Ok(StoredSuggestion {
        end: ended.or(expired.then_some(SuggestionEnd::Expired)),
        ended_at: row.get::<_, Option<i64>>(10)?.or(expired.then_some(suggestion.expires_at)),
        suggestion,
    })
}

fn unreadable(
    column: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}
