//! Operations that show the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_store::{StatusCounts, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figures::RequestFigures;
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::state::{FrameMetadata, StackState};
use crate::tree::{self, Children, TreeLine};

/// The most children of an open frame that a status shows: of each unfinished status the first, and of the finished
/// ones the newest.
const UNFINISHED: u32 = 12;
const FINISHED: u32 = 3;

/// Arguments of an operation that has none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// `stack_status`.
pub(crate) struct StatusOf;

/// Arguments of `stack_status`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusParams {
    /// Count only the frames of the session, and those below them
    own: Option<bool>,
    /// Also the figures of the session's requests, and the number of imported sessions
    figures: Option<bool>,
}

/// The open frames of a session, with those right below each.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct StatusOutput {
    session: String,
    /// The open frames, the outermost first
    stack: Vec<FrameMetadata>,
    /// The open frames with those right below each
    tree: Vec<TreeEntry>,
    /// Number of frames of each status
    counts: BTreeMap<String, u64>,
    /// Figures of the session's requests
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<RequestFigures>,
    /// Imported sessions, if there are any
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<ImportedSessions>,
}

/// Sessions that were imported. They are only counted.
#[derive(Clone, Serialize, JsonSchema)]
struct ImportedSessions {
    sessions: u64,
    /// Always false: what frames would have saved in them is measured elsewhere
    measured: bool,
}

/// A frame of the tree.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TreeEntry {
    /// Handle such as f12
    handle: String,
    /// Handle of the frame above it
    parent: Option<String>,
    title: String,
    success_criteria_compacted: String,
    status: Status,
    /// Whether it is the session's open frame
    active: bool,
    /// Whether it was left open in an imported session
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
}

impl Operate for StatusOf {
    const NAME: &'static str = "stack_status";
    const SUMMARY: &'static str = "The open frames of this session as a tree, with the frames right below each, \
        and how many frames there are.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    const TERMINAL_ARGUMENTS: &'static [&'static str] = &["own", "figures"];
    type Params = StatusParams;
    type Output = StatusOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: StatusParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        // Nobody works in a session that was only read from a recording.
        let is_recorded = engine.kernel.read(|view| view.is_recorded(&caller.session))?;
        let stack = if is_recorded { Vec::new() } else { engine.stack(&caller.session)? };
        let (children, hidden, counts, left_open) = engine.kernel.read(|view| {
            let (children, hidden) = around(view, &caller.session, &stack)?;
            Ok::<_, EngineError>((children, hidden, view.all_counts()?, view.left_open()?))
        })?;
        let own = params.own == Some(true);
        let counts = if own {
            let all = engine.tree(None)?;
            Counts::of(tree::of_session(&all, &caller.session).0)
        } else {
            Counts { of: counts, left_open: left_open.len() as u64 }
        };
        let lines = tree::drawn(children, stack.last().map(|frame| frame.num), &left_open);
        let mut text = String::new();
        if stack.is_empty() {
            text.push_str("No frame is open in this session.\n");
        }
        if !lines.is_empty() {
            text.push_str(&tree::plain(&lines));
        }
        for (frame, count) in hidden {
            let tool = engine.dialect().tool("stack_tree");
            // Writing to a string can't fail.
            let _ = writeln!(text, "{count} more right below {frame}: {tool} shows all.");
        }
        text.push_str(&counts.sentence(if own { "In this session" } else { "In all" }));
        let metadata = |frame| Ok(engine.metadata(frame)?.spoken(engine.dialect()));
        let open: Vec<_> = stack.iter().map(metadata).collect::<Result<_, EngineError>>()?;
        let data = StatusOutput {
            session: caller.session.clone(),
            stack: open,
            tree: lines.iter().map(TreeEntry::of).collect(),
            counts: counts.each().collect(),
            requests: None,
            imported: None,
        };
        let data =
            if params.figures == Some(true) { data.with_figures(engine, own)? } else { data };
        Ok(Reply::new("status", text, data))
    }
}

impl StatusOutput {
    /// Adds the figures of the session's requests and, unless only the session counts, the imported sessions.
    fn with_figures(self, engine: &Engine, own: bool) -> Result<Self, EngineError> {
        let requests = Some(RequestFigures::of(&engine.savings(&self.session)?));
        let sessions = if own { 0 } else { engine.imported_sessions()? };
        let imported = ImportedSessions { sessions, measured: false };
        Ok(Self { requests, imported: (sessions > 0).then_some(imported), ..self })
    }
}

impl TreeEntry {
    fn of(line: &TreeLine) -> Self {
        let frame = &line.frame;
        Self {
            handle: frame.num.to_string(),
            parent: frame.parent.map(|parent| parent.to_string()),
            title: frame.identity.title.clone(),
            success_criteria_compacted: frame.identity.success_criteria_compacted.clone(),
            status: frame.status,
            active: line.active,
            imported: line.left_open,
        }
    }
}

/// Returns the open frames of a session, or its root if none is open, with the frames right below each; and how many of
/// these are left out.
fn around(
    view: &View<'_>,
    session: &str,
    stack: &[Frame],
) -> Result<(Children, Vec<(FrameNum, u64)>), EngineError> {
    let mut stack = stack.to_vec();
    if stack.is_empty()
        && let Some(root) = view.session_row(session)?.and_then(|session| session.root)
    {
        stack.push(view.frame(root)?);
    }
    let mut hidden = Vec::new();
    let mut children = Children::new();
    for frame in &stack {
        let mut below = view.newest_finished_children(frame.num, FINISHED)?;
        for status in [Status::Blocked, Status::InProgress, Status::Planned] {
            below.extend(view.children_with(Some(frame.num), status, UNFINISHED)?);
        }
        let all: u64 = view.counts(Some(frame.num))?.values().sum();
        let left_out = all.saturating_sub(below.len() as u64);
        if left_out > 0 {
            hidden.push((frame.num, left_out));
        }
        children.insert(Some(frame.num), below);
    }
    children.insert(None, stack.into_iter().take(1).collect());
    Ok((children, hidden))
}

/// The number of frames of each status.
struct Counts {
    of: StatusCounts,
    /// The number of frames in progress that were left open in imported sessions.
    left_open: u64,
}

impl Counts {
    fn of<'l>(lines: impl IntoIterator<Item = &'l TreeLine>) -> Self {
        let mut counts = Self { of: StatusCounts::new(), left_open: 0 };
        for line in lines {
            *counts.of.entry(line.frame.status).or_default() += 1;
            counts.left_open += u64::from(line.left_open);
        }
        counts
    }

    /// Returns each status and its number of frames; those left open in imported sessions count as `imported` instead
    /// of in progress.
    fn each(&self) -> impl Iterator<Item = (String, u64)> {
        let left = |status| if status == Status::InProgress { self.left_open } else { 0 };
        let of = self
            .of
            .iter()
            .map(move |(status, count)| (status.to_string(), count.saturating_sub(left(*status))));
        of.chain([("imported".to_owned(), self.left_open)]).filter(|(_, count)| *count > 0)
    }

    /// Returns the numbers as text, such as "In all: 1 planned, 2 completed."
    fn sentence(&self, of: &str) -> String {
        let counts: Vec<_> =
            self.each().map(|(status, count)| format!("{count} {status}")).collect();
        format!("{of}: {}.", if counts.is_empty() { "none".into() } else { counts.join(", ") })
    }
}

/// `stack_tree`.
pub(crate) struct Tree;

/// Arguments of `stack_tree`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TreeParams {
    /// Only this frame, and those below it
    frame: Option<String>,
    /// Only the frames of this session, and those below them
    session: Option<String>,
}

impl Operate for Tree {
    const NAME: &'static str = "stack_tree";
    const SUMMARY: &'static str =
        "All frames as a tree, with their handles and statuses, a legend and statistics.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    const TERMINAL_ARGUMENTS: &'static [&'static str] = &["frame", "session"];
    type Params = TreeParams;
    type Output = StackState;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: TreeParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let top = match (&params.frame, &params.session) {
            (Some(frame), _) => Some(Top::Frame(engine.resolve(frame)?.num)),
            (None, Some(session)) => Some(Top::Session(engine.find_session(session)?.0)),
            (None, None) => None,
        };
        let mut lines = engine.tree(Some(&caller.session))?;
        let mut state = engine.state()?.spoken(engine.dialect());
        if let Some(top) = top {
            let (kept, outermost) = top.of(&lines);
            state.keep(&kept, outermost);
            lines.retain(|line| kept.contains(&line.frame.id));
        }
        let counts = Counts::of(&lines);
        let imported = match counts.left_open {
            0 => String::new(),
            _ => format!("  {} imported, never ended", tree::LEFT_OPEN),
        };
        let deepest = lines.iter().map(|line| line.frame.depth + 1).max().unwrap_or(0);
        let text = format!(
            "{}\n○ planned  ▶ in progress  ✓ completed  ✗ failed  ‖ blocked  ⊘ invalidated{imported}\n\
             {} Levels: {deepest}.",
            tree::plain(&lines),
            counts.sentence("In all")
        );
        Ok(Reply::new("tree", text, state))
    }
}

/// The outermost frames of a part of the tree.
enum Top {
    Frame(FrameNum),
    Session(String),
}

impl Top {
    /// Returns the ids of the part's frames, and of the outermost of them. `lines` are in drawing order.
    fn of(&self, lines: &[TreeLine]) -> (BTreeSet<String>, Vec<String>) {
        let (mut inside, mut kept, mut outermost) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for TreeLine { frame, .. } in lines {
            let is_below = frame.shown_below().is_some_and(|above| inside.contains(&above));
            let is_top = match self {
                Self::Frame(top) => frame.num == *top,
                Self::Session(session) => frame.session.as_ref() == Some(session),
            };
            if is_top && !is_below {
                outermost.push(frame.id.clone());
            }
            if is_top || is_below {
                inside.insert(frame.num);
                kept.insert(frame.id.clone());
            }
        }
        (kept, outermost)
    }
}

/// `stack_get_state`.
pub(crate) struct GetState;

impl Operate for GetState {
    const NAME: &'static str = "stack_get_state";
    const SUMMARY: &'static str = "The complete state as JSON.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = NoParams;
    type Output = StackState;

    fn run(engine: &Engine, _: &Caller, _: NoParams) -> Result<Reply<Self::Output>, EngineError> {
        let state = engine.state()?.spoken(engine.dialect());
        let text = serde_json::to_string(&state).map_err(EngineError::unwritable)?;
        Ok(Reply::new("state", text, state))
    }
}
