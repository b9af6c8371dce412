//! Shared by the tests of folding: transcripts in a readable notation, a host that carries operations out, and whole
//! sessions that are simulated.

use crate::frame::FrameNum;
use crate::returned::RENDERER_VERSION;
use crate::transcript::{Anchor, Fold, Span, SpanNum, SpanOrigin};

pub(super) mod host;
pub(super) mod notation;
pub(super) mod world;

/// An open span that may be folded.
fn open_span(num: u64, frame: FrameNum, open: Anchor) -> Span {
    Span {
        num: SpanNum(num),
        frame,
        session: "ses_test".to_owned(),
        open,
        origin: SpanOrigin::Push,
        close: None,
        outcome: None,
        close_undone: false,
        detached: false,
        foldable: true,
        fold: None,
    }
}

/// A fold that was never sent.
fn new_fold(text: String) -> Fold {
    Fold::new(text, RENDERER_VERSION)
}
