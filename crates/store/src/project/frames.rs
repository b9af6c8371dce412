//! The rows of frames, their numbers by status, and the words by which they are found.

use std::collections::BTreeSet;

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::results::ResultsSource;
use callstack_core::text::extract_keywords;
use callstack_core::transcript::Outcome;
use rusqlite::params;

use super::{ROOTS, WHOLE, Writer, sql};
use crate::compactions;
use crate::error::StoreError;
use crate::file_states;

/// The most words that are kept of a finished frame to find it.
const WORDS: usize = 24;

impl Writer<'_, '_> {
    pub(super) fn touch(&self, frame: FrameNum) -> Result<(), StoreError> {
        self.run("UPDATE frames SET updated_at = ?2 WHERE num = ?1", params![sql(frame), self.at])
    }

    pub(super) fn create(&self, frame: &Frame) -> Result<(), StoreError> {
        let parent = frame.parent.map_or(ROOTS, sql);
        let in_progress = frame.status == Status::InProgress;
        let begun = frame.begun_at.or(in_progress.then_some(frame.created_at));
        let position: i64 = self
            .view
            .connection
            .prepare_cached("SELECT coalesce(sum(n), 0) + 1 FROM frame_counts WHERE parent = ?1")
            .and_then(|mut statement| statement.query_row([parent], |row| row.get(0)))
            .map_err(|source| self.view.failed(source))?;
        self.run(
            "INSERT INTO frames (num, id, parent, session, status, finished, title, criteria,
               criteria_compacted, identity_derived, results, results_compacted, results_source,
               created_at, updated_at, ended_at, log_path, reason, invalidated_at, depth, position, ord, detached,
               begun_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
               ?18, ?19, ?20, ?21, ?1, ?22, ?23)",
            params![
                sql(frame.num),
                frame.id,
                frame.parent.map(sql),
                frame.session,
                frame.status.as_str(),
                frame.status.is_finished(),
                frame.identity.title,
                frame.identity.success_criteria,
                frame.identity.success_criteria_compacted,
                frame.identity_derived,
                frame.results,
                frame.results_compacted,
                frame.results_source.map(ResultsSource::as_str),
                frame.created_at,
                frame.updated_at,
                frame.ended_at,
                frame.log_path,
                frame.invalidation_reason,
                frame.invalidated_at,
                frame.depth,
                position,
                frame.detached,
                begun
            ],
        )?;
        for artifact in &frame.artifacts {
            self.artifact(frame.num, &artifact.path, artifact.hash.as_deref())?;
        }
        for decision in &frame.decisions {
            self.decision(frame.num, decision)?;
        }
        if !frame.detached {
            self.count(frame.parent, frame.status, 1)?;
            self.index(frame.num, frame.status)?;
        }
        Ok(())
    }

    pub(super) fn artifact(
        &self,
        frame: FrameNum,
        path: &str,
        hash: Option<&str>,
    ) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO artifacts (frame, path, hash, ord)
             VALUES (?1, ?2, ?3, (SELECT count(*) FROM artifacts WHERE frame = ?1))
             ON CONFLICT (frame, path) DO UPDATE SET hash = excluded.hash",
            params![sql(frame), path, hash],
        )
    }

    pub(super) fn decision(&self, frame: FrameNum, text: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO decisions (frame, ord, text)
             VALUES (?1, (SELECT count(*) FROM decisions WHERE frame = ?1), ?2)",
            params![sql(frame), text],
        )
    }

    pub(super) fn start(&self, num: FrameNum, id: &str, session: &str) -> Result<(), StoreError> {
        self.rename(num, id)?;
        self.set_status(num, Status::InProgress)?;
        self.run(
            "UPDATE frames SET session = ?2, ended_at = NULL, invalidated_at = NULL,
               begun_at = coalesce(begun_at, ?3) WHERE num = ?1",
            params![sql(num), session, self.at],
        )
    }

    pub(super) fn rename(&self, num: FrameNum, id: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT OR IGNORE INTO aliases (alias, frame)
             SELECT id, num FROM frames WHERE num = ?1 AND id <> ?2",
            params![sql(num), id],
        )?;
        self.run("DELETE FROM aliases WHERE alias = ?1", params![id])?;
        self.run("UPDATE frames SET id = ?2 WHERE num = ?1", params![sql(num), id])
    }

    pub(super) fn end(
        &self,
        num: FrameNum,
        outcome: &Outcome,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        self.run(
            "UPDATE frames SET results = ?2, results_compacted = ?3, results_source = ?7,
               ended_at = ?4, reason = coalesce(?5, reason),
               invalidated_at = CASE WHEN ?6 THEN ?4 ELSE invalidated_at END
             WHERE num = ?1",
            params![
                sql(num),
                outcome.results,
                outcome.results_compacted,
                self.at,
                reason,
                outcome.status == Status::Invalidated,
                outcome.source.map(ResultsSource::as_str)
            ],
        )?;
        compactions::forget(self, num)?;
        self.set_status(num, outcome.status)
    }

    pub(super) fn reopen(&self, num: FrameNum, status: Status) -> Result<(), StoreError> {
        self.run(
            "UPDATE frames SET ended_at = NULL, invalidated_at = NULL,
               session = CASE WHEN ?2 THEN NULL ELSE session END,
               begun_at = CASE WHEN ?2 THEN NULL ELSE begun_at END WHERE num = ?1",
            params![sql(num), status == Status::Planned],
        )?;
        self.set_status(num, status)
    }

    fn set_status(&self, num: FrameNum, status: Status) -> Result<(), StoreError> {
        self.consolidate(num, None)?;
        if status == Status::InProgress {
            file_states::goes_on(self, num)?;
        }
        let before = self.view.frame_row(num)?;
        self.run(
            "UPDATE frames SET status = ?2, finished = ?3, updated_at = ?4 WHERE num = ?1",
            params![sql(num), status.as_str(), status.is_finished() && !before.detached, self.at],
        )?;
        if !before.detached {
            self.count(before.parent, before.status, -1)?;
            self.count(before.parent, status, 1)?;
            self.index(num, status)?;
        }
        Ok(())
    }

    /// Puts a finished frame below the one that replaces it, or back beside its siblings.
    pub(super) fn consolidate(
        &self,
        num: FrameNum,
        into: Option<FrameNum>,
    ) -> Result<(), StoreError> {
        let frame = self.view.frame_row(num)?;
        if frame.consolidated == into {
            return Ok(());
        }
        self.run(
            "UPDATE frames SET consolidated = ?2, finished = ?3, updated_at = ?4 WHERE num = ?1",
            params![sql(num), into.map(sql), into.is_none() && frame.status.is_finished(), self.at],
        )?;
        if let Some(into) = into {
            // It stands where the first of them stood.
            self.run(
                "UPDATE frames SET ord = min(ord, (SELECT ord FROM frames WHERE num = ?1))
                 WHERE num = ?2",
                params![sql(num), sql(into)],
            )?;
        }
        self.count_in(frame.shown_below().map_or(ROOTS, sql), frame.status, -1)?;
        self.count_in(into.or(frame.parent).map_or(ROOTS, sql), frame.status, 1)
    }

    pub(super) fn detach(&self, num: FrameNum, detached: bool) -> Result<(), StoreError> {
        self.consolidate(num, None)?;
        let frame = self.view.frame_row(num)?;
        if frame.detached == detached {
            return Ok(());
        }
        compactions::forget(self, num)?;
        self.run(
            "UPDATE frames SET detached = ?2, finished = ?3, updated_at = ?4 WHERE num = ?1",
            params![sql(num), detached, frame.status.is_finished() && !detached, self.at],
        )?;
        self.count(frame.parent, frame.status, if detached { -1 } else { 1 })
    }

    fn count(
        &self,
        parent: Option<FrameNum>,
        status: Status,
        change: i64,
    ) -> Result<(), StoreError> {
        self.count_in(parent.map_or(ROOTS, sql), status, change)?;
        self.count_in(WHOLE, status, change)
    }

    pub(super) fn count_in(
        &self,
        parent: i64,
        status: Status,
        change: i64,
    ) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO frame_counts (parent, status, n) VALUES (?1, ?2, ?3)
             ON CONFLICT (parent, status) DO UPDATE SET n = n + excluded.n",
            params![parent, status.as_str(), change],
        )
    }

    /// Indexes a finished frame by its keywords, so that it can be found among its siblings.
    fn index(&self, num: FrameNum, status: Status) -> Result<(), StoreError> {
        if !status.is_finished() || status == Status::Invalidated {
            return Ok(());
        }
        let frame = self.view.frame_row(num)?;
        let mut text = format!("{} {}", frame.identity.title, frame.identity.success_criteria);
        for artifact in &frame.artifacts {
            text.push(' ');
            text.push_str(&artifact.path);
        }
        let words: BTreeSet<_> = extract_keywords(&text).into_iter().take(WORDS).collect();
        for word in words {
            self.run(
                "INSERT OR IGNORE INTO frame_words (parent, word, frame) VALUES (?1, ?2, ?3)",
                params![frame.parent.map_or(ROOTS, sql), word, sql(num)],
            )?;
        }
        Ok(())
    }
}
