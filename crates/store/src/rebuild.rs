//! Checking a store, and deriving its tables from the event log anew.

use std::collections::BTreeMap;

use callstack_core::event::Event;
use rusqlite::types::Value;

use crate::change::Change;
use crate::error::StoreError;
use crate::project;
use crate::store::{Store, View};

/// Tables that are derived from the events, children before those that they refer to.
const DERIVED: [&str; 22] = [
    "answers",
    "file_states",
    "file_restores",
    "suggestions",
    "pending_compactions",
    "compactions",
    "frame_words",
    "frame_counts",
    "aliases",
    "artifacts",
    "decisions",
    "pins",
    "errands",
    "evidence",
    "spans",
    "renders",
    "masks",
    "subagents",
    "subagent_counts",
    "settings",
    "sessions",
    "frames",
];

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// What SQLite finds wrong with the file, and messages whose bodies are not what they were; empty when
    /// all is sound.
    pub damage: Vec<String>,
    /// Derived tables that are not what the events say.
    pub drifted: Vec<String>,
    /// Events in the log.
    pub events: u64,
}

impl Store {
    /// Checks the file, and the derived tables against the log. Changes nothing.
    pub fn check(&self) -> Result<Health, StoreError> {
        // Deriving is tried out in a transaction that is never committed.
        if self.is_read_only() {
            return self.read(|view| {
                let damage = damage(view)?;
                Ok(Health { damage, drifted: Vec::new(), events: count_events(view)? })
            });
        }
        let mut health = Health::default();
        let outcome = self.write(|change| {
            let view = change.view();
            health.damage = damage(&view)?;
            health.events = count_events(&view)?;
            let before = contents(&view)?;
            change.derive()?;
            let after = contents(&view)?;
            health.drifted = before
                .into_iter()
                .filter(|(table, rows)| after.get(table) != Some(rows))
                .map(|(table, _)| table)
                .collect();
            Err::<(), _>(Abandon::Done)
        });
        match outcome {
            Err(Abandon::Store(error)) => Err(error),
            Ok(()) | Err(Abandon::Done) => Ok(health),
        }
    }

    /// Derives all tables from the log and returns how many events there are.
    pub fn rebuild(&self) -> Result<u64, StoreError> {
        self.write(|change| {
            change.derive()?;
            count_events(&change.view())
        })
    }
}

/// Ends a transaction without its changes.
enum Abandon {
    Done,
    Store(StoreError),
}

impl From<StoreError> for Abandon {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Change<'_> {
    fn derive(&mut self) -> Result<(), StoreError> {
        self.derive_tables()?;
        self.forget_frame_terms()
    }

    /// Derives all tables; what search knows of frames stays as it is.
    pub(crate) fn derive_tables(&mut self) -> Result<(), StoreError> {
        let view = self.view();
        let failed = |source| view.failed(source);
        view.connection.execute_batch("PRAGMA defer_foreign_keys = ON").map_err(failed)?;
        for table in DERIVED {
            view.connection.execute(&format!("DELETE FROM {table}"), []).map_err(failed)?;
        }
        let mut log = view
            .connection
            .prepare("SELECT seq, at, body FROM events ORDER BY seq")
            .map_err(failed)?;
        let mut rows = log.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let body: String = row.get(2).map_err(failed)?;
            let event: Event = serde_json::from_str(&body)?;
            let seq = row.get(0).map_err(failed)?;
            let at = row.get(1).map_err(failed)?;
            project::apply(&view, seq, at, &event)?;
        }
        Ok(())
    }
}

fn damage(view: &View<'_>) -> Result<Vec<String>, StoreError> {
    let failed = |source| view.failed(source);
    let mut found: Vec<String> = view
        .connection
        .prepare("PRAGMA integrity_check(20)")
        .and_then(|mut check| check.query_map([], |row| row.get(0))?.collect())
        .map_err(failed)?;
    found.retain(|line| line != "ok");
    let strays: Vec<String> = view
        .connection
        .prepare("PRAGMA foreign_key_check")
        .and_then(|mut check| {
            check
                .query_map([], |row| {
                    let table: String = row.get(0)?;
                    let parent: String = row.get(2)?;
                    Ok(format!("a row of {table} refers to a row of {parent} that isn't there"))
                })?
                .collect()
        })
        .map_err(failed)?;
    found.extend(strays);
    found.extend(view.damaged_messages(20)?);
    Ok(found)
}

fn count_events(view: &View<'_>) -> Result<u64, StoreError> {
    view.connection
        .query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0))
        .map(i64::unsigned_abs)
        .map_err(|source| view.failed(source))
}

/// Every row of every derived table, as text in a fixed order.
fn contents(view: &View<'_>) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
    let mut tables = BTreeMap::new();
    for table in DERIVED {
        // A count that has gone back to nothing is as good as none.
        let filter = if table == "frame_counts" { "WHERE n <> 0" } else { "" };
        let mut rows: Vec<String> = view
            .connection
            .prepare(&format!("SELECT * FROM {table} {filter}"))
            .and_then(|mut select| {
                let columns = select.column_count();
                select
                    .query_map([], |row| {
                        let values = (0..columns)
                            .map(|column| row.get::<_, Value>(column))
                            .collect::<Result<Vec<_>, _>>()?;
                        Ok(format!("{values:?}"))
                    })?
                    .collect()
            })
            .map_err(|source| view.failed(source))?;
        rows.sort_unstable();
        tables.insert(table.to_owned(), rows);
    }
    Ok(tables)
}
