//! The tree as a flat list, with the figures of each frame.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::frame::{FrameNum, Status};
use callstack_core::secrets::mask;
use callstack_core::stored::{Author, Message};
use callstack_store::View;
use schemars::JsonSchema;
use serde::Serialize;

use super::Views;
use crate::error::EngineError;
use crate::tree::{Checked, TreeLine, TreeNotes, of_session};

/// Characters of a frame's results.
const RESULTS: usize = 160;
/// The number of messages that are searched for the newest answer of an agent.
const NEWEST: u32 = 8;

/// All frames as a flat list, each after the one above it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct FrameList {
    /// The newest change of the store
    revision: i64,
    /// Whether nothing was changed since the revision that was asked for
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
    /// Handle of the open frame
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<String>,
    pub(crate) frames: Vec<ListedFrame>,
    sessions: Vec<ListedSession>,
}

impl FrameList {
    /// Keeps only a frame and those below it, with their sessions.
    pub(crate) fn keep_below(&mut self, top: &str) {
        let mut kept = BTreeSet::from([top.to_owned()]);
        self.frames.retain(|frame| {
            let is_below = frame.parent.as_ref().is_some_and(|parent| kept.contains(parent));
            is_below && kept.insert(frame.handle.clone()) || frame.handle == top
        });
        let sessions: BTreeSet<_> =
            self.frames.iter().filter_map(|frame| frame.session.as_deref()).collect();
        self.sessions.retain(|session| sessions.contains(session.id.as_str()));
    }
}

/// A frame of the list. Tokens are estimated.
#[expect(
    clippy::struct_excessive_bools,
    reason = "fields of an answer, each of which says one thing"
)]
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedFrame {
    pub(crate) handle: String,
    id: String,
    /// Handle of the frame below which it is shown
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// Frames above it
    depth: u32,
    title: String,
    status: Status,
    /// The sign of the status in a tree
    sign: &'static str,
    /// The session that works in it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The host's name of the agent
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Milliseconds since 1970, as all times here
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    begun_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    updated_at: i64,
    /// Milliseconds for which it was worked in
    worked_ms: i64,
    /// Tokens of the work in it and below it
    tokens: usize,
    /// Those that are of no frame below it
    own_tokens: usize,
    /// The beginning of its results
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// Files that it changed
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// Lines that were added
    added: usize,
    /// Lines that were removed
    removed: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checked: Option<CheckedView>,
    /// Number of its pins
    pins: usize,
    /// Number of its decisions
    decisions: usize,
    /// Whether it is the open frame
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    active: bool,
    /// Whether it is still sent step by step
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    still_sent: bool,
    /// Whether it was left open in an imported session
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
    /// Whether nobody gave it its title
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    derived: bool,
}

/// How tests, linters and builds of a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckedView {
    /// All went well.
    Passed,
    /// All went well, and files were changed after the last of them.
    PassedBefore,
    /// One failed.
    Failed,
}

impl CheckedView {
    pub(super) fn of(checked: Checked) -> Self {
        match checked {
            Checked::Passed => Self::Passed,
            Checked::PassedBefore => Self::PassedBefore,
            Checked::Failed => Self::Failed,
        }
    }
}

/// A session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ListedSession {
    id: String,
    /// The program that it belongs to
    host: String,
    /// The session that started it
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// Whether it was only read from a recording
    recorded: bool,
    /// Handle of the frame that it works in
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<String>,
    /// Handle of its first frame
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    /// The host's name of the agent that answered last
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// When a message of it was stored last; milliseconds since 1970
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
}

impl Views {
    /// Returns all frames, or those of a session with those below them. `callers` is the session whose open frame is
    /// the active one.
    pub(crate) fn frames(
        &self,
        session: Option<&str>,
        callers: &str,
        since: Option<i64>,
        reveal: bool,
    ) -> Result<FrameList, EngineError> {
        let revision = self.kernel.read(|view| Ok::<_, EngineError>(view.revision()?))?;
        let mut list = FrameList {
            revision,
            unchanged: since == Some(revision),
            active: None,
            frames: Vec::new(),
            sessions: Vec::new(),
        };
        if list.unchanged {
            return Ok(list);
        }
        let lines = self.queries.tree(Some(session.unwrap_or(callers)))?;
        let notes = self.queries.tree_notes(&lines)?;
        list.sessions = self.kernel.read(sessions)?;
        let agents: BTreeMap<&str, &str> = list
            .sessions
            .iter()
            .filter_map(|session| Some((session.id.as_str(), session.agent.as_deref()?)))
            .collect();
        let own = own_tokens(&lines, &notes);
        let shown: Vec<&TreeLine> = match session {
            Some(session) => of_session(&lines, session).0,
            None => lines.iter().collect(),
        };
        list.active = shown.iter().find(|line| line.active).map(|it| it.frame.num.to_string());
        let now = self.kernel.now();
        let frames = shown.into_iter().map(|line| {
            let agent = line.frame.session.as_deref().and_then(|it| agents.get(it));
            let own = own.get(&line.frame.num).copied().unwrap_or_default();
            ListedFrame::of(line, &notes, (agent.copied(), own, now), reveal)
        });
        list.frames = frames.collect();
        Ok(list)
    }
}

impl ListedFrame {
    fn of(
        line: &TreeLine,
        notes: &TreeNotes,
        (agent, own_tokens, now): (Option<&str>, usize, i64),
        reveal: bool,
    ) -> Self {
        let frame = &line.frame;
        let changed = notes.changed.get(&frame.num).map(Vec::as_slice).unwrap_or_default();
        Self {
            handle: frame.num.to_string(),
            id: frame.id.clone(),
            parent: frame.shown_below().map(|above| above.to_string()),
            depth: frame.depth,
            title: frame.identity.title.clone(),
            status: frame.status,
            sign: line.sign(),
            session: frame.session.clone(),
            agent: agent.map(str::to_owned),
            created_at: frame.created_at,
            begun_at: frame.begun_at,
            ended_at: frame.ended_at,
            updated_at: frame.updated_at,
            worked_ms: if line.left_open { 0 } else { frame.worked(now) },
            tokens: notes.tokens.get(&frame.num).copied().unwrap_or_default(),
            own_tokens,
            result: frame.results.as_deref().map(|results| beginning(results, reveal)),
            files: changed.iter().map(|file| file.path.clone()).collect(),
            added: changed.iter().map(|file| file.added).sum(),
            removed: changed.iter().map(|file| file.removed).sum(),
            checked: notes.checked.get(&frame.num).copied().map(CheckedView::of),
            pins: frame.pins.len(),
            decisions: frame.taken().count(),
            active: line.active,
            still_sent: line.still_sent,
            imported: line.left_open,
            derived: frame.identity_derived,
        }
    }
}

/// The beginning of results in one line. Secrets are masked before it is cut.
fn beginning(results: &str, reveal: bool) -> String {
    let masked = mask(results);
    let results = if reveal { results } else { masked.as_ref() };
    let line: Vec<&str> = results.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(RESULTS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns the tokens of each frame that belong to no frame below it.
fn own_tokens(lines: &[TreeLine], notes: &TreeNotes) -> BTreeMap<FrameNum, usize> {
    let mut own = notes.tokens.clone();
    for line in lines {
        let Some(above) = line.frame.shown_below() else { continue };
        let below = notes.tokens.get(&line.frame.num).copied().unwrap_or_default();
        if let Some(own) = own.get_mut(&above) {
            *own = own.saturating_sub(below);
        }
    }
    own
}

fn sessions(view: &View<'_>) -> Result<Vec<ListedSession>, EngineError> {
    let recorded = view.recorded_sessions()?;
    let mut sessions = Vec::new();
    for session in view.sessions(u32::MAX)? {
        let agent = view.last_messages(&session.id, NEWEST)?.into_iter().find_map(|message| {
            let message = Message::read(&message.json)?;
            // A host summarises with an agent of its own.
            message
                .agent
                .filter(|_| message.author == Some(Author::Assistant) && !message.is_summary)
        });
        sessions.push(ListedSession {
            recorded: recorded.contains(&session.id),
            at: view.last_recorded(&session.id)?,
            host: session.host,
            parent: session.parent,
            active: session.active.map(|frame| frame.to_string()),
            root: session.root.map(|frame| frame.to_string()),
            agent,
            id: session.id,
        });
    }
    Ok(sessions)
}
