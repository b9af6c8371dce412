//! Answers of calls whose changes don't show which call made them.

use callstack_core::event::GivenAnswer;
use callstack_core::transcript::Anchor;
use rusqlite::{OptionalExtension as _, params};

use crate::error::StoreError;
use crate::store::View;

/// A call without an id is no agent's, and is never repeated.
pub(crate) fn give(
    view: &View<'_>,
    session: &str,
    at: &Anchor,
    answer: &GivenAnswer,
) -> Result<(), StoreError> {
    let Some(call) = &at.call else { return Ok(()) };
    view.run(
        "INSERT INTO answers (session, message, call, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (session, message, call) DO UPDATE SET body = excluded.body",
        params![session, message(at), call, serde_json::to_string(answer)?],
    )
}

fn message(at: &Anchor) -> &str {
    at.message.as_deref().unwrap_or_default()
}

impl View<'_> {
    /// Returns the answer that a call of a session got.
    pub fn answer_given(
        &self,
        session: &str,
        at: &Anchor,
    ) -> Result<Option<GivenAnswer>, StoreError> {
        let Some(call) = &at.call else { return Ok(None) };
        let body: Option<String> = self
            .connection
            .prepare_cached(
                "SELECT body FROM answers WHERE session = ?1 AND message = ?2 AND call = ?3",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![session, message(at), call], |row| row.get(0))
                    .optional()
            })
            .map_err(|source| self.failed(source))?;
        Ok(body.map(|body| serde_json::from_str(&body)).transpose()?)
    }

    /// Returns the answers that calls of one message of a session got.
    pub fn answers_given_in(
        &self,
        session: &str,
        message: &str,
    ) -> Result<Vec<GivenAnswer>, StoreError> {
        let bodies: Vec<String> = self
            .connection
            .prepare_cached("SELECT body FROM answers WHERE session = ?1 AND message = ?2")
            .and_then(|mut statement| {
                statement.query_map([session, message], |row| row.get(0))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        bodies.iter().map(|body| Ok(serde_json::from_str(body)?)).collect()
    }
}
