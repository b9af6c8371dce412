//! Checking a store, and rebuilding its tables from the event log.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use rusqlite::types::{Value, ValueRef};

use crate::change::Change;
use crate::error::{Damage, StoreError};
use crate::frames::frame_num;
use crate::project;
use crate::store::{Store, View};
use crate::trust::logs_put_aside;
use crate::unreadable::{LeftOut, Omitted, bytes_of};

/// Tables that are derived from the events, children before those that they refer to.
const DERIVED: [&str; 24] = [
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
    "session_states",
    "masks",
    "named_steps",
    "subagents",
    "subagent_counts",
    "settings",
    "sessions",
    "frames",
];

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Damage that SQLite finds in the file, and messages whose bodies were changed; empty when all is sound.
    pub damage: Vec<String>,
    /// Derived tables that do not match the events.
    pub drifted: Vec<String>,
    /// Events in the log.
    pub events: u64,
    /// Unreadable events, which a rebuild leaves out.
    pub omitted: Omitted,
    /// Write-ahead logs that lay beside the database without a mark of the store's, and were put aside.
    pub logs_aside: Vec<PathBuf>,
    /// Databases in the state folder that were put aside, since an earlier one came into their place.
    pub databases_aside: Vec<PathBuf>,
    /// Why the state folder has no hard link to the database, if it has none.
    pub not_kept: Option<String>,
}

/// The result of a rebuild.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Events in the log.
    pub events: u64,
    /// Unreadable events, which were left out.
    pub omitted: Omitted,
}

impl Store {
    /// Checks the file, and the derived tables against the log. Changes nothing.
    pub fn check(&self) -> Result<Health, StoreError> {
        let databases_aside = self.databases_with_other_work()?;
        let not_kept = self.obstacle_to_keeping()?;
        // The tables are derived in a transaction that is never committed.
        if self.is_read_only() {
            return self.read(|view| {
                let damage = damage(view)?;
                let events = count_events(view)?;
                Ok(Health {
                    damage,
                    events,
                    logs_aside: logs_put_aside(self.path()),
                    databases_aside,
                    not_kept,
                    ..Health::default()
                })
            });
        }
        let mut health = Health {
            logs_aside: logs_put_aside(self.path()),
            databases_aside,
            not_kept,
            ..Health::default()
        };
        let outcome = self.write(|change| {
            let view = change.view();
            health.damage = damage(&view)?;
            health.events = count_events(&view)?;
            let before = contents(&view)?;
            health.omitted = change.derive()?;
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

    /// Derives all tables from the log. An event that can't be read stays in the log, and is left out.
    pub fn rebuild(&self) -> Result<Rebuilt, StoreError> {
        self.write(|change| {
            let omitted = change.derive()?;
            Ok(Rebuilt { events: count_events(&change.view())?, omitted })
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
    fn derive(&mut self) -> Result<Omitted, StoreError> {
        let before = frames(&self.view())?;
        let events = self.derive_tables()?;
        self.forget_frame_terms()?;
        let after = frames(&self.view())?;
        Ok(Omitted { events, frames: before.difference(&after).copied().collect() })
    }

    /// Derives all tables, and returns the events that were left out; the terms of frames in the search index stay as
    /// they are.
    pub(crate) fn derive_tables(&mut self) -> Result<Vec<LeftOut>, StoreError> {
        let view = self.view();
        let failed = |source| view.failed(source);
        let events = count_events(&view)?;
        view.connection.execute_batch("PRAGMA defer_foreign_keys = ON").map_err(failed)?;
        for table in DERIVED {
            view.connection.execute(&format!("DELETE FROM {table}"), []).map_err(failed)?;
        }
        // In a damaged file, rows that are written to a table may appear in the log that is being read.
        let (mut left, mut last) = (events, i64::MIN);
        let mut log = view
            .connection
            .prepare("SELECT seq, at, body FROM events ORDER BY seq")
            .map_err(failed)?;
        let mut rows = log.query([]).map_err(failed)?;
        let mut left_out: Vec<LeftOut> = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let seq: i64 = row.get(0).map_err(failed)?;
            if left == 0 || seq <= last {
                let (path, damage) = (view.path.to_path_buf(), Damage::ChangingLog);
                return Err(StoreError::Corrupt { path, damage });
            }
            (left, last) = (left - 1, seq);
            let at = row.get(1).map_err(failed)?;
            let body = bytes_of(row, 2).map_err(failed)?;
            let why = match serde_json::from_slice::<Event>(&body) {
                Ok(event) if left_out.is_empty() => {
                    project::apply(&view, seq, at, &event)?;
                    None
                }
                Ok(event) => apply_alone(&view, seq, at, &event)?,
                Err(error) => {
                    // From here on an event with a missing reference has to fail alone.
                    let strict = view.connection.execute_batch("PRAGMA defer_foreign_keys = OFF");
                    strict.map_err(failed)?;
                    Some(brief(&error))
                }
            };
            left_out.extend(why.map(|why| LeftOut::new(seq, at, &body, why)));
        }
        Ok(left_out)
    }
}

/// Returns the text of an error without its list of all kinds of events.
fn brief(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(", expected one of").map_or(text.clone(), |(why, _)| why.to_owned())
}

/// Projects an event as a whole or not at all. Returns the reason if it fails: it may refer to rows of another event
/// that could not be read.
fn apply_alone(
    view: &View<'_>,
    seq: i64,
    at: i64,
    event: &Event,
) -> Result<Option<String>, StoreError> {
    view.run("SAVEPOINT event", [])?;
    let outcome = project::apply(view, seq, at, event);
    let why = match outcome {
        Ok(()) => None,
        Err(StoreError::NoFrame(_) | StoreError::Database { .. }) => {
            view.run("ROLLBACK TO event", [])?;
            Some("it refers to what no readable event made".to_owned())
        }
        Err(error) => return Err(error),
    };
    view.run("RELEASE event", [])?;
    Ok(why)
}

fn frames(view: &View<'_>) -> Result<BTreeSet<FrameNum>, StoreError> {
    view.connection
        .prepare("SELECT num FROM frames")
        .and_then(|mut select| select.query_map([], |row| Ok(frame_num(row.get(0)?)))?.collect())
        .map_err(|source| view.failed(source))
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

/// A value of a file that may be damaged.
fn readable(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => bytes.to_vec().into(),
    }
}

/// Every row of every derived table, as text in a fixed order.
fn contents(view: &View<'_>) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
    let mut tables = BTreeMap::new();
    for table in DERIVED {
        // A count that has returned to 0 is the same as none.
        let filter = if table == "frame_counts" { "WHERE n <> 0" } else { "" };
        let mut rows: Vec<String> = view
            .connection
            .prepare(&format!("SELECT * FROM {table} {filter}"))
            .and_then(|mut select| {
                let columns = select.column_count();
                select
                    .query_map([], |row| {
                        let values = (0..columns)
                            .map(|column| row.get_ref(column).map(readable))
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
