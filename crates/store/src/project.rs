//! From an event to the rows that it changes. Nothing else writes the derived tables, so that they can
//! be derived anew from the log.

use std::collections::BTreeSet;

use callstack_core::event::Event;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::results::ResultsSource;
use callstack_core::text::extract_keywords;
use callstack_core::transcript::{Anchor, Fold, Outcome, Span, SpanNum};
use rusqlite::{ToSql, params};

use crate::compactions;
use crate::error::StoreError;
use crate::evidence;
use crate::file_states;
use crate::logs;
use crate::masks;
use crate::plan;
use crate::store::View;
use crate::subagents;

/// How many words of a finished frame are kept to find it by.
const WORDS: usize = 24;

/// Stands in `frame_counts` for the parent of roots and for the whole store.
pub(crate) const ROOTS: i64 = 0;
pub(crate) const WHOLE: i64 = -1;

/// Why a fold is held, as it is kept.
fn held(fold: &Fold) -> Result<Option<String>, StoreError> {
    Ok(fold.held.as_ref().map(serde_json::to_string).transpose()?)
}

#[expect(clippy::too_many_lines, reason = "one arm an event")]
pub(crate) fn apply(view: &View<'_>, seq: i64, at: i64, event: &Event) -> Result<(), StoreError> {
    let writer = Writer { view, seq, at };
    match event {
        Event::SessionOpened { session } => writer.run(
            "INSERT OR IGNORE INTO sessions (id, host, parent, root, active, active_seq, changed_seq)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            params![
                session.id,
                session.host,
                session.parent,
                session.root.map(sql),
                session.active.map(sql),
                seq
            ],
        ),
        Event::RootSet { session, frame } => writer
            .run("UPDATE sessions SET root = ?2 WHERE id = ?1", params![session, sql(*frame)]),
        Event::SessionRecorded { session } => {
            writer.run("UPDATE sessions SET recorded = 1 WHERE id = ?1", params![session])
        }
        Event::ActiveSet { session, frame } => {
            writer.run(
                "UPDATE sessions SET active = ?2, active_seq = ?3, changed_seq = ?3 WHERE id = ?1",
                params![session, frame.map(sql), seq],
            )?;
            subagents::active_set(view, at, session, frame.is_some())
        }
        Event::FrameCreated { frame } => writer.create(frame),
        Event::FrameStarted { frame, id, session } => writer.start(*frame, id, session),
        Event::FrameRenamed { frame, id } => {
            writer.rename(*frame, id)?;
            writer.touch(*frame)?;
            logs::changed(&writer, *frame)
        }
        Event::FrameEnded { frame, outcome, reason } => {
            writer.end(*frame, outcome, reason.as_deref())?;
            logs::ended(&writer, *frame)
        }
        Event::FrameReopened { frame, status } => {
            writer.reopen(*frame, *status)?;
            logs::changed(&writer, *frame)
        }
        Event::FrameDetached { frame } => {
            writer.detach(*frame, true)?;
            logs::changed(&writer, *frame)
        }
        Event::FrameAttached { frame } => {
            writer.detach(*frame, false)?;
            logs::changed(&writer, *frame)
        }
        Event::FrameConsolidated { frame, into } => writer.consolidate(*frame, Some(*into)),
        Event::PlanOrdered { frame, before } => plan::order(view, *frame, *before),
        Event::IdentitySet { frame, identity, derived } => writer.run(
            "UPDATE frames SET title = ?2, criteria = ?3, criteria_compacted = ?4,
               identity_derived = ?5, updated_at = ?6 WHERE num = ?1",
            params![
                sql(*frame),
                identity.title,
                identity.success_criteria,
                identity.success_criteria_compacted,
                derived,
                at
            ],
        )
        // What the frame is for matters to what is suggested in it.
        .and_then(|()| writer.run(
            "UPDATE sessions SET changed_seq = ?2
                 WHERE id = (SELECT session FROM frames WHERE num = ?1)",
            params![sql(*frame), seq],
        ))
        .and_then(|()| logs::changed(&writer, *frame)),
        Event::ArtifactRecorded { frame, artifact } => {
            writer.artifact(*frame, &artifact.path, artifact.hash.as_deref())?;
            writer.touch(*frame)?;
            logs::changed(&writer, *frame)
        }
        Event::DecisionRecorded { frame, text } => {
            writer.decision(*frame, text)?;
            writer.touch(*frame)?;
            logs::changed(&writer, *frame)
        }
        Event::PinSet { frame, pin } => {
            writer.run(
                "INSERT INTO pins (num, frame, text, seq, removed) VALUES (?1, ?2, ?3, ?4, 0)",
                params![signed(pin.num), sql(*frame), pin.text, seq],
            )?;
            writer.touch(*frame)
        }
        Event::PinRemoved { pin } => {
            writer.run("UPDATE pins SET removed = 1 WHERE num = ?1", params![signed(*pin)])
        }
        Event::SpanOpened { span } => writer.open_span(span),
        Event::SpanClosed { span, close, outcome } => {
            writer.close_span(span.0, close, outcome)?;
            writer.session_changed(*span)
        }
        Event::CloseUndone { span, undone } => {
            writer.run(
                "UPDATE spans SET close_undone = ?2 WHERE num = ?1",
                params![signed(span.0), undone],
            )?;
            writer.session_changed(*span)
        }
        Event::SpanDetached { span, detached } => {
            writer.run(
                "UPDATE spans SET detached = ?2 WHERE num = ?1",
                params![signed(span.0), detached],
            )?;
            writer.session_changed(*span)
        }
        Event::FoldSet { span, fold } => writer.set_fold(*span, fold),
        Event::EvidenceTaken { frame, span, evidence } => {
            evidence::apply(&writer, *frame, *span, evidence)
        }
        Event::Rendered { session, slot, text, renderer } => {
            writer.run(
                "INSERT INTO renders (session, slot, text, renderer, seq)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (session, slot) DO UPDATE
                   SET text = excluded.text, renderer = excluded.renderer, seq = excluded.seq",
                params![session, slot, text, renderer, seq],
            )?;
            // What one process has said, every other one has to go on saying.
            writer.run("UPDATE sessions SET changed_seq = ?2 WHERE id = ?1", params![session, seq])
        }
        Event::OutputsMasked { session, masks, settled_at, settled_serial } => {
            masks::add(&writer, session, masks, (settled_at, *settled_serial))
        }
        Event::Subagent { session, change } => subagents::apply(view, at, session, change),
        Event::Purged { frames, messages, .. } => logs::purged(&writer, frames, messages),
        // The log names what was stored; the bodies are written beside it.
        Event::MessagesRecorded { session, messages } => logs::recorded(&writer, session, messages),
        Event::SuggestionMade { suggestion } => crate::suggestions::add(view, suggestion),
        Event::SuggestionEnded { suggestion, end } => {
            crate::suggestions::end(view, *suggestion, *end, at)
        }
        Event::CompactionAsked { .. }
        | Event::CompactionDropped { .. }
        | Event::CompactionSettled { .. }
        | Event::CompactionTold { .. }
        | Event::CheckpointSet { .. } => compactions::apply(&writer, event),
        Event::FilesRecorded { .. }
        | Event::FilesRestoring { .. }
        | Event::FilesRestored { .. } => file_states::apply(&writer, event),
        Event::ErrandBegun { errand } => {
            crate::errands::begin(view.connection, errand).map_err(|it| view.failed(it))?;
            writer.caller_changed(errand.span)
        }
        Event::ErrandDelivered { span } => {
            crate::errands::deliver(view.connection, *span).map_err(|it| view.failed(it))?;
            writer.caller_changed(*span)
        }
        Event::SettingSet { name, value: None } => {
            writer.run("DELETE FROM settings WHERE name = ?1", params![name])
        }
        Event::SettingSet { name, value: Some(value) } => writer.run(
            "INSERT INTO settings (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            params![name, value],
        ),
    }
}

/// SQLite's integers are signed; handles and numbers start at 1 and never come near the sign.
pub(crate) fn signed(num: u64) -> i64 {
    i64::try_from(num).unwrap_or(i64::MAX)
}

pub(crate) fn sql(num: FrameNum) -> i64 {
    signed(num.0)
}

pub(crate) struct Writer<'a, 'c> {
    view: &'a View<'c>,
    pub(crate) seq: i64,
    pub(crate) at: i64,
}

impl Writer<'_, '_> {
    pub(crate) fn run(&self, statement: &str, params: &[&dyn ToSql]) -> Result<(), StoreError> {
        self.view
            .connection
            .prepare_cached(statement)
            .and_then(|mut statement| statement.execute(params))
            .map(|_| ())
            .map_err(|source| self.view.failed(source))
    }

    fn touch(&self, frame: FrameNum) -> Result<(), StoreError> {
        self.run("UPDATE frames SET updated_at = ?2 WHERE num = ?1", params![sql(frame), self.at])
    }

    fn create(&self, frame: &Frame) -> Result<(), StoreError> {
        let parent = frame.parent.map_or(ROOTS, sql);
        let position: i64 = self
            .view
            .connection
            .prepare_cached("SELECT coalesce(sum(n), 0) + 1 FROM frame_counts WHERE parent = ?1")
            .and_then(|mut statement| statement.query_row([parent], |row| row.get(0)))
            .map_err(|source| self.view.failed(source))?;
        self.run(
            "INSERT INTO frames (num, id, parent, session, status, finished, title, criteria,
               criteria_compacted, identity_derived, results, results_compacted, results_source,
               created_at, updated_at, ended_at, log_path, reason, invalidated_at, depth, position, ord, detached)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
               ?18, ?19, ?20, ?21, ?1, ?22)",
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
                frame.detached
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

    fn artifact(&self, frame: FrameNum, path: &str, hash: Option<&str>) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO artifacts (frame, path, hash, ord)
             VALUES (?1, ?2, ?3, (SELECT count(*) FROM artifacts WHERE frame = ?1))
             ON CONFLICT (frame, path) DO UPDATE SET hash = excluded.hash",
            params![sql(frame), path, hash],
        )
    }

    fn decision(&self, frame: FrameNum, text: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO decisions (frame, ord, text)
             VALUES (?1, (SELECT count(*) FROM decisions WHERE frame = ?1), ?2)",
            params![sql(frame), text],
        )
    }

    fn start(&self, num: FrameNum, id: &str, session: &str) -> Result<(), StoreError> {
        self.rename(num, id)?;
        self.set_status(num, Status::InProgress)?;
        self.run(
            "UPDATE frames SET session = ?2, ended_at = NULL, invalidated_at = NULL
             WHERE num = ?1",
            params![sql(num), session],
        )
    }

    fn rename(&self, num: FrameNum, id: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT OR IGNORE INTO aliases (alias, frame)
             SELECT id, num FROM frames WHERE num = ?1 AND id <> ?2",
            params![sql(num), id],
        )?;
        self.run("DELETE FROM aliases WHERE alias = ?1", params![id])?;
        self.run("UPDATE frames SET id = ?2 WHERE num = ?1", params![sql(num), id])
    }

    fn end(
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

    fn reopen(&self, num: FrameNum, status: Status) -> Result<(), StoreError> {
        self.run(
            "UPDATE frames SET ended_at = NULL, invalidated_at = NULL,
               session = CASE WHEN ?2 THEN NULL ELSE session END WHERE num = ?1",
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

    /// Puts a finished frame below the one that stands for it, or back beside its siblings.
    fn consolidate(&self, num: FrameNum, into: Option<FrameNum>) -> Result<(), StoreError> {
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

    fn detach(&self, num: FrameNum, detached: bool) -> Result<(), StoreError> {
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

    fn count_in(&self, parent: i64, status: Status, change: i64) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO frame_counts (parent, status, n) VALUES (?1, ?2, ?3)
             ON CONFLICT (parent, status) DO UPDATE SET n = n + excluded.n",
            params![parent, status.as_str(), change],
        )
    }

    /// Makes a finished frame findable among its siblings by the words that it is about.
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

    fn open_span(&self, span: &Span) -> Result<(), StoreError> {
        let close = span.close.as_ref();
        let fold = span.fold.as_ref();
        let outcome = span.outcome.as_ref().map(serde_json::to_string).transpose()?;
        self.run(
            "INSERT INTO spans (num, frame, session, open_message, open_call, origin, closed,
               close_message, close_call, outcome, close_undone, detached, foldable, fold_text,
               settled_at, settled_serial, renderer, held)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
               ?17, ?18)",
            params![
                signed(span.num.0),
                sql(span.frame),
                span.session,
                span.open.message,
                span.open.call,
                crate::spans::origin_str(span.origin),
                close.is_some(),
                close.and_then(|close| close.message.as_deref()),
                close.and_then(|close| close.call.as_deref()),
                outcome,
                span.close_undone,
                span.detached,
                span.foldable,
                fold.map(|fold| fold.text.as_str()),
                fold.and_then(|fold| fold.settled_at.as_deref()),
                fold.and_then(|fold| fold.settled_serial),
                fold.map(|fold| fold.renderer),
                fold.map(held).transpose()?.flatten()
            ],
        )?;
        self.session_changed(span.num)
    }

    fn set_fold(&self, span: SpanNum, fold: &Fold) -> Result<(), StoreError> {
        self.run(
            "UPDATE spans SET fold_text = ?2, settled_at = ?3, settled_serial = ?4,
               renderer = ?5, held = ?6 WHERE num = ?1",
            params![
                signed(span.0),
                fold.text,
                fold.settled_at,
                fold.settled_serial,
                fold.renderer,
                held(fold)?
            ],
        )?;
        self.session_changed(span)
    }

    fn session_changed(&self, span: SpanNum) -> Result<(), StoreError> {
        self.run(
            "UPDATE sessions SET changed_seq = ?2
             WHERE id = (SELECT session FROM spans WHERE num = ?1)",
            params![signed(span.0), self.seq],
        )
    }

    /// What a session is to be told changes with its errands.
    fn caller_changed(&self, span: SpanNum) -> Result<(), StoreError> {
        self.run(
            "UPDATE sessions SET changed_seq = ?2
             WHERE id = (SELECT caller FROM errands WHERE span = ?1)",
            params![signed(span.0), self.seq],
        )
    }

    fn close_span(&self, num: u64, close: &Anchor, outcome: &Outcome) -> Result<(), StoreError> {
        self.run(
            "UPDATE spans SET closed = 1, close_message = ?2, close_call = ?3, outcome = ?4,
               close_undone = 0, fold_text = NULL, settled_at = NULL, settled_serial = NULL,
               renderer = NULL, held = NULL
             WHERE num = ?1",
            params![signed(num), close.message, close.call, serde_json::to_string(outcome)?],
        )
    }
}
