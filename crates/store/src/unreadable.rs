//! Events whose bodies can't be read. They stay in the log as they are, and readers skip them.

use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use rusqlite::Row;
use serde::Serialize;
use serde_json::Value;

use crate::error::StoreError;
use crate::store::Store;

/// An event that deriving the tables leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// Its number in the log.
    pub seq: i64,
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// Its kind, as far as that can still be read.
    pub kind: Option<String>,
    /// The frame that it is about, as far as that can still be read.
    pub frame: Option<FrameNum>,
    /// Why it is left out.
    pub why: String,
}

/// Everything that is left out when the tables are derived, and the frames that go with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Omitted {
    /// Events that can't be read, and events that depend on these.
    pub events: Vec<LeftOut>,
    /// Frames that were in the tables, and are not in the derived ones.
    pub frames: Vec<FrameNum>,
}

impl LeftOut {
    pub(crate) fn new(seq: i64, at: i64, body: &[u8], why: String) -> Self {
        let body = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let number = |value: &Value| value.as_u64().map(FrameNum);
        let frame = &body["frame"];
        Self {
            seq,
            at,
            kind: body["kind"].as_str().map(str::to_owned),
            frame: number(frame).or_else(|| number(&frame["num"])),
            why,
        }
    }
}

/// The bytes of a row's text, which need not be UTF-8 in a file that was damaged.
pub(crate) fn bytes_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(row.get_ref(column)?.as_bytes()?.to_vec())
}

/// Returns the event in a body, if it can be read.
pub(crate) fn event_of(body: &[u8]) -> Option<Event> {
    serde_json::from_slice(body).ok()
}

impl Store {
    /// The number of events that can't be read.
    pub fn unreadable_events(&self) -> Result<u64, StoreError> {
        self.read(|view| {
            let failed = |source| view.failed(source);
            let mut log = view.connection.prepare("SELECT body FROM events").map_err(failed)?;
            let mut rows = log.query([]).map_err(failed)?;
            let mut count = 0;
            while let Some(row) = rows.next().map_err(failed)? {
                count += u64::from(event_of(&bytes_of(row, 0).map_err(failed)?).is_none());
            }
            Ok(count)
        })
    }
}
