//! Limits of the tree. They are checked in the transaction that makes the change.

/// The limits of a tree. A refused push names the limit and the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Frames above one another, the root included.
    pub depth: u32,
    /// Children of one frame.
    pub children: u64,
    /// Frames in progress in the whole store.
    pub live_frames: u64,
    /// Sessions of their own at work in the whole store.
    pub live_sessions: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 24, children: 500, live_frames: 2_000, live_sessions: 32 }
    }
}
