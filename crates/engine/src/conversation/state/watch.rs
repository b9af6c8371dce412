//! The observations of the work in the open frame.

use callstack_core::autonomy::Observer;
use callstack_core::transcript::SpanNum;

/// The observations of a span's own messages so far.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) span: Option<SpanNum>,
    pub(crate) revision: i64,
    /// The number of messages of the transcript that were read.
    pub(crate) upto: usize,
    pub(crate) observer: Observer,
}

impl Watch {
    /// Only so many messages at the beginning are as they were.
    pub(crate) fn keep(&mut self, keep: usize) {
        if keep < self.upto {
            *self = Self::default();
        }
    }
}
