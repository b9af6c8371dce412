//! Many finished children become one.

use super::life::attached;
use super::{Decision, Neighbourhood, Refusal, about};
use crate::event::Event;
use crate::frame::{Artifact, Frame, FrameNum, Identity, Status};
use crate::results::ResultsSource;

/// The prefix of the ids of frames that replace others.
pub const CONSOLIDATED: &str = "sum-";

/// Replace finished children of one parent by a new completed frame. They keep their results and their logs, and are
/// shown below it.
#[derive(Clone, Debug)]
pub struct Consolidate {
    /// The parent.
    pub parent: FrameNum,
    /// The children, at least two.
    pub children: Vec<FrameNum>,
    /// The id of the new frame.
    pub id: String,
    /// The identity of the frame that replaces them.
    pub identity: Identity,
    /// The children's results in sum.
    pub results: String,
    /// The dense version of the results.
    pub results_compacted: String,
    /// Their artifacts.
    pub artifacts: Vec<Artifact>,
}

pub(super) fn consolidate<N: Neighbourhood>(
    tree: &N,
    command: &Consolidate,
    now: i64,
) -> Result<Decision, Refusal<N::Error>> {
    let parent = attached(tree, command.parent)?;
    for child in &command.children {
        let child = attached(tree, *child)?;
        let fits = child.parent == Some(parent.num)
            && child.status.is_terminal()
            && child.consolidated.is_none();
        if !fits {
            return Err(Refusal::NotConsolidable(Box::new(child)));
        }
    }
    let num = tree.next_frame().map_err(Refusal::Store)?;
    let depth = parent.depth + 1;
    let identity = command.identity.clone();
    let planned = Frame::planned(num, command.id.clone(), Some(parent.num), depth, identity, now);
    let frame = Frame {
        status: Status::Completed,
        results: Some(command.results.clone()),
        results_compacted: Some(command.results_compacted.clone()),
        results_source: Some(ResultsSource::Children),
        ended_at: Some(now),
        artifacts: command.artifacts.clone(),
        ..planned
    };
    let mut events = vec![Event::FrameCreated { frame: Box::new(frame) }];
    let children = command.children.iter();
    events.extend(children.map(|child| Event::FrameConsolidated { frame: *child, into: num }));
    Ok(about(num, events))
}
