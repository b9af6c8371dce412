//! States of the project's files where frames began and ended.

use callstack_core::event::{Event, FileMoment, FileRestore};
use callstack_core::frame::FrameNum;
use rusqlite::{OptionalExtension as _, params};

use crate::error::StoreError;
use crate::project::{Writer, sql};
use crate::store::View;

pub(crate) fn apply(writer: &Writer<'_, '_>, event: &Event) -> Result<(), StoreError> {
    match event {
        Event::FilesRecorded { frame, moment, state } => {
            let again = match moment {
                FileMoment::Begun | FileMoment::Before => "NOTHING",
                FileMoment::Ended => "UPDATE SET state = excluded.state",
            };
            writer.run(
                &format!(
                    "INSERT INTO file_states (frame, moment, state) VALUES (?1, ?2, ?3)
                     ON CONFLICT (frame, moment) DO {again}"
                ),
                params![sql(*frame), moment.as_str(), state],
            )
        }
        // An unknown state stays unknown when work in the frame begins once more.
        Event::FilesCorrected { frame, state } => writer.run(
            "UPDATE file_states SET state = ?3 WHERE frame = ?1 AND moment = ?2",
            params![sql(*frame), FileMoment::Begun.as_str(), state.as_deref().unwrap_or_default()],
        ),
        Event::FilesRestoring { frame, restore } => writer.run(
            "INSERT INTO file_restores (seq, frame, body) VALUES (?1, ?2, ?3)",
            params![writer.seq, sql(*frame), serde_json::to_string(restore)?],
        ),
        Event::FilesRestored { frame, restore } => writer.run(
            "UPDATE file_restores SET body = ?2
             WHERE seq = (SELECT max(seq) FROM file_restores WHERE frame = ?1)",
            params![sql(*frame), serde_json::to_string(restore)?],
        ),
        _ => Ok(()),
    }
}

/// Removes the state at the end of a frame in which work goes on.
pub(crate) fn goes_on(writer: &Writer<'_, '_>, frame: FrameNum) -> Result<(), StoreError> {
    writer.run(
        "DELETE FROM file_states WHERE frame = ?1 AND moment = ?2",
        params![sql(frame), FileMoment::Ended.as_str()],
    )
}

impl View<'_> {
    /// The state of the files where work in a frame began first or ended last, if it was recorded.
    pub fn file_state(
        &self,
        frame: FrameNum,
        moment: FileMoment,
    ) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT state FROM file_states WHERE frame = ?1 AND moment = ?2 AND state <> ''",
            )
            .and_then(|mut statement| {
                let row = params![sql(frame), moment.as_str()];
                statement.query_row(row, |row| row.get(0)).optional()
            })
            .map_err(|source| self.failed(source))
    }

    /// Returns the states that frames have, and those that are needed to take rollbacks back.
    pub fn needed_file_states(&self) -> Result<Vec<String>, StoreError> {
        self.connection
            .prepare(
                "SELECT state FROM file_states WHERE state <> ''
                 UNION SELECT json_extract(body, '$.before') FROM file_restores
                 UNION SELECT json_extract(body, '$.after') FROM file_restores",
            )
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Returns the restores of a frame's files, finished or not, in their order.
    pub fn file_restores(&self, frame: FrameNum) -> Result<Vec<FileRestore>, StoreError> {
        let bodies: Vec<String> = self
            .connection
            .prepare_cached("SELECT body FROM file_restores WHERE frame = ?1 ORDER BY seq")
            .and_then(|mut statement| {
                statement.query_map([sql(frame)], |row| row.get(0))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        let restores = bodies.iter().map(|body| Ok(serde_json::from_str(body)?));
        restores.collect()
    }
}
