//! A write transaction: events are appended and projected onto the tables at once.

use callstack_core::event::Event;
use rusqlite::params;

use crate::error::StoreError;
use crate::project;
use crate::store::View;

/// An open write transaction.
#[derive(Debug)]
pub struct Change<'c> {
    view: View<'c>,
    events: Vec<(i64, Event)>,
    newest: Option<(i64, i64)>,
}

impl<'c> Change<'c> {
    pub(crate) fn new(view: View<'c>) -> Self {
        Self { view, events: Vec::new(), newest: None }
    }

    /// Number and time of the newest event that was appended.
    pub(crate) fn newest(&self) -> Option<(i64, i64)> {
        self.newest
    }

    pub(crate) fn into_events(self) -> Vec<(i64, Event)> {
        self.events
    }

    /// The store as the transaction sees it, with its own changes.
    pub fn view(&self) -> View<'c> {
        self.view
    }

    /// Appends events at the time `at` (milliseconds since 1970) and applies them to the tables.
    pub fn append(&mut self, at: i64, events: &[Event]) -> Result<(), StoreError> {
        for event in events {
            let body = serde_json::to_string(event)?;
            let seq = self
                .view
                .connection
                .prepare_cached("INSERT INTO events (at, body) VALUES (?1, ?2) RETURNING seq")
                .and_then(|mut insert| insert.query_row(params![at, body], |row| row.get(0)))
                .map_err(|source| self.view.failed(source))?;
            project::apply(&self.view, seq, at, event)?;
            self.newest = Some((seq, at));
            self.events.push((at, event.clone()));
        }
        Ok(())
    }
}
