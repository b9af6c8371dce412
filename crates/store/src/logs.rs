//! The frames whose logs have to be written to their files: when they end, and again when more of their transcript
//! becomes known or they are resumed.

use callstack_core::event::{MessageRef, PurgedMessages};
use callstack_core::frame::FrameNum;
use rusqlite::{Row, params};

use crate::change::Change;
use crate::error::StoreError;
use crate::frames::frame_num;
use crate::locate::FOLDER;
use crate::project::{Writer, sql};
use crate::store::View;

/// The folder of the logs, in the store's.
pub const LOGS: &str = "logs";

/// A frame whose log has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogDue {
    /// The frame.
    pub frame: FrameNum,
    /// The event that made it so.
    pub since: i64,
}

const DUE: &str = "INSERT OR REPLACE INTO logs_due (frame, since) SELECT num, ?2 FROM frames
  WHERE num = ?1";

/// Where the log of a frame lies, relative to the project.
pub fn log_path(frame: FrameNum) -> String {
    format!("{FOLDER}/{LOGS}/{frame}.md")
}

/// A frame that ended points to its log from now on; one that was never worked on has no history.
pub(crate) fn ended(writer: &Writer<'_, '_>, frame: FrameNum) -> Result<(), StoreError> {
    writer.run(
        "UPDATE frames SET log_path = ?2
         WHERE num = ?1 AND EXISTS (SELECT 1 FROM spans WHERE frame = ?1)",
        params![sql(frame), log_path(frame)],
    )?;
    changed(writer, frame)
}

pub(crate) fn changed(writer: &Writer<'_, '_>, frame: FrameNum) -> Result<(), StoreError> {
    writer.run(
        &format!(
            "{DUE} AND log_path IS NOT NULL AND EXISTS (SELECT 1 FROM spans WHERE frame = ?1)"
        ),
        params![sql(frame), writer.seq],
    )
}

/// The step that ended a frame is only complete once its call has returned.
pub(crate) fn recorded(
    writer: &Writer<'_, '_>,
    session: &str,
    messages: &[MessageRef],
) -> Result<(), StoreError> {
    for message in messages {
        writer.run(
            "INSERT OR REPLACE INTO logs_due (frame, since)
             SELECT DISTINCT s.frame, ?3 FROM spans AS s JOIN frames AS f ON f.num = s.frame
             WHERE s.session = ?1 AND s.close_message = ?2 AND s.close_message IS NOT NULL
               AND f.log_path IS NOT NULL",
            params![session, message.id, writer.seq],
        )?;
    }
    Ok(())
}

/// The logs of purged frames are gone; others in which the messages stood are written without them.
pub(crate) fn purged(
    writer: &Writer<'_, '_>,
    frames: &[FrameNum],
    messages: &[PurgedMessages],
) -> Result<(), StoreError> {
    for purged in messages {
        writer.run(
            "UPDATE sessions SET changed_seq = ?2 WHERE id = ?1",
            params![purged.session, writer.seq],
        )?;
        writer.run(
            "INSERT OR REPLACE INTO logs_due (frame, since)
             SELECT DISTINCT s.frame, ?2 FROM spans AS s JOIN frames AS f ON f.num = s.frame
             WHERE s.session = ?1 AND f.log_path IS NOT NULL",
            params![purged.session, writer.seq],
        )?;
    }
    for frame in frames {
        // The frames in whose logs it stands may belong to other sessions.
        writer.run(
            "INSERT OR REPLACE INTO logs_due (frame, since)
             SELECT a.num, ?2 FROM frames AS f JOIN frames AS a ON a.num IN (f.parent, f.consolidated)
             WHERE f.num = ?1 AND a.log_path IS NOT NULL
               AND EXISTS (SELECT 1 FROM spans WHERE frame = a.num)",
            params![sql(*frame), writer.seq],
        )?;
    }
    for frame in frames {
        // The knowledge of other processes about it is outdated.
        writer.run(
            "UPDATE sessions SET changed_seq = ?2
             WHERE id IN (SELECT session FROM spans WHERE frame = ?1)",
            params![sql(*frame), writer.seq],
        )?;
        writer.run("UPDATE frames SET log_path = NULL WHERE num = ?1", params![sql(*frame)])?;
        writer.run("DELETE FROM logs_due WHERE frame = ?1", params![sql(*frame)])?;
    }
    Ok(())
}

impl View<'_> {
    /// Records that the written log of a frame, if it has one, is outdated.
    pub(crate) fn mark_log_outdated(&self, frame: FrameNum) -> Result<(), StoreError> {
        self.run(
            "INSERT OR REPLACE INTO logs_due (frame, since)
             SELECT num, (SELECT max(seq) FROM events) FROM frames
             WHERE num = ?1 AND log_path IS NOT NULL
               AND EXISTS (SELECT 1 FROM spans WHERE frame = ?1)",
            params![sql(frame)],
        )
    }

    /// Returns a frame whose log has to be written: of those that wait, the one with the lowest number above `after`.
    pub fn log_due(&self, after: u64) -> Result<Option<LogDue>, StoreError> {
        let found: Vec<LogDue> = self
            .connection
            .prepare_cached(
                "SELECT frame, since FROM logs_due WHERE frame > ?1 ORDER BY frame LIMIT 1",
            )
            .and_then(|mut statement| {
                statement
                    .query_map([crate::project::signed(after)], |row| {
                        Ok(LogDue { frame: frame_num(row.get(0)?), since: row.get(1)? })
                    })?
                    .collect()
            })
            .map_err(|source| self.failed(source))?;
        Ok(found.into_iter().next())
    }

    /// All frames whose logs have to be written.
    pub(crate) fn logs_due(&self) -> Result<Vec<LogDue>, StoreError> {
        let due = |row: &Row<'_>| Ok(LogDue { frame: frame_num(row.get(0)?), since: row.get(1)? });
        self.connection
            .prepare_cached("SELECT frame, since FROM logs_due")
            .and_then(|mut statement| statement.query_map([], due)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// These are due and no others.
    pub(crate) fn set_logs_due(&self, due: &[LogDue]) -> Result<(), StoreError> {
        self.run("DELETE FROM logs_due", [])?;
        for LogDue { frame, since } in due {
            let row = params![sql(*frame), since];
            self.run("INSERT INTO logs_due (frame, since) VALUES (?1, ?2)", row)?;
        }
        Ok(())
    }

    /// The frames whose logs lie in files of ours, with the files: the newest, the last first.
    pub fn newest_logs(&self, most: u32) -> Result<Vec<(FrameNum, String)>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT num, log_path FROM frames WHERE log_path IS NOT NULL
                   AND EXISTS (SELECT 1 FROM spans WHERE frame = num) ORDER BY num DESC LIMIT ?1",
            )
            .and_then(|mut statement| {
                statement
                    .query_map([most], |row| Ok((frame_num(row.get(0)?), row.get(1)?)))?
                    .collect()
            })
            .map_err(|source| self.failed(source))
    }
}

impl Change<'_> {
    /// Requests the log of a frame again, because its file is missing.
    pub fn want_log(&self, frame: FrameNum) -> Result<(), StoreError> {
        self.view()
            .run("INSERT OR IGNORE INTO logs_due (frame, since) VALUES (?1, 0)", [sql(frame)])
    }

    /// Records that a due log was written to its file. It stays due if something changed since.
    pub fn log_written(&self, due: LogDue) -> Result<(), StoreError> {
        self.view().run(
            "DELETE FROM logs_due WHERE frame = ?1 AND since = ?2",
            params![sql(due.frame), due.since],
        )
    }
}
