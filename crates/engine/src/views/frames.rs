//! The tree as a flat list, with the figures of each frame.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::event::RecordedFigures;
use callstack_core::frame::{FrameNum, Status, has_begun};
use callstack_core::secrets::mask;
use callstack_core::stored::{Author, Message};
use callstack_store::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Views;
use crate::error::EngineError;
use crate::tree::{ChangedFile, Checked, TreeLine, TreeNotes, of_session};

/// Characters of a frame's results.
const RESULTS: usize = 160;
/// The number of messages that are searched for the newest answer of an agent.
const NEWEST: u32 = 8;

/// A request for frames.
pub(crate) struct FrameRequest<'a> {
    /// The session whose frames are listed, with those below them; none for all.
    pub(crate) session: Option<&'a str>,
    /// The session whose open frame is the active one.
    pub(crate) callers: &'a str,
    /// A revision since which nothing may have changed.
    pub(crate) since: Option<i64>,
    pub(crate) detail: FrameDetail,
    /// Whether secrets stay in results that are cut.
    pub(crate) reveal: bool,
}

/// How much is said of frames and sessions. Usual are the beginning of results, the names of files and the agents of
/// sessions; titles come without these, and whole results with the lines of files and the figures of imported sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FrameDetail {
    #[default]
    Usual,
    Titles,
    Whole,
}

/// All frames as a flat list, each after the one above it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FrameList {
    /// The newest change of the store
    pub revision: i64,
    /// Whether nothing was changed since the revision that was asked for
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// Handle of the open frame
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// The frames
    pub frames: Vec<ListedFrame>,
    /// The sessions that worked in them
    pub sessions: Vec<ListedSession>,
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
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedFrame {
    /// Its handle, such as f12
    pub handle: String,
    /// Its id
    pub id: String,
    /// Handle of the frame below which it is shown
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Frames above it
    pub depth: u32,
    /// Its title
    pub title: String,
    /// Its status
    pub status: Status,
    /// The sign of the status in a tree
    pub sign: String,
    /// The session that works in it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The host's name of the agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Milliseconds since 1970, as all times here
    pub created_at: i64,
    /// When work in it first began
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<i64>,
    /// When it last ended
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// Its newest change
    pub updated_at: i64,
    /// Milliseconds for which it was worked in
    pub worked_ms: i64,
    /// Tokens of the work in it and below it
    pub tokens: usize,
    /// Those that are of no frame below it
    pub own_tokens: usize,
    /// The beginning of its results
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Files that it changed
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Lines that were added
    pub added: usize,
    /// Lines that were removed
    pub removed: usize,
    /// How its tests, linters and builds ended
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<CheckedView>,
    /// Number of its pins
    pub pins: usize,
    /// Number of its decisions
    pub decisions: usize,
    /// Whether it is the open frame
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub active: bool,
    /// Whether it is still sent step by step
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub still_sent: bool,
    /// Whether it was left open in an imported session
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// Whether nobody gave it its title
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
    /// Its results, in detail
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// Files that it changed, in detail
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangedFile>,
}

impl ListedFrame {
    /// Returns the time of work in it until it ended, or until `now`, in milliseconds; none for one that never began.
    pub fn worked(&self, now: i64) -> Option<i64> {
        let begun = self.begun_at.unwrap_or(self.created_at);
        let worked = self.ended_at.unwrap_or(now).saturating_sub(begun).max(0);
        has_begun(self.status, self.begun_at, self.session.as_deref()).then_some(worked)
    }
}

/// How tests, linters and builds of a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckedView {
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
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedSession {
    /// The host's id
    pub id: String,
    /// The program that it belongs to
    pub host: String,
    /// The session that started it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether it was only read from a recording
    pub recorded: bool,
    /// Handle of the frame that it works in
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// Handle of its first frame
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The host's name of the agent that answered last
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When a message of it was stored last; milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// What its recording tells of it, in detail
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<RecordedFigures>,
}

impl Views {
    /// Returns all frames, or those of a session with those below them.
    pub(crate) fn frames(&self, request: &FrameRequest<'_>) -> Result<FrameList, EngineError> {
        let revision = self.kernel.read(|view| Ok::<_, EngineError>(view.revision()?))?;
        let mut list = FrameList { revision, ..FrameList::default() };
        if request.since == Some(revision) {
            return Ok(FrameList { unchanged: true, ..list });
        }
        let lines = self.queries.tree(Some(request.session.unwrap_or(request.callers)))?;
        let notes = self.queries.tree_notes(&lines)?;
        list.sessions = self.kernel.read(|view| sessions(view, &notes, request.detail))?;
        let agents: BTreeMap<&str, &str> = list
            .sessions
            .iter()
            .filter_map(|session| Some((session.id.as_str(), session.agent.as_deref()?)))
            .collect();
        let own = own_tokens(&lines, &notes);
        let shown: Vec<&TreeLine> = match request.session {
            Some(session) => of_session(&lines, session).0,
            None => lines.iter().collect(),
        };
        list.active = shown.iter().find(|line| line.active).map(|it| it.frame.num.to_string());
        let now = self.kernel.now();
        let frames = shown.into_iter().map(|line| {
            let agent = line.frame.session.as_deref().and_then(|it| agents.get(it));
            let own = own.get(&line.frame.num).copied().unwrap_or_default();
            let listed = ListedFrame::of(line, &notes, (agent.copied(), own, now));
            listed.with_texts(line, &notes, request)
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
    ) -> Self {
        let frame = &line.frame;
        let changed = changes_of(line, notes);
        Self {
            handle: frame.num.to_string(),
            id: frame.id.clone(),
            parent: frame.shown_below().map(|above| above.to_string()),
            depth: frame.depth,
            title: frame.identity.title.clone(),
            status: frame.status,
            sign: line.sign().to_owned(),
            session: frame.session.clone(),
            agent: agent.map(str::to_owned),
            created_at: frame.created_at,
            begun_at: frame.begun_at,
            ended_at: frame.ended_at,
            updated_at: frame.updated_at,
            worked_ms: if line.left_open { 0 } else { frame.worked(now) },
            tokens: notes.tokens.get(&frame.num).copied().unwrap_or_default(),
            own_tokens,
            result: None,
            files: Vec::new(),
            added: changed.iter().map(|file| file.added).sum(),
            removed: changed.iter().map(|file| file.removed).sum(),
            checked: notes.checked.get(&frame.num).copied().map(CheckedView::of),
            pins: frame.pins.len(),
            decisions: frame.taken().count(),
            active: line.active,
            still_sent: line.still_sent,
            imported: line.left_open,
            derived: frame.identity_derived,
            results: None,
            changes: Vec::new(),
        }
    }

    /// Adds results and files, as far as they are asked for.
    fn with_texts(self, line: &TreeLine, notes: &TreeNotes, request: &FrameRequest<'_>) -> Self {
        let results = line.frame.results.as_deref();
        let changes = changes_of(line, notes);
        match request.detail {
            FrameDetail::Titles => self,
            FrameDetail::Usual => Self {
                result: results.map(|results| beginning(results, request.reveal)),
                files: changes.iter().map(|file| file.path.clone()).collect(),
                ..self
            },
            FrameDetail::Whole => {
                Self { results: results.map(str::to_owned), changes: changes.to_vec(), ..self }
            }
        }
    }
}

fn changes_of<'n>(line: &TreeLine, notes: &'n TreeNotes) -> &'n [ChangedFile] {
    notes.changed.get(&line.frame.num).map(Vec::as_slice).unwrap_or_default()
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

fn sessions(
    view: &View<'_>,
    notes: &TreeNotes,
    detail: FrameDetail,
) -> Result<Vec<ListedSession>, EngineError> {
    let recorded = view.recorded_sessions()?;
    let mut sessions = Vec::new();
    for session in view.sessions(u32::MAX)? {
        let (agent, at) = match detail {
            FrameDetail::Usual => (agent(view, &session.id)?, view.last_recorded(&session.id)?),
            FrameDetail::Titles | FrameDetail::Whole => (None, None),
        };
        let note = notes.sessions.get(&session.id).filter(|_| detail == FrameDetail::Whole);
        sessions.push(ListedSession {
            recorded: recorded.contains(&session.id),
            at,
            host: session.host,
            parent: session.parent,
            active: session.active.map(|frame| frame.to_string()),
            root: session.root.map(|frame| frame.to_string()),
            agent,
            figures: note.and_then(|note| note.figures),
            id: session.id,
        });
    }
    Ok(sessions)
}

/// Returns the host's name of the agent that answered last.
fn agent(view: &View<'_>, session: &str) -> Result<Option<String>, EngineError> {
    Ok(view.last_messages(session, NEWEST)?.into_iter().find_map(|message| {
        let message = Message::read(&message.json)?;
        // A host summarises with an agent of its own.
        message.agent.filter(|_| message.author == Some(Author::Assistant) && !message.is_summary)
    }))
}
