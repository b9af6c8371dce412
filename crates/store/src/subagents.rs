//! Child sessions as they are tracked.

use callstack_core::subagent::{Change, Completion, SubagentSession, SubagentStats, Trouble};
use rusqlite::{OptionalExtension as _, Params, Row, params};

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::project::sql;
use crate::store::View;

const SUBAGENT: &str = "SELECT s.session, s.parent, s.title, s.created_at,
  max(s.active_at, coalesce((SELECT at FROM messages WHERE session = s.session
    ORDER BY seq DESC, version DESC LIMIT 1), 0)),
  s.matches, own.root IS NOT NULL OR own.active IS NOT NULL
    OR (s.completed_at IS NOT NULL AND s.completed_by <> 'manual'),
  (SELECT count(*) FROM messages WHERE session = s.session AND version = 1),
  s.idle_at, s.completed_at IS NOT NULL, s.until, s.completed_by, s.caller,
  coalesce(own.root, own.active), s.aborted, s.trouble
  FROM subagents AS s LEFT JOIN sessions AS own ON own.id = s.session";

impl View<'_> {
    /// A child session, if it is tracked.
    pub fn subagent(&self, session: &str) -> Result<Option<SubagentSession>, StoreError> {
        self.connection
            .prepare_cached(&format!("{SUBAGENT} WHERE s.session = ?1"))
            .and_then(|mut statement| statement.query_row([session], subagent_of).optional())
            .map_err(|source| self.failed(source))
    }

    /// Every child session that is tracked, in the order in which they were first seen.
    pub fn subagents(&self) -> Result<Vec<SubagentSession>, StoreError> {
        self.subagents_where("ORDER BY s.created_at, s.session", [])
    }

    /// Child sessions whose frames were to end by themselves at `now` or before, the earliest first.
    pub fn subagents_due(&self, now: i64) -> Result<Vec<SubagentSession>, StoreError> {
        self.subagents_where("WHERE s.until <= ?1 ORDER BY s.until, s.session", [now])
    }

    /// Returns the time at which the next child session's frames end by themselves.
    pub fn next_subagent(&self) -> Result<Option<i64>, StoreError> {
        self.connection
            .prepare_cached("SELECT min(until) FROM subagents WHERE until IS NOT NULL")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(|source| self.failed(source))
    }

    /// Child sessions that were over before the time `before`: completed, or silent without a frame.
    pub fn subagents_over(&self, before: i64) -> Result<Vec<SubagentSession>, StoreError> {
        self.subagents_where(
            "WHERE s.completed_at < ?1
               OR (s.idle_at < ?1 AND own.root IS NULL AND own.active IS NULL)",
            [before],
        )
    }

    /// Child sessions whose id begins with a text, the first `limit`.
    pub fn subagents_beginning_with(
        &self,
        reference: &str,
        limit: u32,
    ) -> Result<Vec<SubagentSession>, StoreError> {
        // The highest character ends the range of all texts with this beginning.
        self.subagents_where(
            "WHERE s.session >= ?1 AND s.session < ?2 ORDER BY s.session LIMIT ?3",
            params![reference, format!("{reference}\u{10ffff}"), limit],
        )
    }

    /// Returns the numbers of child sessions, including those that are only counted by now.
    pub fn subagent_stats(&self) -> Result<SubagentStats, StoreError> {
        let counts: Vec<(String, i64)> = self
            .connection
            .prepare_cached("SELECT what, n FROM subagent_counts")
            .and_then(|mut statement| {
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        let of = |what: &str| {
            counts.iter().find(|(known, _)| known == what).map_or(0, |(_, n)| n.unsigned_abs())
        };
        let mut stats = SubagentStats {
            tracked: of("tracked"),
            detected: of("detected"),
            with_frames: of("framed"),
            skipped: of("skipped"),
            completed: of("completed"),
            auto_completed: of(Completion::Auto.as_str()),
            manually_completed: of(Completion::Manual.as_str()),
            returned: of(Completion::Returned.as_str()),
            popped: of(Completion::Popped.as_str()),
            active: 0,
            idle: 0,
        };
        for session in self.subagents()? {
            stats.add(&session);
        }
        Ok(stats)
    }

    fn subagents_where(
        &self,
        condition: &str,
        params: impl Params,
    ) -> Result<Vec<SubagentSession>, StoreError> {
        self.connection
            .prepare_cached(&format!("{SUBAGENT} {condition}"))
            .and_then(|mut statement| statement.query_map(params, subagent_of)?.collect())
            .map_err(|source| self.failed(source))
    }
}

/// Projects a change of the record of a child session.
pub(crate) fn apply(
    view: &View<'_>,
    at: i64,
    session: &str,
    change: &Change,
) -> Result<(), StoreError> {
    match change {
        Change::Seen { parent, title, caller, matches } => view.run(
            "INSERT INTO subagents (session, parent, title, caller, matches, created_at, active_at,
               aborted) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 0)
             ON CONFLICT (session) DO UPDATE
               SET title = excluded.title, matches = excluded.matches",
            params![session, parent, title, caller.map(sql), matches, at],
        ),
        Change::Idle { until, trouble } => view.run(
            "UPDATE subagents SET idle_at = ?2, until = ?3, aborted = ?4, trouble = ?5
             WHERE session = ?1",
            params![
                session,
                at,
                until,
                trouble.as_ref().is_some_and(|it| it.aborted),
                trouble.as_ref().map(|it| &it.message)
            ],
        ),
        Change::Active => view.run(
            "UPDATE subagents SET active_at = ?2, idle_at = NULL, until = NULL, aborted = 0,
               trouble = NULL WHERE session = ?1",
            params![session, at],
        ),
        Change::Completed { by } => view.run(
            "UPDATE subagents SET idle_at = coalesce(idle_at, ?2), until = NULL, completed_at = ?2,
               completed_by = ?3 WHERE session = ?1",
            params![session, at, by.as_str()],
        ),
        Change::Forgotten => forget(view, session),
    }
}

/// A session whose last frame ended is completed; one that works in a frame again is not.
pub(crate) fn active_set(
    view: &View<'_>,
    at: i64,
    session: &str,
    works: bool,
) -> Result<(), StoreError> {
    if works {
        return view.run(
            "UPDATE subagents SET completed_at = NULL, completed_by = NULL WHERE session = ?1",
            params![session],
        );
    }
    view.run(
        "UPDATE subagents SET until = NULL, completed_at = ?2, completed_by = ?3 WHERE session = ?1",
        params![session, at, Completion::Popped.as_str()],
    )
}

fn forget(view: &View<'_>, session: &str) -> Result<(), StoreError> {
    let Some(known) = view.subagent(session)? else { return Ok(()) };
    let mut whats = vec!["tracked"];
    whats.extend(known.is_subagent.then_some("detected"));
    whats.push(if known.has_frame { "framed" } else { "skipped" });
    whats.extend(known.is_completed.then_some("completed"));
    whats.extend(known.completed_by.map(Completion::as_str));
    for what in whats {
        view.run(
            "INSERT INTO subagent_counts (what, n) VALUES (?1, 1)
             ON CONFLICT (what) DO UPDATE SET n = n + 1",
            params![what],
        )?;
    }
    view.run("DELETE FROM subagents WHERE session = ?1", params![session])
}

fn subagent_of(row: &Row<'_>) -> rusqlite::Result<SubagentSession> {
    let by: Option<String> = row.get(11)?;
    let trouble: Option<String> = row.get(15)?;
    let aborted = row.get(14)?;
    let idle_since: Option<i64> = row.get(8)?;
    Ok(SubagentSession {
        session: row.get(0)?,
        parent: row.get(1)?,
        title: row.get(2)?,
        created_at: row.get(3)?,
        last_activity_at: row.get(4)?,
        is_subagent: row.get(5)?,
        has_frame: row.get(6)?,
        message_count: row.get::<_, i64>(7)?.unsigned_abs(),
        is_idle: idle_since.is_some(),
        is_completed: row.get(9)?,
        idle_since,
        completes_at: row.get(10)?,
        completed_by: by.and_then(|by| Completion::ALL.into_iter().find(|it| it.as_str() == by)),
        caller: row.get::<_, Option<i64>>(12)?.map(frame_num),
        frame: row.get::<_, Option<i64>>(13)?.map(frame_num),
        trouble: trouble.map(|message| Trouble { aborted, message }),
    })
}
