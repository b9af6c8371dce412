//! The frames around one that changes, as decisions read them.

use callstack_core::decide::Neighbourhood;
use callstack_core::event::Session;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::transcript::{Span, SpanNum};
use rusqlite::params;

use super::rows::{FRAME, is};
use crate::error::StoreError;
use crate::project::sql;
use crate::store::View;

/// Children that an answer names; more are only counted.
const NAMED: u32 = 20;

/// Handles are never given out twice: frames are detached, never deleted.
impl Neighbourhood for View<'_> {
    type Error = StoreError;

    fn frame(&self, num: FrameNum) -> Result<Frame, StoreError> {
        View::frame(self, num)
    }

    fn frame_by_id(&self, id: &str) -> Result<Option<FrameNum>, StoreError> {
        self.by_id(id)
    }

    fn session(&self, id: &str) -> Result<Option<Session>, StoreError> {
        self.session_row(id)
    }

    fn running_children(&self, num: FrameNum) -> Result<Vec<Frame>, StoreError> {
        self.children_with(Some(num), Status::InProgress, NAMED)
    }

    fn planned_children(&self, num: FrameNum) -> Result<Vec<Frame>, StoreError> {
        self.children_with(Some(num), Status::Planned, NAMED)
    }

    fn child_count(&self, num: Option<FrameNum>) -> Result<u64, StoreError> {
        Ok(self.counts(num)?.values().sum())
    }

    fn live_frames(&self) -> Result<u64, StoreError> {
        Ok(self.all_counts()?.get(&Status::InProgress).copied().unwrap_or(0))
    }

    fn left_open_frames(&self) -> Result<u64, StoreError> {
        Ok(self.left_open()?.len() as u64)
    }

    fn live_sessions(&self) -> Result<u64, StoreError> {
        self.live_delegations()
    }

    fn descendants(&self, num: FrameNum, status: Status) -> Result<Vec<Frame>, StoreError> {
        self.wholes(
            &format!(
                "WITH RECURSIVE below(n) AS (
                   SELECT num FROM frames WHERE parent = ?1
                   UNION ALL SELECT frames.num FROM frames JOIN below ON frames.parent = below.n)
                 {FRAME} WHERE num IN below AND {} AND detached = 0 ORDER BY num",
                is(status)
            ),
            params![sql(num)],
        )
    }

    fn subtree(&self, num: FrameNum) -> Result<Vec<Frame>, StoreError> {
        self.wholes(
            &format!(
                "WITH RECURSIVE inside(n) AS (
                   VALUES (?1)
                   UNION ALL SELECT frames.num FROM frames JOIN inside ON frames.parent = inside.n)
                 {FRAME} WHERE num IN inside ORDER BY num"
            ),
            params![sql(num)],
        )
    }

    fn open_spans(&self, session: &str) -> Result<Vec<Span>, StoreError> {
        self.session_open_spans(session)
    }

    fn span(&self, num: SpanNum) -> Result<Span, StoreError> {
        self.span_row(num)
    }

    fn spans_of(&self, frame: FrameNum) -> Result<Vec<Span>, StoreError> {
        self.frame_spans(frame)
    }

    fn next_frame(&self) -> Result<FrameNum, StoreError> {
        self.next("frames").map(FrameNum)
    }

    fn next_span(&self) -> Result<SpanNum, StoreError> {
        self.next("spans").map(SpanNum)
    }

    fn next_pin(&self) -> Result<u64, StoreError> {
        self.next("pins")
    }
}

impl View<'_> {
    fn next(&self, table: &str) -> Result<u64, StoreError> {
        self.connection
            .prepare_cached(&format!("SELECT coalesce(max(num), 0) + 1 FROM {table}"))
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
            .map(i64::unsigned_abs)
            .map_err(|source| self.failed(source))
    }
}
