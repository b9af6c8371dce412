//! The places where copies of a removed text may be: an unrelated session with the same words has its own text.

use std::collections::BTreeSet;

use callstack_core::frame::FrameNum;
use rusqlite::params;

use crate::error::StoreError;
use crate::project::sql;
use crate::store::View;

/// The sessions in which texts of frames can be repeated: those in which the frames or frames around them were worked
/// on, sessions that started these or were started by them, that wait for them, and their forks.
const SESSIONS: &str = "WITH RECURSIVE
  lost(num) AS (SELECT value FROM json_each(?1)),
  own(session) AS (
    SELECT value FROM json_each(?2) UNION SELECT session FROM spans WHERE frame IN lost
  ),
  around(num) AS (
    SELECT num FROM lost
    UNION SELECT a.num FROM around
      JOIN frames AS f ON f.num = around.num
      JOIN frames AS a ON a.num IN (f.parent, f.consolidated)
  ),
  above(session) AS (
    SELECT session FROM own
    UNION SELECT s.parent FROM above JOIN sessions AS s ON s.id = above.session
      WHERE s.parent IS NOT NULL
  ),
  below(session) AS (
    SELECT session FROM own
    UNION SELECT s.id FROM below JOIN sessions AS s ON s.parent = below.session
  )
  SELECT session FROM above
  UNION SELECT session FROM below
  UNION SELECT session FROM spans WHERE frame IN around
  UNION SELECT caller FROM errands WHERE frame IN lost OR session IN own
  UNION SELECT copy.session FROM spans AS s
    JOIN spans AS copy ON copy.open_call = s.open_call AND copy.num > s.num
    WHERE s.session IN own";

/// Sessions in which a text can be repeated.
#[derive(Default)]
pub(super) struct Reach {
    sessions: BTreeSet<String>,
}

impl Reach {
    pub(super) fn holds(&self, session: &str) -> bool {
        self.sessions.contains(session)
    }
}

impl View<'_> {
    /// Returns the places where texts of frames, and texts in sessions, may be repeated.
    pub(super) fn reach<'a>(
        &self,
        frames: &BTreeSet<FrameNum>,
        sessions: impl Iterator<Item = &'a String>,
    ) -> Result<Reach, StoreError> {
        let frames = serde_json::to_string(&frames.iter().map(|it| sql(*it)).collect::<Vec<_>>())?;
        let sessions = serde_json::to_string(&sessions.collect::<Vec<_>>())?;
        let sessions = self
            .connection
            .prepare_cached(SESSIONS)
            .and_then(|mut statement| {
                statement.query_map(params![frames, sessions], |row| row.get(0))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        Ok(Reach { sessions })
    }
}
