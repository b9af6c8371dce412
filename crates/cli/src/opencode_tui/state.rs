//! The state of a session as the plugin draws it.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::control::escape_line;
use callstack_core::frame::Status;
use callstack_engine::tree::{LEFT_OPEN, sign};
use callstack_engine::{EngineError, FrameList, FrameMetadata, Kind, ListedFrame, RequestFigures};
use callstack_replay::short;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::project::Open;
use crate::error::CommandError;
use crate::page::took;

/// The state of a session as it is shown.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct State {
    session: String,
    /// Whether the rows are the whole tree.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    all: bool,
    /// Why there is nothing to be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    rows: Vec<Row>,
    /// The open frames, the outermost first.
    stack: Vec<OnStack>,
    /// The criteria of the open frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    criteria: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<Window>,
    /// The savings, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<String>,
}

/// A line of the tree.
#[derive(Clone, Debug, Serialize)]
struct Row {
    handle: String,
    depth: u32,
    sign: &'static str,
    status: Status,
    title: String,
    /// A word or a figure at the end of the line.
    badge: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    active: bool,
    /// The session that works in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct OnStack {
    handle: String,
    title: String,
}

/// The size of the session's next request, in tokens.
#[derive(Clone, Debug, Serialize)]
struct Window {
    used: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// Its figures in words.
    told: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Part {
    kind: String,
    tokens: u64,
}

/// The data of `stack_window`, as far as they are shown.
#[derive(Deserialize)]
struct WindowData {
    tokens: u64,
    limit: Option<u64>,
    basis: String,
    parts: Vec<Part>,
}

/// The data of `stack_status`, as far as they are shown.
#[derive(Deserialize)]
struct StatusData {
    stack: Vec<FrameMetadata>,
    tree: Vec<Entry>,
    requests: RequestFigures,
}

#[derive(Deserialize)]
struct Entry {
    handle: String,
    parent: Option<String>,
    title: String,
    status: Status,
    active: bool,
    #[serde(default)]
    imported: bool,
}

impl State {
    /// Returns the state of a session of which no frames can be shown, with the reason if people should see it.
    pub(super) fn without_frames(session: &str, all: bool, trouble: Option<String>) -> Self {
        let trouble = trouble.map(|why| line(&why));
        Self { session: session.to_owned(), all, trouble, ..Self::default() }
    }
}

/// Reads the state of a session: the open frames and those right below them or, with `all`, the whole tree.
pub(super) fn read(open: &Open, session: &str, all: bool) -> Result<State, CommandError> {
    if !open.frame_mode()? {
        let off = "frame mode is off: `callstack config` turns it on".to_owned();
        return Ok(State::without_frames(session, all, Some(off)));
    }
    // No message of a new session is known yet.
    match open.find_session(session) {
        Err(error) if error.kind == Kind::NotFound => {
            return Ok(State::without_frames(session, all, None));
        }
        found => found.map(drop)?,
    }
    let data = open.run(Some(session), "stack_status", json!({"figures": true}))?.data;
    let status: StatusData = serde_json::from_value(data).map_err(CommandError::of_shape)?;
    let stack = status
        .stack
        .iter()
        .map(|frame| OnStack { handle: frame.handle.clone(), title: line(&frame.title) });
    // The title of a frame that nobody pushed is the beginning of the request, which is its criteria.
    let says_more = |frame: &&FrameMetadata| {
        !frame.derived && frame.success_criteria.trim() != frame.title.trim()
    };
    let open_frame = status.stack.last().filter(says_more);
    let criteria = open_frame.map(|frame| line(&frame.success_criteria));
    let total = &status.requests.total;
    let (sent, without) = (total.sent, total.estimated_without.sent);
    let saved = (total.requests > 0).then(|| match without.saturating_sub(sent) {
        0 => "nothing saved yet".to_owned(),
        saved => format!("saved about {} of {} tokens", short(saved), short(without)),
    });
    Ok(State {
        session: session.to_owned(),
        all,
        trouble: None,
        stack: stack.collect(),
        criteria: criteria.filter(|text| !text.is_empty()),
        window: window(open, session)?,
        saved,
        rows: if all { whole(open, session)? } else { around(open, &status)? },
    })
}

/// The open frames with those right below each.
fn around(open: &Open, status: &StatusData) -> Result<Vec<Row>, EngineError> {
    let mut depths: BTreeMap<&str, u32> = BTreeMap::new();
    let mut rows = Vec::new();
    for entry in &status.tree {
        let above = entry.parent.as_deref().and_then(|parent| depths.get(parent));
        let depth = above.map_or(0, |above| above + 1);
        depths.insert(&entry.handle, depth);
        let frame = open.resolve(&entry.handle)?;
        rows.push(Row {
            handle: entry.handle.clone(),
            depth,
            sign: if entry.imported { LEFT_OPEN } else { sign(entry.status) },
            status: entry.status,
            title: line(&entry.title),
            badge: badge(frame.status, entry.imported, frame.worked(frame.updated_at)),
            active: entry.active,
            session: frame.session,
        });
    }
    Ok(rows)
}

/// The tree of the session that a session belongs to; every tree if it has no frames.
fn whole(open: &Open, session: &str) -> Result<Vec<Row>, CommandError> {
    let data = open.run(Some(session), "stack_frames", json!({"detail": "titles"}))?.data;
    let list: FrameList = serde_json::from_value(data).map_err(CommandError::of_shape)?;
    let frames = list.frames;
    let own = frames.iter().position(|frame| frame.session.as_deref() == Some(session));
    let root = own.and_then(|own| frames.get(..=own)?.iter().rev().find(|it| it.parent.is_none()));
    let first = root.and_then(|root| root.session.as_deref());
    let mut inside = BTreeSet::new();
    let mut depths: BTreeMap<&str, u32> = BTreeMap::new();
    let mut rows = Vec::with_capacity(frames.len());
    for frame in &frames {
        let is_below = frame.parent.as_deref().is_some_and(|above| inside.contains(above));
        if first.is_some() && !is_below && frame.session.as_deref() != first {
            continue;
        }
        inside.insert(frame.handle.as_str());
        let above = frame.parent.as_deref().and_then(|above| depths.get(above));
        let depth = above.map_or(0, |above| above + 1);
        depths.insert(&frame.handle, depth);
        rows.push(Row {
            handle: frame.handle.clone(),
            depth,
            sign: if frame.imported { LEFT_OPEN } else { sign(frame.status) },
            status: frame.status,
            title: line(&frame.title),
            badge: noted(frame),
            active: frame.active,
            session: frame.session.clone(),
        });
    }
    Ok(rows)
}

fn badge(status: Status, imported: bool, worked: i64) -> String {
    match status {
        _ if imported => "imported".to_owned(),
        Status::InProgress => "open".to_owned(),
        Status::Completed => took(worked),
        other => other.to_string(),
    }
}

fn noted(frame: &ListedFrame) -> String {
    let worked = frame.worked(frame.updated_at).unwrap_or_default();
    let badge = badge(frame.status, frame.imported, worked);
    match frame.tokens {
        0 => format!("{badge}      "),
        tokens => format!("{badge} {:>5}", short(tokens as u64)),
    }
}

/// Returns the size of the session's next request; none before the host has reported one.
fn window(open: &Open, session: &str) -> Result<Option<Window>, CommandError> {
    let data = open.run(Some(session), "stack_window", json!({}))?.data;
    let data: WindowData = serde_json::from_value(data).map_err(CommandError::of_shape)?;
    // Without a count of the host, the system prompt and the tools would be missing in it.
    let used = Some(data.tokens).filter(|_| data.basis == "reported");
    Ok(used.map(|used| Window::of(used, data.limit, data.parts)))
}

impl Window {
    fn of(used: u64, limit: Option<u64>, parts: Vec<Part>) -> Self {
        let limit = limit.filter(|limit| *limit > 0);
        let told = match limit {
            Some(limit) => {
                let share = used.saturating_mul(100).saturating_add(limit / 2) / limit;
                format!("{} of {} ({share} %)", short(used), short(limit))
            }
            None => format!("{} tokens", short(used)),
        };
        Self { used, limit, told, parts }
    }
}

/// A text on one line, which can't control a terminal.
fn line(text: &str) -> String {
    escape_line(text.split_whitespace().collect::<Vec<_>>().join(" ").as_str()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_shown_with_its_limit_where_it_is_known() {
        let parts = || vec![Part { kind: "system".to_owned(), tokens: 40_123 }];
        assert_eq!(Window::of(40_123, Some(200_000), parts()).told, "40k of 200k (20 %)");
        assert_eq!(Window::of(40_123, None, parts()).told, "40k tokens");
        assert_eq!(Window::of(0, Some(0), Vec::new()).told, "0 tokens");
    }
}
