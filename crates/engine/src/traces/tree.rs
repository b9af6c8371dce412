//! The tree of frames as traces need it: without texts of messages, by session.

use std::collections::{HashMap, HashSet};

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::trace::{FrameTrace, ParentTrace};
use callstack_store::View;

use super::TraceScope;
use crate::error::EngineError;

/// A frame with the session to which it is counted.
struct Known {
    trace: FrameTrace,
    parent: Option<FrameNum>,
    session: Option<String>,
}

/// All frames.
pub(super) struct Tree {
    frames: HashMap<FrameNum, Known>,
    /// Parents before their children, siblings in their order.
    order: Vec<FrameNum>,
    /// Those of the scope that was asked for.
    meant: HashSet<FrameNum>,
}

impl Tree {
    pub(super) fn read(view: &View<'_>) -> Result<Self, EngineError> {
        let mut frames = HashMap::new();
        let mut below: HashMap<Option<FrameNum>, Vec<FrameNum>> = HashMap::new();
        view.each_frame(|frame| {
            below.entry(frame.parent).or_default().push(frame.num);
            frames.insert(frame.num, known(frame));
        })?;
        let mut order = Vec::with_capacity(frames.len());
        let mut next: Vec<FrameNum> = below.remove(&None).unwrap_or_default();
        next.reverse();
        while let Some(num) = next.pop() {
            order.push(num);
            next.extend(below.remove(&Some(num)).unwrap_or_default().into_iter().rev());
        }
        let mut tree = Self { frames, order, meant: HashSet::new() };
        tree.relate();
        Ok(tree)
    }

    /// Adds to each frame the data of its parent. A frame that nobody worked in belongs to its parent's session.
    fn relate(&mut self) {
        for num in &self.order {
            let parent = self.frames.get(num).and_then(|known| known.parent);
            let Some(parent) = parent.and_then(|parent| self.frames.get(&parent)) else { continue };
            let (root, session) = (parent.trace.root.clone(), parent.session.clone());
            let around = ParentTrace {
                num: parent.trace.num,
                id: parent.trace.id.clone(),
                has_begun: parent.trace.begun_at.is_some(),
            };
            if let Some(known) = self.frames.get_mut(num) {
                known.session = known.session.take().or(session);
                (known.trace.root, known.trace.parent) = (root, Some(around));
            }
        }
    }

    /// Returns the sessions of a scope, each with its frames of the scope, in the order of their first frames.
    pub(super) fn sessions(&mut self, scope: &TraceScope) -> Vec<(String, Vec<FrameNum>)> {
        let mut sessions: Vec<(String, Vec<FrameNum>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for num in &self.order {
            let Some(known) = self.frames.get(num) else { continue };
            let is_below = known.parent.is_some_and(|parent| self.meant.contains(&parent));
            let is_meant = match scope {
                TraceScope::Project => true,
                TraceScope::Session(session) => known.session.as_deref() == Some(session),
                TraceScope::Frame(frame) => num == frame,
            };
            if !is_below && !is_meant {
                continue;
            }
            self.meant.insert(*num);
            let id = known.session.clone().unwrap_or_default();
            let place = *places.entry(id.clone()).or_insert(sessions.len());
            if place == sessions.len() {
                sessions.push((id, Vec::new()));
            }
            sessions[place].1.push(*num);
        }
        sessions
    }

    /// A frame.
    pub(super) fn frame(&self, num: FrameNum) -> Option<&FrameTrace> {
        self.frames.get(&num).map(|known| &known.trace)
    }

    /// Whether a frame is one of the scope whose sessions were asked for.
    pub(super) fn is_meant(&self, num: FrameNum) -> bool {
        self.meant.contains(&num)
    }
}

fn known(frame: Frame) -> Known {
    let is_planned = frame.status == Status::Planned;
    let begun_at = frame.begun_at.or((!is_planned).then_some(frame.created_at));
    Known {
        parent: frame.parent,
        session: frame.session,
        trace: FrameTrace {
            num: frame.num,
            root: frame.id.clone(),
            id: frame.id,
            parent: None,
            title: frame.identity.title,
            is_derived: frame.identity_derived,
            status: frame.status,
            begun_at,
            ended_at: frame.ended_at.filter(|_| frame.status.is_finished()),
            content: None,
        },
    }
}
