//! The tree as text, for agents and terminals.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callstack_core::frame::{Frame, FrameNum, Status};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::still_sent::still_sent;

/// One line of a drawn tree.
#[derive(Clone, Debug)]
pub struct TreeLine {
    /// The branches before the frame.
    pub branches: String,
    /// The frame.
    pub frame: Frame,
    /// Whether it is the one that the session (or, without one, anybody last) works in.
    pub active: bool,
    /// Whether it is finished but still sent step by step, since folding it was not worth it.
    pub still_sent: bool,
}

impl Engine {
    /// The tree in drawing order: below each frame its children, in the order in which they came to
    /// be. `session` decides which frame counts as active.
    pub fn tree(&self, session: Option<&str>) -> Result<Vec<TreeLine>, EngineError> {
        let (frames, active, still_sent) = self.store.read(|view| {
            let active = match session {
                Some(session) => view.session_row(session)?.and_then(|session| session.active),
                None => view.most_recently_active()?,
            };
            Ok::<_, EngineError>((view.all_frames()?, active, still_sent(view, None)?))
        })?;
        let mut children: BTreeMap<Option<FrameNum>, Vec<Frame>> = BTreeMap::new();
        for frame in frames {
            children.entry(frame.shown_below()).or_default().push(frame);
        }
        let mut lines = Vec::new();
        for root in children.remove(&None).unwrap_or_default() {
            draw(root, "", "", active, &mut children, &mut lines);
        }
        for line in &mut lines {
            line.still_sent = still_sent.contains_key(&line.frame.num);
        }
        Ok(lines)
    }
}

fn draw(
    frame: Frame,
    before: &str,
    below: &str,
    active: Option<FrameNum>,
    children: &mut BTreeMap<Option<FrameNum>, Vec<Frame>>,
    lines: &mut Vec<TreeLine>,
) {
    let num = frame.num;
    let active_here = active == Some(num);
    let branches = before.to_owned();
    lines.push(TreeLine { branches, frame, active: active_here, still_sent: false });
    let inner = children.remove(&Some(num)).unwrap_or_default();
    let count = inner.len();
    for (at, child) in inner.into_iter().enumerate() {
        let (branch, rest) =
            if at + 1 == count { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let before = format!("{below}{branch}");
        let below = format!("{below}{rest}");
        draw(child, &before, &below, active, children, lines);
    }
}

/// The sign of a status in a drawn tree.
pub fn sign(status: Status) -> &'static str {
    match status {
        Status::Planned => "○",
        Status::InProgress => "▶",
        Status::Completed => "✓",
        Status::Failed => "✗",
        Status::Blocked => "‖",
        Status::Invalidated => "⊘",
    }
}

/// The tree as plain text with a legend.
pub(crate) fn plain(lines: &[TreeLine]) -> String {
    let mut text = String::new();
    for line in lines {
        let active = if line.active { "  ← active" } else { "" };
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{}{} {} {} [{}]{active}",
            line.branches,
            sign(line.frame.status),
            line.frame.num,
            line.frame.identity.title,
            line.frame.status
        );
    }
    if text.is_empty() {
        text.push_str("There are no frames yet.\n");
    }
    text
}
