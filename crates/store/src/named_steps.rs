//! Steps that were named, so that a pop can close them after the fact.

use callstack_core::named_steps::NamedSteps;
use callstack_core::transcript::Anchor;
use rusqlite::{Row, params};

use crate::error::StoreError;
use crate::project::{Writer, signed};
use crate::store::View;

pub(crate) fn add(
    writer: &Writer<'_, '_>,
    session: &str,
    steps: &NamedSteps,
) -> Result<(), StoreError> {
    writer.run(
        "INSERT OR IGNORE INTO named_steps
           (num, session, first_message, first_call, last_message, last_call)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            signed(steps.num),
            session,
            steps.first.message,
            steps.first.call,
            steps.last.message,
            steps.last.call
        ],
    )?;
    writer.run("UPDATE sessions SET changed_seq = ?2 WHERE id = ?1", params![session, writer.seq])
}

impl View<'_> {
    /// The steps of a session that have names, in the order in which they got them.
    pub fn named_steps(&self, session: &str) -> Result<Vec<NamedSteps>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT num, first_message, first_call, last_message, last_call FROM named_steps
                 WHERE session = ?1 ORDER BY num",
            )
            .and_then(|mut statement| statement.query_map([session], steps_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Whether steps of any session have a number.
    pub fn is_named(&self, num: u64) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM named_steps WHERE num = ?1)")
            .and_then(|mut statement| statement.query_row([signed(num)], |row| row.get(0)))
            .map_err(|source| self.failed(source))
    }

    /// Other sessions in which steps end with one of these calls.
    pub fn sessions_that_name(
        &self,
        calls: &[&str],
        not_in: &str,
    ) -> Result<Vec<String>, StoreError> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let calls = serde_json::to_string(calls)?;
        self.connection
            .prepare_cached(
                "SELECT DISTINCT session FROM named_steps
                 WHERE last_call IN (SELECT value FROM json_each(?1)) AND session <> ?2
                 ORDER BY session",
            )
            .and_then(|mut statement| {
                statement.query_map(params![calls, not_in], |row| row.get(0))?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// The number that the next steps get.
    pub fn next_named_steps(&self) -> Result<u64, StoreError> {
        let next: i64 = self
            .connection
            .prepare_cached("SELECT coalesce(max(num), 0) + 1 FROM named_steps")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(|source| self.failed(source))?;
        Ok(next.unsigned_abs())
    }
}

fn steps_of(row: &Row<'_>) -> rusqlite::Result<NamedSteps> {
    Ok(NamedSteps {
        num: row.get::<_, i64>(0)?.unsigned_abs(),
        first: Anchor { message: row.get(1)?, call: row.get(2)? },
        last: Anchor { message: row.get(3)?, call: row.get(4)? },
    })
}
