//! The place of a frame among its siblings.

use serde::{Deserialize, Serialize};

use crate::frame::{Frame, FrameNum, Status};

/// Numbers of frames by their status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StatusCounts {
    /// Defined, not started.
    pub planned: usize,
    /// Being worked on.
    pub in_progress: usize,
    /// Ended with criteria met.
    pub completed: usize,
    /// Ended without.
    pub failed: usize,
    /// Waiting for something from outside.
    pub blocked: usize,
    /// No longer relevant.
    pub invalidated: usize,
}

impl StatusCounts {
    /// Counts `frames`, without those whose push was undone.
    pub fn of<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Self {
        let mut counts = Self::default();
        for frame in frames {
            if !frame.detached {
                counts.add(frame.status);
            }
        }
        counts
    }

    /// Counts one more frame.
    pub fn add(&mut self, status: Status) {
        *match status {
            Status::Planned => &mut self.planned,
            Status::InProgress => &mut self.in_progress,
            Status::Completed => &mut self.completed,
            Status::Failed => &mut self.failed,
            Status::Blocked => &mut self.blocked,
            Status::Invalidated => &mut self.invalidated,
        } += 1;
    }

    /// Returns the number of frames with something to show: completed, failed, blocked.
    pub fn shown(&self) -> usize {
        self.completed + self.failed + self.blocked
    }

    /// Frames that count as tasks: all but the invalidated.
    pub fn tasks(&self) -> usize {
        self.shown() + self.in_progress + self.planned
    }
}

/// A frame's place among its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiblingOrder {
    /// From 1.
    pub position: usize,
    /// All siblings and the frame itself, without the invalidated.
    pub total: usize,
    /// The planned sibling to activate next: the first after the frame, else the first of all.
    pub next: Option<FrameNum>,
}

/// Returns the place of `current` among `all_siblings`, in order of creation. It makes no difference whether
/// `current` is itself in the list.
pub fn calculate_sibling_order(current: &Frame, all_siblings: &[Frame]) -> SiblingOrder {
    let mut order = SiblingOrder { position: 1, total: 1, next: None };
    let mut next: Option<(bool, FrameNum)> = None;
    for sibling in all_siblings {
        if sibling.detached || sibling.num == current.num || sibling.status == Status::Invalidated {
            continue;
        }
        order.total += 1;
        let is_before = sibling.num < current.num;
        order.position += usize::from(is_before);
        if sibling.status == Status::Planned {
            let candidate = (is_before, sibling.num);
            next = Some(next.map_or(candidate, |best| best.min(candidate)));
        }
    }
    order.next = next.map(|(_, num)| num);
    order
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
