//! The frames of the tree, ready to be drawn.

use std::collections::HashMap;

use callstack_core::control::escape_line;
use callstack_core::frame::{FrameNum, Status};
use callstack_engine::tree::{LEFT_OPEN, sign};
use callstack_engine::{FrameList, ListedSession};

/// A frame in the tree. Nothing in its texts steers a terminal.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mark of its own")]
pub(crate) struct Row {
    pub(crate) num: FrameNum,
    pub(crate) depth: usize,
    pub(crate) title: String,
    /// The text that a filter searches, in small letters.
    pub(crate) words: String,
    pub(crate) status: Status,
    pub(crate) sign: &'static str,
    /// Whether its session works in it now.
    pub(crate) active: bool,
    pub(crate) left_open: bool,
    pub(crate) still_sent: bool,
    /// Whether it is worked on in another session than the frame above it.
    pub(crate) own_session: bool,
    pub(crate) has_children: bool,
    pub(crate) session: Option<String>,
    /// The program of its session.
    pub(crate) host: Option<String>,
    /// Estimated tokens of the work in it and below it.
    pub(crate) tokens: u64,
    begun: i64,
    /// The end of work in it; none while it goes on.
    ended: Option<i64>,
    never_began: bool,
}

impl Row {
    /// Returns the time of work in it until `now`, in milliseconds; none for one that never began.
    pub(crate) fn worked(&self, now: i64) -> Option<i64> {
        let until = self.ended.unwrap_or(now);
        (!self.never_began).then(|| until.saturating_sub(self.begun).max(0))
    }

    /// Whether it is worked in, or waits for work.
    pub(crate) fn is_unfinished(&self) -> bool {
        !self.left_open
            && matches!(self.status, Status::InProgress | Status::Planned | Status::Blocked)
    }
}

/// Returns the rows of a tree, in its order.
pub(crate) fn rows(list: &FrameList) -> Vec<Row> {
    let mut depths: HashMap<&str, usize> = HashMap::with_capacity(list.frames.len());
    let mut own_sessions: HashMap<&str, &str> = HashMap::with_capacity(list.frames.len());
    let sessions: HashMap<&str, &ListedSession> =
        list.sessions.iter().map(|session| (session.id.as_str(), session)).collect();
    let mut rows: Vec<Row> = Vec::with_capacity(list.frames.len());
    for frame in &list.frames {
        let Ok(num) = frame.handle.parse() else { continue };
        let above = frame.parent.as_deref();
        let depth = above.and_then(|above| depths.get(above)).map_or(0, |above| above + 1);
        depths.insert(&frame.handle, depth);
        let above = above.and_then(|above| own_sessions.get(above).copied());
        let own = frame.session.as_deref();
        let own_session = above.is_some() && own.is_some() && own != above;
        own_sessions.extend(own.map(|own| (frame.handle.as_str(), own)));
        let session = own.and_then(|own| sessions.get(own));
        let title = escape_line(&frame.title).into_owned();
        let host = session.map(|session| session.host.clone());
        let status = if frame.imported { "imported" } else { frame.status.as_str() };
        let status = status.replace('_', " ");
        let words = format!("{num} {title} {status} {}", host.as_deref().unwrap_or(""));
        // Nobody goes on with a recording.
        let stands = session.is_some_and(|it| it.recorded).then_some(frame.updated_at);
        if let Some(above) = rows.last_mut() {
            above.has_children = depth > above.depth;
        }
        rows.push(Row {
            num,
            depth,
            words: words.to_lowercase(),
            title,
            status: frame.status,
            sign: if frame.imported { LEFT_OPEN } else { sign(frame.status) },
            active: frame.active,
            left_open: frame.imported,
            still_sent: frame.still_sent,
            own_session,
            has_children: false,
            session: frame.session.clone(),
            host,
            tokens: frame.tokens as u64,
            begun: frame.begun_at.unwrap_or(frame.created_at),
            ended: frame.ended_at.or(stands),
            never_began: frame.worked(i64::MAX).is_none_or(|worked| worked == 0),
        });
    }
    rows
}

#[cfg(test)]
impl Row {
    /// A row of a test's tree: its number, depth, title and status.
    pub(crate) fn of(num: u64, depth: usize, title: &str, status: Status) -> Self {
        let title = escape_line(title).into_owned();
        Self {
            num: FrameNum(num),
            depth,
            words: format!("f{num} {title} {}", status.as_str().replace('_', " ")).to_lowercase(),
            title,
            status,
            sign: sign(status),
            active: false,
            left_open: false,
            still_sent: false,
            own_session: false,
            has_children: false,
            session: Some("ses_1".to_owned()),
            host: Some("opencode".to_owned()),
            tokens: 1_000 * num,
            begun: 0,
            ended: status.is_finished().then_some(166_000),
            never_began: status == Status::Planned,
        }
    }

    /// Returns rows in drawing order, each with whether frames stand below it.
    pub(crate) fn tree(mut rows: Vec<Self>) -> Vec<Self> {
        let depths: Vec<_> = rows.iter().skip(1).map(|row| row.depth).chain([0]).collect();
        for (row, next) in rows.iter_mut().zip(depths) {
            row.has_children = next > row.depth;
        }
        rows
    }
}
