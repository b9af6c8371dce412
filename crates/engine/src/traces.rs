//! Sessions as traces, for exports: one at a time, since a project may have many.

mod steps;
mod tree;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use callstack_core::frame::FrameNum;
use callstack_core::secrets::mask;
use callstack_core::trace::{FrameContent, FrameTrace, SessionTrace, Step};
use callstack_store::View;

use crate::error::EngineError;
use crate::kernel::Kernel;

use steps::Steps;
use tree::Tree;

/// A request for the traces of a project.
#[derive(Clone, Debug, Default)]
pub struct TraceRequest {
    /// The frames.
    pub scope: TraceScope,
    /// Whether what was said comes along.
    pub content: bool,
    /// Whether secrets stand as they are instead of being masked.
    pub reveal: bool,
}

/// The frames of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TraceScope {
    /// All of them.
    #[default]
    Project,
    /// Those of a session, with all that is below them.
    Session(String),
    /// A frame, with all that is below it.
    Frame(FrameNum),
}

/// The sessions of a request, to be read one after the other.
pub struct Traced {
    request: TraceRequest,
    tree: Tree,
    /// Each with its frames.
    sessions: Vec<(String, Vec<FrameNum>)>,
}

impl fmt::Debug for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traced").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

impl Traced {
    /// The number of sessions.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }
}

/// Reads sessions as traces.
pub(crate) struct Traces {
    kernel: Arc<Kernel>,
}

impl Traces {
    pub(crate) fn new(kernel: &Arc<Kernel>) -> Self {
        Self { kernel: Arc::clone(kernel) }
    }

    /// Returns the sessions of a request, which [`Self::session`] reads. Reads every frame.
    pub(crate) fn find(&self, request: TraceRequest) -> Result<Traced, EngineError> {
        self.kernel.read(|view| {
            let mut tree = Tree::read(view)?;
            let mut sessions = tree.sessions(&request.scope);
            if request.scope == TraceScope::Project {
                let known: HashSet<&String> = sessions.iter().map(|(id, _)| id).collect();
                let all = view.sessions(u32::MAX)?.into_iter().rev();
                let others = all.map(|it| it.id).filter(|id| !known.contains(id));
                let others: Vec<_> = others.map(|id| (id, Vec::new())).collect();
                sessions.extend(others);
            }
            Ok(Traced { request, tree, sessions })
        })
    }

    /// Returns a session of a request, by its place; none where there is nothing in it.
    pub(crate) fn session(
        &self,
        traced: &Traced,
        place: usize,
    ) -> Result<Option<SessionTrace>, EngineError> {
        let Some((id, nums)) = traced.sessions.get(place) else { return Ok(None) };
        let Traced { request, tree, .. } = traced;
        self.kernel.read(|view| {
            let known = view.session_row(id)?;
            let mut session = SessionTrace {
                id: id.clone(),
                host: known.map(|known| known.host).unwrap_or_default(),
                steps: Steps::read(view, id, request)?,
                ..SessionTrace::default()
            };
            let is_whole = request.scope == TraceScope::Project
                || request.scope == TraceScope::Session(id.clone());
            if !is_whole {
                keep(&mut session, tree);
            }
            let own: HashSet<FrameNum> = nums.iter().copied().collect();
            let named = session.steps.iter().flat_map(frames_of);
            let guests: BTreeSet<FrameNum> = named.filter(|num| !own.contains(num)).collect();
            let read = |num: &FrameNum| -> Option<Result<FrameTrace, EngineError>> {
                let frame = tree.frame(*num)?.clone();
                Some(requested(view, frame, request))
            };
            session.frames = nums.iter().filter_map(read).collect::<Result<_, _>>()?;
            session.guests = guests.iter().filter_map(read).collect::<Result<_, _>>()?;
            Ok(Some(session).filter(|it| !it.frames.is_empty() || !it.steps.is_empty()))
        })
    }
}

/// The frames that a step and its calls are in.
fn frames_of(step: &Step) -> impl Iterator<Item = FrameNum> {
    step.frame.into_iter().chain(step.tools.iter().filter_map(|tool| tool.frame))
}

/// Drops the steps and calls that are in no frame of the request.
fn keep(session: &mut SessionTrace, tree: &Tree) {
    let is_meant = |frame: Option<FrameNum>| frame.is_some_and(|frame| tree.is_meant(frame));
    for step in &mut session.steps {
        step.tools.retain(|tool| is_meant(tool.frame));
        if !is_meant(step.frame) {
            (step.frame, step.call, step.tokens) = (None, None, 0);
        }
    }
    session.steps.retain(|step| step.frame.is_some() || !step.tools.is_empty());
}

/// Returns a frame as the request wants it.
fn requested(
    view: &View<'_>,
    mut frame: FrameTrace,
    request: &TraceRequest,
) -> Result<FrameTrace, EngineError> {
    let text = |text: String| masked(text, request.reveal);
    frame.title = text(frame.title);
    if request.content {
        let whole = view.frame(frame.num)?;
        frame.content = Some(FrameContent {
            criteria: text(whole.identity.success_criteria),
            results: whole.results.map(text),
        });
    }
    Ok(frame)
}

fn masked(text: String, reveal: bool) -> String {
    if reveal {
        return text;
    }
    match mask(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(masked) => masked,
    }
}
