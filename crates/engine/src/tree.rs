//! The tree as text, for agents and terminals.

mod sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use callstack_core::event::{RecordedFigures, Session};
use callstack_core::evidence::FileChange;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::text::{CUT, truncate_to_token_budget};
use callstack_core::xml::one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::queries::Queries;
use crate::still_sent::still_sent;

use sizes::add_uncounted;

/// Estimated tokens of a frame's criteria in a tree.
const CRITERIA: usize = 40;

/// The sign of a frame that never ended in a session that was imported.
pub const LEFT_OPEN: &str = "◌";

/// One line of a drawn tree.
#[derive(Clone, Debug)]
pub struct TreeLine {
    /// The branches before the frame.
    pub branches: String,
    /// The frame.
    pub frame: Frame,
    /// Whether it is the one that the session (or, without one, anybody last) works in.
    pub active: bool,
    /// Whether it never ended in a session that was imported.
    pub left_open: bool,
    /// Whether it is finished but still sent step by step, since folding it was not worth it.
    pub still_sent: bool,
}

impl TreeLine {
    /// The sign before its handle.
    pub fn sign(&self) -> &'static str {
        if self.left_open { LEFT_OPEN } else { sign(self.frame.status) }
    }

    /// Returns its status, or `imported` if it was left open in an imported session.
    pub fn status(&self) -> &'static str {
        if self.left_open { "imported" } else { self.frame.status.as_str() }
    }
}

/// A file that was changed, and by how many lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Its path, as the agent named it.
    pub path: String,
    /// Lines that were added.
    pub added: usize,
    /// Lines that were removed.
    pub removed: usize,
}

/// Notes of a drawn tree beside the titles of frames.
#[derive(Clone, Debug, Default)]
pub struct TreeNotes {
    /// Files that frames changed, as their evidence says.
    pub changed: BTreeMap<FrameNum, Vec<ChangedFile>>,
    /// The outcome of the tests, linters and builds of frames, where that is known.
    pub checked: BTreeMap<FrameNum, Checked>,
    /// Estimated tokens of the work in frames and in those below them.
    pub tokens: BTreeMap<FrameNum, usize>,
    /// Sessions by their ids.
    pub sessions: BTreeMap<String, SessionNote>,
}

/// The outcome of the tests, linters and builds of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// All went well.
    Passed,
    /// All went well, and files were changed after the last of them.
    PassedBefore,
    /// One failed.
    Failed,
}

/// A drawn tree's note on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionNote {
    /// The agent that it is a conversation of: `opencode`, `cli`.
    pub host: String,
    /// Whether it was only read from a recording.
    pub recorded: bool,
    /// Its figures, as far as they are known.
    pub figures: Option<RecordedFigures>,
}

impl Queries {
    /// Returns the number of imported sessions.
    pub(crate) fn imported_sessions(&self) -> Result<u64, EngineError> {
        self.kernel.read(|view| Ok(view.recorded_sessions()?.len() as u64))
    }

    /// Whether a frame never ended in a session that was imported.
    pub(crate) fn is_left_open(&self, frame: &Frame) -> Result<bool, EngineError> {
        match &frame.session {
            Some(session) if frame.status == Status::InProgress => {
                Ok(self.kernel.read(|view| view.is_recorded(session))?)
            }
            _ => Ok(false),
        }
    }

    /// The notes to the frames of a tree. Reads the evidence of all frames.
    pub(crate) fn tree_notes(&self, lines: &[TreeLine]) -> Result<TreeNotes, EngineError> {
        self.kernel.read(|view| {
            let mut notes = TreeNotes::default();
            for (frame, evidence) in view.all_evidence()? {
                let ends: Vec<bool> = evidence.checks.iter().filter_map(|run| run.passed).collect();
                if !ends.is_empty() {
                    let checked = match (ends.contains(&false), evidence.unchecked.is_empty()) {
                        (true, _) => Checked::Failed,
                        (false, true) => Checked::Passed,
                        (false, false) => Checked::PassedBefore,
                    };
                    notes.checked.insert(frame, checked);
                }
                notes.tokens.insert(frame, evidence.tokens);
                let file = |change: FileChange| {
                    let FileChange { path, added, removed, .. } = change;
                    ChangedFile { path, added, removed }
                };
                notes.changed.insert(frame, evidence.changes.into_iter().map(file).collect());
            }
            let recorded = view.recorded_sessions()?;
            let figures = view.recorded_figures()?;
            let note = |session: Session| {
                let recorded = recorded.contains(&session.id);
                let figures = figures.get(&session.id).copied();
                (session.id, SessionNote { host: session.host, recorded, figures })
            };
            notes.sessions = view.sessions(u32::MAX)?.into_iter().map(note).collect();
            add_uncounted(view, lines, &mut notes)?;
            Ok(notes)
        })
    }

    /// The tree in drawing order: below each frame its children, in the order in which they came to
    /// be. `session` decides which frame counts as active.
    pub(crate) fn tree(&self, session: Option<&str>) -> Result<Vec<TreeLine>, EngineError> {
        let (frames, active, left_open, still_sent) = self.kernel.read(|view| {
            let active = match session {
                Some(session) if view.is_recorded(session)? => None,
                Some(session) => view.session_row(session)?.and_then(|session| session.active),
                None => view.most_recently_active()?,
            };
            let left_open = view.left_open()?;
            Ok::<_, EngineError>((view.all_frames()?, active, left_open, still_sent(view, None)?))
        })?;
        let mut children = Children::new();
        for frame in frames {
            children.entry(frame.shown_below()).or_default().push(frame);
        }
        let mut lines = drawn(children, active, &left_open);
        for line in &mut lines {
            line.still_sent = still_sent.contains_key(&line.frame.num);
        }
        Ok(lines)
    }
}

/// The lines of a session's frames and of all below these, with the outermost of them, wherever they stand.
/// `lines` are in drawing order.
pub fn of_session<'l>(lines: &'l [TreeLine], session: &str) -> (Vec<&'l TreeLine>, Vec<FrameNum>) {
    let mut inside = BTreeSet::new();
    let mut outermost = Vec::new();
    let is_meant = |line: &&TreeLine| -> bool {
        let frame = &line.frame;
        let is_below = frame.shown_below().is_some_and(|above| inside.contains(&above));
        let is_own = frame.session.as_deref() == Some(session);
        if is_own && !is_below {
            outermost.push(frame.num);
        }
        (is_own || is_below) && inside.insert(frame.num)
    };
    (lines.iter().filter(is_meant).collect(), outermost)
}

/// Raises the tokens of each frame to at least those of the frames below it: work in their sessions, or without an
/// end yet, is not counted at the frame itself. `lines` are in drawing order.
pub(crate) fn add_up(tokens: &mut BTreeMap<FrameNum, usize>, lines: &[TreeLine]) {
    let mut below: BTreeMap<FrameNum, usize> = BTreeMap::new();
    for line in lines.iter().rev() {
        let num = line.frame.num;
        let own = tokens.get(&num).copied().unwrap_or(0);
        let all = own.max(below.get(&num).copied().unwrap_or(0));
        tokens.insert(num, all);
        if let Some(parent) = line.frame.shown_below() {
            *below.entry(parent).or_default() += all;
        }
    }
    tokens.retain(|_, tokens| *tokens > 0);
}

/// Frames by the one below which they are drawn; the roots below none.
pub(crate) type Children = BTreeMap<Option<FrameNum>, Vec<Frame>>;

/// The lines of a tree.
pub(crate) fn drawn(
    mut children: Children,
    active: Option<FrameNum>,
    left_open: &BTreeSet<FrameNum>,
) -> Vec<TreeLine> {
    let mut lines = Vec::new();
    for root in children.remove(&None).unwrap_or_default() {
        draw(root, "", "", active, &mut children, &mut lines);
    }
    for line in &mut lines {
        line.left_open = left_open.contains(&line.frame.num);
    }
    lines
}

fn draw(
    frame: Frame,
    before: &str,
    below: &str,
    active: Option<FrameNum>,
    children: &mut Children,
    lines: &mut Vec<TreeLine>,
) {
    let num = frame.num;
    let active_here = active == Some(num);
    let branches = before.to_owned();
    lines.push(TreeLine {
        branches,
        frame,
        active: active_here,
        left_open: false,
        still_sent: false,
    });
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

/// Returns the tree as plain text, with the criteria of unfinished frames.
pub(crate) fn plain(lines: &[TreeLine]) -> String {
    let mut text = String::new();
    for line in lines {
        let active = if line.active { "  ← active" } else { "" };
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{}{} {} {} [{}]{}{active}",
            line.branches,
            line.sign(),
            line.frame.num,
            line.frame.identity.title_line(),
            line.status(),
            criteria(&line.frame)
        );
    }
    if text.is_empty() {
        text.push_str("There are no frames yet.\n");
    }
    text
}

/// The dense criteria of a frame that is not finished, where they say more than its title.
fn criteria(frame: &Frame) -> String {
    let criteria = frame.identity.success_criteria_compacted.trim();
    // The title of an automatic frame is the beginning of the request, which is its criteria.
    let repeats = frame.identity_derived || criteria == frame.identity.title.trim();
    if frame.status.is_finished() || repeats || criteria.is_empty() {
        return String::new();
    }
    format!(": {}", one_line(&truncate_to_token_budget(criteria, CRITERIA, CUT)))
}
